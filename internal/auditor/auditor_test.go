package auditor

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

func TestRun_DrainThenVerify(t *testing.T) {
	b, dir := connect(t, server(t)), t.TempDir()
	p := outbox(t, b, "coder", "acme")
	publishRun(t, p, "r1", 50)
	publishRun(t, p, "r2", 3)
	drain(t, b, dir)
	r := verify(t, dir, "acme")
	wantVerdicts(t, r, ledger.Verified, ledger.Complete)
	if r.Runs.Sealed != 2 || r.Events != 102+2+8 {
		t.Errorf("got %+v", r)
	}
	status, text := command(t, "verify", "--data-dir", dir, "--tenant", "acme")
	if status != 0 || !strings.Contains(text, "VERIFIED") || !strings.Contains(text, "COMPLETE") {
		t.Errorf("verify: status %d\n%s", status, text)
	}
	t.Log("\n" + text)
	status, text = command(t, "replay", "--data-dir", dir, "--tenant", "acme", "--run", "r2")
	if status != 0 || strings.Count(text, "\n") != 9 {
		t.Errorf("replay: status %d, got\n%s", status, text)
	}
}
