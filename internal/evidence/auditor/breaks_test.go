package auditor

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

//guarantee:verify-stream-replaced
func TestRun_MessagesDeletedWhileAway(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 5)
	drain(t, b, dir)
	last := auditortest.EventStream(t, b).CachedInfo().State.LastSeq
	auditortest.PublishRun(t, p, "r2", 5)
	for n := range uint64(3) {
		auditortest.DeleteMessage(t, b, last+3+n)
	}
	wantBroken(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Gaps)
	if len(r.Breaks) != 1 || r.Breaks[0].After != last+2 || r.Breaks[0].Until != last+5 {
		t.Errorf("got %+v", r.Breaks)
	}
}

func TestRun_ManyMessagesDeletedWhileAway(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p, other := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "tester", "other")
	auditortest.PublishRun(t, p, "r1", 5)
	auditortest.PublishRun(t, other, "r1", 5)
	drain(t, b, dir)
	last := auditortest.EventStream(t, b).CachedInfo().State.LastSeq
	auditortest.PublishRun(t, p, "r2", 30)
	for n := range uint64(20) {
		auditortest.DeleteMessage(t, b, last+3*n+2)
	}
	wantBroken(t, b, dir)
	r := auditortest.Verify(t, dir, "acme")
	if r.Integrity != verifier.Verified || r.Completeness != verifier.Gaps || len(r.Breaks) != 2 ||
		r.Breaks[0].Until != last+2 || r.Breaks[1].Until != last+59 {
		t.Errorf("got %s, %s, %+v", r.Integrity, r.Completeness, r.Breaks)
	}
	r = auditortest.Verify(t, dir, "other")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
	if r.Checkpoints > 8 {
		t.Errorf("%d checkpoints were signed where nothing came", r.Checkpoints)
	}
}

// A stream that was created again, or restored from a copy, gives the same numbers to other
// messages.
//
//guarantee:verify-stream-replaced
func TestRun_StreamComesBack(t *testing.T) {
	for _, test := range []struct {
		name string
		lose func(dir string) error // what the auditor remembers
	}{
		{"StateKept", func(string) error { return nil }},
		{"StateLost", func(dir string) error { return os.Remove(filepath.Join(LedgerDir(dir), "auditor.db")) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			store, backup, dir := t.TempDir(), t.TempDir(), t.TempDir()
			s := natstest.Listen(t, store, natstest.Options{AllowTamper: true, MaxBytes: 512 << 20})
			b := auditortest.Connect(t, s)
			p := auditortest.Outbox(t, b, "coder", "acme")
			auditortest.PublishRun(t, p, "r1", 5)
			drain(t, b, dir)
			s.Stop()
			copyFolder(t, backup, store)
			s.Restart(t)
			auditortest.PublishRun(t, p, "r2", 5)
			drain(t, b, dir)
			before := auditortest.Verify(t, dir, "acme")
			auditortest.WantVerdicts(t, before, verifier.Verified, verifier.Complete)
			s.Stop()
			if err := os.RemoveAll(store); err != nil {
				t.Fatal(err)
			}
			copyFolder(t, store, backup)
			s.Restart(t)
			if err := test.lose(dir); err != nil {
				t.Fatal(err)
			}
			other := auditortest.Outbox(t, b, "tester", "acme") // its events get stream numbers that the auditor has read before
			auditortest.PublishRun(t, other, "r3", 2)
			wantBroken(t, b, dir)
			r := auditortest.Verify(t, dir, "acme")
			auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
			if len(r.Breaks) != 1 || !r.Breaks[0].Replaced || len(r.Streams) != 2 || len(r.Gaps) > 0 || r.SeenAgain > 0 {
				t.Errorf("got %+v, streams %+v, gaps %+v, seen again %d", r.Breaks, r.Streams, r.Gaps, r.SeenAgain)
			}
			if r.Runs.Sealed != 3 || r.SetApart != 0 {
				t.Errorf("got %+v", r)
			}
			if common := r.Breaks[0].Until; (common > 0) != (test.name == "StateKept") {
				t.Errorf("went on behind %d", common)
			}
		})
	}
}

func copyFolder(tb testing.TB, to, from string) {
	tb.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
}

func wantBroken(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	var said error
	err := Run(auditortest.Deadline(tb), Options{Broker: b, DataDir: dir, Drain: true, Progress: func(p consume.Progress) { said = p.Err }})
	if err != nil || !errors.Is(said, ErrStreamBroken) {
		tb.Fatalf("drain: got %v, and %v said of the stream", err, said)
	}
}
