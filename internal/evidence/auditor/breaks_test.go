package auditor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
)

// The stream loses its messages while nobody reads it: readiness and verify say
// so, once, and the producers' numbers tell what is missing when they go on.
func TestRun_StreamPurgedWhileAway(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	acme, other := outbox(t, b, "coder", "acme"), outbox(t, b, "tester", "other")
	publishRun(t, acme, "r1", 5)
	publishRun(t, other, "r1", 5)
	drain(t, b, dir)
	publishRun(t, acme, "r2", 5)
	if err := eventStream(t, b).Purge(deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, b, dir)
	for range 2 { // the second finds nothing new
		drain(t, b, dir)
		for _, tenant := range []string{"acme", "other"} {
			r := verify(t, dir, tenant)
			wantVerdicts(t, r, verifier.Verified, verifier.Unproven)
			if len(r.Breaks) != 1 || r.Breaks[0].Replaced || !r.Producers[0].Unheard {
				t.Errorf("tenant %s: got %+v, %+v", tenant, r.Breaks, r.Producers)
			}
		}
	}
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "other")
	if status != verifier.ExitIncomplete || !strings.Contains(text, "UNPROVEN     producers not heard of since the stream broke off: tester-") ||
		!strings.Contains(text, "BROKE OFF") || !strings.Contains(text, "messages were gone before they were read, among #") {
		t.Errorf("got status %d, %s", status, text)
	}
	publishRun(t, acme, "r3", 5)
	publishRun(t, other, "r2", 5)
	drain(t, b, dir)
	wantVerdicts(t, verify(t, dir, "other"), verifier.Verified, verifier.Complete)
	r := verify(t, dir, "acme")
	wantVerdicts(t, r, verifier.Verified, verifier.Gaps)
	if r.Gaps[0].Cause != verifier.CauseStream || r.Gaps[0].First != 14 || len(r.Breaks) != 1 {
		t.Errorf("got %+v, %+v", r.Gaps, r.Breaks)
	}
}

// A bundle of everything says what the ledger says, before and after producers are
// heard of again.
func TestExport_BundleAfterABreak(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	one, two := outbox(t, b, "coder", "acme"), outbox(t, b, "tester", "acme")
	publishRun(t, one, "r1", 5)
	publishRun(t, two, "r2", 5)
	drain(t, b, dir)
	publishRun(t, outbox(t, b, "coder", "other"), "r1", 5) // lost, and nobody can tell whose it was
	if err := eventStream(t, b).Purge(deadline(t)); err != nil {
		t.Fatal(err)
	}
	publishRun(t, one, "r3", 5)
	drain(t, b, dir)
	export := func() (verified, bundled int, text string) {
		out := filepath.Join(t.TempDir(), "all.zip")
		if status, _ := command(t, "export", "--data-dir", dir, "--tenant", "acme", "--out", out); status != 0 {
			t.Fatalf("export: status %d", status)
		}
		verified, _ = command(t, "verify", "--data-dir", dir, "--tenant", "acme")
		bundled, text = command(t, "verify", "--data-dir", dir, out)
		return verified, bundled, text
	}
	const unheard = "UNPROVEN     producers not heard of since the stream broke off: tester-"
	verified, bundled, text := export()
	if verified != verifier.ExitIncomplete || bundled != verified || !strings.Contains(text, unheard) || strings.Contains(text, "coder-") {
		t.Errorf("got status %d of the ledger, %d of the bundle, %s", verified, bundled, text)
	}
	publishRun(t, two, "r4", 5)
	drain(t, b, dir)
	if verified, bundled, text = export(); verified != verifier.ExitVerified || bundled != verified {
		t.Errorf("got status %d of the ledger, %d of the bundle, %s", verified, bundled, text)
	}
}

// Messages in the middle are gone before they were read.
func TestRun_MessagesDeletedWhileAway(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 5)
	drain(t, b, dir)
	last := eventStream(t, b).CachedInfo().State.LastSeq
	publishRun(t, p, "r2", 5)
	for n := range uint64(3) {
		deleteMessage(t, b, last+3+n)
	}
	wantBroken(t, b, dir)
	r := verify(t, dir, "acme")
	wantVerdicts(t, r, verifier.Verified, verifier.Gaps)
	if len(r.Breaks) != 1 || r.Breaks[0].After != last+2 || r.Breaks[0].Until != last+5 {
		t.Errorf("got %+v", r.Breaks)
	}
}

// Of many holes in one batch the first and the last are told.
func TestRun_ManyMessagesDeletedWhileAway(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	p, other := outbox(t, b, "coder", "acme"), outbox(t, b, "tester", "other")
	publishRun(t, p, "r1", 5)
	publishRun(t, other, "r1", 5)
	drain(t, b, dir)
	last := eventStream(t, b).CachedInfo().State.LastSeq
	publishRun(t, p, "r2", 30)
	for n := range uint64(20) {
		deleteMessage(t, b, last+3*n+2)
	}
	wantBroken(t, b, dir)
	r := verify(t, dir, "acme")
	if r.Integrity != verifier.Verified || r.Completeness != verifier.Gaps || len(r.Breaks) != 2 ||
		r.Breaks[0].Until != last+2 || r.Breaks[1].Until != last+59 {
		t.Errorf("got %s, %s, %+v", r.Integrity, r.Completeness, r.Breaks)
	}
	r = verify(t, dir, "other")
	wantVerdicts(t, r, verifier.Verified, verifier.Unproven)
	if r.Checkpoints > 8 {
		t.Errorf("%d checkpoints were signed where nothing came", r.Checkpoints)
	}
}

// A stream that is made anew, or comes back from an older copy of the server's
// folder, numbers other messages like those that were read.
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
			b := connect(t, s)
			p := outbox(t, b, "coder", "acme")
			publishRun(t, p, "r1", 5)
			drain(t, b, dir)
			s.Stop()
			copyFolder(t, backup, store)
			s.Restart(t)
			publishRun(t, p, "r2", 5)
			drain(t, b, dir)
			before := verify(t, dir, "acme")
			wantVerdicts(t, before, verifier.Verified, verifier.Complete)
			s.Stop()
			if err := os.RemoveAll(store); err != nil {
				t.Fatal(err)
			}
			copyFolder(t, store, backup)
			s.Restart(t)
			if err := test.lose(dir); err != nil {
				t.Fatal(err)
			}
			other := outbox(t, b, "tester", "acme") // its events get the numbers of those that were read
			publishRun(t, other, "r3", 2)
			wantBroken(t, b, dir)
			r := verify(t, dir, "acme")
			wantVerdicts(t, r, verifier.Verified, verifier.Unproven)
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

// wantBroken drains, and wants readiness to say that the stream broke off.
func wantBroken(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	var said error
	err := Run(deadline(tb), Options{Broker: b, DataDir: dir, Drain: true, Progress: func(p consume.Progress) { said = p.Err }})
	if err != nil || !errors.Is(said, errBroke) {
		tb.Fatalf("drain: got %v, and %v said of the stream", err, said)
	}
}
