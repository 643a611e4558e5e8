package auditor

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func TestStandby_Options(t *testing.T) {
	b := auditortest.Connect(t, auditortest.Server(t))
	err := auditor.Run(auditortest.Deadline(t), auditor.Options{Broker: b, DataDir: t.TempDir(), Standby: true})
	if err == nil || !strings.Contains(err.Error(), "copy ledger.key") {
		t.Errorf("without a key: got %v, want how to mend it", err)
	}
	for _, args := range [][]string{
		{"serve", "--standby"},
		{"serve", "--standby", "--nats-url", "nats://127.0.0.1:1", "--drain"},
		{"serve", "--standby", "--nats-url", "nats://127.0.0.1:1", "--checkpoint-bucket=false"},
	} {
		if status, _ := command(t, append(args, "--data-dir", t.TempDir())...); status != 2 {
			t.Errorf("%v: got status %d, want 2", args, status)
		}
	}
}

type history struct {
	mu      sync.Mutex // guards entries
	entries []jetstream.KeyValueEntry
}

func watchBucket(tb testing.TB, b *broker.Broker) *history {
	tb.Helper()
	kv, err := b.JetStream().KeyValue(tb.Context(), b.Space().CheckpointBucket())
	if err != nil {
		tb.Fatal(err)
	}
	w, err := kv.WatchAll(context.Background(), jetstream.IncludeHistory())
	if err != nil {
		tb.Fatal(err)
	}
	h := new(history)
	var wg sync.WaitGroup
	wg.Go(func() {
		for e := range w.Updates() {
			if e != nil { // nil separates old and new entries
				h.mu.Lock()
				h.entries = append(h.entries, e)
				h.mu.Unlock()
			}
		}
	})
	tb.Cleanup(func() {
		_ = w.Stop() // the broker may be gone
		wg.Wait()
	})
	return h
}

type putCheckpoint struct {
	ledger.Checkpoint
	holder string
}

// checkpoints returns the checkpoints of tenant and the holders of the lease. A new holder must
// have challenged the previous one.
func (h *history) checkpoints(tb testing.TB, tenant string) (all []putCheckpoint, holders []string) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	type lease struct{ Holder, Writer string }
	var before lease
	for _, e := range h.entries {
		switch e.Key() {
		case "lease." + string(subjects.AuditorRole):
			var now lease
			if err := json.Unmarshal(e.Value(), &now); err != nil {
				tb.Fatal(err)
			}
			if now.Holder != before.Holder && now.Holder != "" {
				if before.Holder != "" && before.Writer == before.Holder {
					tb.Errorf("the turn went from %s to %s, who had not asked", before.Holder, now.Holder)
				}
				holders = append(holders, now.Holder)
			}
			before = now
		case tenant:
			c, err := ledger.ReadCheckpoint(e.Value())
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, putCheckpoint{c, before.Holder})
		}
	}
	return all, holders
}

func (h *history) reached(tb testing.TB, tenant string, leaves int64) bool {
	tb.Helper()
	all, _ := h.checkpoints(tb, tenant)
	return len(all) > 0 && all[len(all)-1].Size >= leaves
}
