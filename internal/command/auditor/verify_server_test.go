package auditor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// A server with another event stream proves nothing about the ledger, whether the ledger is in a
// data directory or a copy.
//
//guarantee:verify-as-of
func TestVerify_OtherServer(t *testing.T) {
	b, other, dir := auditortest.Connect(t, auditortest.Server(t)), auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	drain(t, b, dir)
	path := filepath.Join(auditor.LedgerDir(dir), "acme", "ledger.db")
	at := []string{"--tenant", "acme", "--nats-url"}
	for _, args := range [][]string{
		{"verify", "--checkpoint-bucket=false", "--data-dir", dir},
		{"coverage", "--data-dir", dir},
		{"verify", "--checkpoint-bucket=false", "--ledger", path, "--key", filepath.Join(dir, "keys", "ledger.pub")},
	} {
		args = append(args, at...)
		if status, text := command(t, append(args, b.URL())...); status != 0 || strings.Contains(text, otherStream) {
			t.Errorf("%v: got status %d:\n%s", args, status, text)
		}
		if status, text := command(t, append(args, other.URL())...); status != verifier.ExitIncomplete || !strings.Contains(text, otherStream) {
			t.Errorf("%v with another server: got status %d:\n%s", args, status, text)
		}
	}
	_, r := verified(t, append([]string{"--data-dir", dir}, append(at, other.URL())...)...)
	if r.Completeness != verifier.Unproven || !r.AsOf.OtherStream {
		t.Errorf("got %s, %+v", r.Completeness, r.AsOf)
	}
	args := append([]string{"export", "--data-dir", dir, "--out", filepath.Join(t.TempDir(), "all.zip")}, at...)
	if _, _, text := commandBoth(t, append(args, other.URL())...); !strings.Contains(text, otherStream) {
		t.Errorf("export says:\n%s", text)
	}
}
