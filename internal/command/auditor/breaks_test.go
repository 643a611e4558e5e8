package auditor

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// The stream loses unread messages. Readiness and verify report the break once. When the producers
// continue, their sequence numbers show the missing events.
//
//guarantee:verify-stream-replaced
func TestRun_StreamPurgedWhileAway(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	acme, other := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "tester", "other")
	auditortest.PublishRun(t, acme, "r1", 5)
	auditortest.PublishRun(t, other, "r1", 5)
	drain(t, b, dir)
	auditortest.PublishRun(t, acme, "r2", 5)
	if err := auditortest.EventStream(t, b).Purge(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	wantBroken(t, b, dir)
	for range 2 { // the second drain finds nothing new
		drain(t, b, dir)
		for _, tenant := range []string{"acme", "other"} {
			r := auditortest.Verify(t, dir, tenant)
			auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Unproven)
			if len(r.Breaks) != 1 || r.Breaks[0].Replaced || !r.Producers[0].SilentSinceBreak {
				t.Errorf("tenant %s: got %+v, %+v", tenant, r.Breaks, r.Producers)
			}
		}
	}
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "other")
	if status != verifier.ExitIncomplete || !strings.Contains(text, "UNPROVEN     producers not heard of since the stream broke off: tester-") ||
		!strings.Contains(text, "BROKE OFF") || !strings.Contains(text, "messages were gone before they were read, among #") {
		t.Errorf("got status %d, %s", status, text)
	}
	auditortest.PublishRun(t, acme, "r3", 5)
	auditortest.PublishRun(t, other, "r2", 5)
	drain(t, b, dir)
	auditortest.WantVerdicts(t, auditortest.Verify(t, dir, "other"), verifier.Verified, verifier.Complete)
	r := auditortest.Verify(t, dir, "acme")
	auditortest.WantVerdicts(t, r, verifier.Verified, verifier.Gaps)
	if r.Gaps[0].Cause != verifier.CauseStream || r.Gaps[0].First != 14 || len(r.Breaks) != 1 {
		t.Errorf("got %+v, %+v", r.Gaps, r.Breaks)
	}
}

// A bundle of everything has the verdict of the ledger, before and after the producers continue.
func TestExport_BundleAfterABreak(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	one, two := auditortest.Outbox(t, b, "coder", "acme"), auditortest.Outbox(t, b, "tester", "acme")
	auditortest.PublishRun(t, one, "r1", 5)
	auditortest.PublishRun(t, two, "r2", 5)
	drain(t, b, dir)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "other"), "r1", 5) // lost, and the numbers do not show whose event it was
	if err := auditortest.EventStream(t, b).Purge(auditortest.Deadline(t)); err != nil {
		t.Fatal(err)
	}
	auditortest.PublishRun(t, one, "r3", 5)
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
	_, named, found := strings.Cut(text, unheard)
	named, _, _ = strings.Cut(named, "\n")
	if verified != verifier.ExitIncomplete || bundled != verified || !found || strings.Contains(named, "coder-") {
		t.Errorf("got status %d of the ledger, %d of the bundle, %s", verified, bundled, text)
	}
	auditortest.PublishRun(t, two, "r4", 5)
	drain(t, b, dir)
	if verified, bundled, text = export(); verified != verifier.ExitVerified || bundled != verified {
		t.Errorf("got status %d of the ledger, %d of the bundle, %s", verified, bundled, text)
	}
}

func wantBroken(tb testing.TB, b *broker.Broker, dir string) {
	tb.Helper()
	var said error
	err := tryDrain(tb, auditor.Options{Broker: b, DataDir: dir, Progress: func(p consume.Progress) { said = p.Err }})
	if err != nil || !errors.Is(said, auditor.ErrStreamBroken) {
		tb.Fatalf("drain: got %v, and %v said of the stream", err, said)
	}
}
