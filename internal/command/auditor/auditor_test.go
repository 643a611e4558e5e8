package auditor

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func TestRun_EventDeletedFromTheStream(t *testing.T) {
	b, dir := auditortest.Connect(t, auditortest.Server(t)), t.TempDir()
	p := auditortest.Outbox(t, b, "coder", "acme")
	auditortest.PublishRun(t, p, "r1", 50)
	auditortest.DeleteMessage(t, b, 40)
	drain(t, b, dir)
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme")
	want := "sent 103, ledger has 102: #40 missing (lost in the stream)"
	if status != verifier.ExitIncomplete || !strings.Contains(text, "VERIFIED") ||
		!strings.Contains(text, "GAPS (1)     producer coder-") || !strings.Contains(text, want) {
		t.Errorf("got status %d, want %d and %q in\n%s", status, verifier.ExitIncomplete, want, text)
	}
}
