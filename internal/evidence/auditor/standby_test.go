package auditor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// copyKeys gives a data directory the keys of another one.
func copyKeys(tb testing.TB, to, from string) {
	tb.Helper()
	if err := os.CopyFS(KeyDir(to), os.DirFS(KeyDir(from))); err != nil {
		tb.Fatal(err)
	}
}

// alive is another auditor that has the turn, and answers until the test ends.
func alive(tb testing.TB, b *broker.Broker) {
	tb.Helper()
	l := bucket.At(b.JetStream(), b.Space()).Lease(bucket.Contender{Durable: durable})
	if err := l.Step(tb.Context()); err != nil || !l.Held() {
		tb.Fatalf("it has not the turn: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(bucket.StepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = l.Step(ctx) // it ends with the test
			}
		}
	})
	tb.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

func TestStandby_Options(t *testing.T) {
	b := connect(t, server(t))
	err := Run(deadline(t), Options{Broker: b, DataDir: t.TempDir(), Standby: true})
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

// While it is another auditor's turn, the ledger grows and nothing is shown elsewhere.
func TestStandby_KeepsNothingElsewhere(t *testing.T) {
	b, dir, away := connect(t, server(t)), t.TempDir(), t.TempDir()
	alive(t, b)
	publishRun(t, outbox(t, b, "coder", "acme"), "r1", 5)
	drainKeeping(t, Options{Broker: b, DataDir: dir}, filepath.Join(away, "{tenant}"))
	wantVerdicts(t, verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	if kept := inBucket(t, b, "acme"); kept != nil {
		t.Errorf("in the bucket is\n%s", kept)
	}
	if entries, err := os.ReadDir(away); err != nil || len(entries) > 0 {
		t.Errorf("beside it are %v, %v", entries, err)
	}
}

// A standby that was not there from the stream's first message has another tree:
// it says so while it stands by, and puts nothing in the place of what is right.
func TestStandby_YoungerStreamIsNoticed(t *testing.T) {
	b, first, second := connect(t, server(t)), t.TempDir(), t.TempDir()
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 5)
	drain(t, b, first)
	kept := string(inBucket(t, b, "acme"))
	copyKeys(t, second, first)
	stream, err := b.JetStream().Stream(t.Context(), b.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(6)); err != nil {
		t.Fatal(err)
	}
	o := Options{Broker: b, DataDir: second, Drain: true}.withDefaults()
	alive(t, b)
	for _, tt := range []struct {
		run    string
		forked bool
	}{{"r2", true}, {"r3", true}} { // shorter than what is kept, and longer
		if err := Run(deadline(t), o); err != nil {
			t.Fatal(err)
		}
		if err := keepOnce(t, o, "acme"); errors.Is(err, anchor.ErrForked) != tt.forked {
			t.Errorf("before %s: got %v, want forked to be %v", tt.run, err, tt.forked)
		}
		publishRun(t, p, tt.run, 10)
	}
	if got := string(inBucket(t, b, "acme")); got != kept {
		t.Errorf("in the bucket is\n%s", got)
	}
}

// history collects what is written to the bucket.
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
			if e != nil { // between what was there and what comes
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

// putLine is a checkpoint in the bucket, and who had the turn when it was put there.
type putLine struct {
	ledger.Checkpoint
	holder string
}

// lines returns the checkpoints of tenant in the order in which they came, and who
// had the turn. A turn that was not asked for, as of somebody who had been stopped
// and went on, fails the test.
func (h *history) lines(tb testing.TB, tenant string) (all []putLine, holders []string) {
	tb.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	type lease struct{ Holder, Writer string }
	var before lease
	for _, e := range h.entries {
		switch e.Key() {
		case "lease." + durable:
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
			all = append(all, putLine{c, before.Holder})
		}
	}
	return all, holders
}

// covered tells whether the newest checkpoint in the bucket has so many leaves.
func (h *history) covered(tb testing.TB, tenant string, leaves int64) bool {
	tb.Helper()
	all, _ := h.lines(tb, tenant)
	return len(all) > 0 && all[len(all)-1].Size >= leaves
}
