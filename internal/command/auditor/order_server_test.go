package auditor

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
)

// An order that cannot reach the stream of the ledger is not recorded, so it does not take effect
// later.
//
//guarantee:server-remembered
func TestOrder_WrongServer(t *testing.T) {
	s, other, dir := auditortest.Server(t), auditortest.Server(t), t.TempDir()
	b := auditortest.Connect(t, s)
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r1", 5)
	if status, text := command(t, "serve", "--drain", "--data-dir", dir, "--nats-url", s.URL()); status != 0 {
		t.Fatalf("serve: status %d: %s", status, text)
	}
	for _, url := range []string{other.URL(), "nats://127.0.0.1:1"} {
		for _, args := range [][]string{
			{"hold", "add", "--run", "r1"},
			{"erase", "--run", "r1"},
			{"issuer", "add", "UBAHM6GLOVLV5ZPBCYDHTBUSMWBCQA7XWJ2W6QOJPV5DBRRYDCHC4KXT"},
		} {
			status, _, errs := commandBoth(t, append(args, "--data-dir", dir, "--tenant", "acme", "--reason", "x", "--nats-url", url, "--nats-timeout", "200ms")...)
			if status != 1 || strings.Contains(errs, "on record") {
				t.Errorf("%v with %s: got status %d, %s", args, url, status, errs)
			}
		}
	}
	if n, err := access.Unsent(dir, "acme"); err != nil || n != 0 {
		t.Errorf("%d orders wait, %v", n, err)
	}
	drain(t, b, dir)
	if _, text := command(t, "hold", "list", "--data-dir", dir, "--tenant", "acme", "--json"); strings.TrimSpace(text) != "[]" {
		t.Errorf("holds: %s", text)
	}
}
