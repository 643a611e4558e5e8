package auditor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// otherHolder starts another auditor that holds the lease until the test ends.
func otherHolder(tb testing.TB, b *broker.Broker) {
	tb.Helper()
	l := bucket.At(b.JetStream(), b.Space()).Lease(bucket.Candidate{Durable: durable})
	if err := l.Refresh(tb.Context()); err != nil || !l.Held() {
		tb.Fatalf("it has not the turn: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(bucket.RefreshInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = l.Refresh(ctx) // a failure ends with the test
			}
		}
	})
	tb.Cleanup(func() {
		cancel()
		wg.Wait()
	})
}

//guarantee:standby-quiet
func TestStandby_KeepsNothingElsewhere(t *testing.T) {
	b, dir, away := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	otherHolder(t, b)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drainWithFile(t, Options{Broker: b, DataDir: dir}, filepath.Join(away, "{tenant}"))
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "acme"), verifier.Verified, verifier.Complete)
	if kept := auditortest.InBucket(t, b, "acme"); kept != nil {
		t.Errorf("in the bucket is\n%s", kept)
	}
	if entries, err := os.ReadDir(away); err != nil || len(entries) > 0 {
		t.Errorf("beside it are %v, %v", entries, err)
	}
}

// A standby that did not read the stream from its first message has another tree.
//
//guarantee:standby-quiet
func TestStandby_YoungerStreamIsNoticed(t *testing.T) {
	b, first, second := auditortest.Connect(t, auditortest.Server(t)), t.TempDir(), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, first)
	kept := string(auditortest.InBucket(t, b, "acme"))
	auditortest.CopyKeys(t, second, first)
	stream, err := b.JetStream().Stream(t.Context(), b.Space().EventStream())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Purge(t.Context(), jetstream.WithPurgeSequence(6)); err != nil {
		t.Fatal(err)
	}
	o := Options{Broker: b, DataDir: second, Drain: true}.withDefaults()
	otherHolder(t, b)
	for _, tt := range []struct {
		run    string
		forked bool
	}{{"r2", true}, {"r3", true}} { // shorter and longer than the stored checkpoint
		if err := Run(auditortest.Deadline(t), o); err != nil {
			t.Fatal(err)
		}
		if err := anchorOnce(t, o, "acme"); errors.Is(err, anchor.ErrForked) != tt.forked {
			t.Errorf("before %s: got %v, want forked to be %v", tt.run, err, tt.forked)
		}
		auditortest.PublishRun(t, p, tt.run, 10)
	}
	if got := string(auditortest.InBucket(t, b, "acme")); got != kept {
		t.Errorf("in the bucket is\n%s", got)
	}
}
