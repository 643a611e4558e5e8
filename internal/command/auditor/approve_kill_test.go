package auditor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/sshagent"
)

// A process that approves an order is killed at different times. The order then waits or has its
// effect, and the next approval or auditor completes it. Nothing is destroyed in between.
//
//guarantee:second-person
func TestApprove_Killed(t *testing.T) {
	_, amy := sshagent.Start(t).Add("amy")
	w, publish := newRuleWorld(t)
	w.do(0, "in force", "rule", "approvers", "--approver", "amy="+amy+".pub", "--reason", "four eyes", "--by", "jdoe")
	propose := func(run string) string {
		t.Helper()
		w.do(0, "proposed: erase run "+run, "erase", "--run", run, "--reason", "asked for", "--by", "jdoe")
		return w.proposal()
	}
	approve := func(id string) *process {
		t.Helper()
		return start(t, "approve", id, "--identity", amy, "--data-dir", w.dir, "--tenant", "acme", "--nats-url", w.url)
	}
	began := time.Now()
	whole := approve(propose("r0"))
	<-whole.done
	took := time.Since(began)
	if !whole.cmd.ProcessState.Success() {
		t.Fatalf("without a kill: %s", whole.stderr.String())
	}
	const kills = 4
	for n := 1; n <= kills; n++ {
		run := fmt.Sprint("r", n)
		publish(run)
		id := propose(run)
		victim := approve(id)
		select {
		case <-time.After(took * time.Duration(n) / (kills + 1)):
		case <-victim.done:
		}
		victim.kill()
		status, text := both(t, "verify", "--data-dir", w.dir, "--tenant", "acme", "--key", publicKey(t, w.dir))
		if status == verifier.ExitInvalid {
			t.Fatalf("kill %d left a damaged ledger:\n%s", n, text)
		}
		// The next command finishes, or finds that the order is carried out.
		if status, text := both(t, "approve", id, "--identity", amy, "--data-dir", w.dir, "--tenant", "acme", "--nats-url", w.url); status != 0 && !strings.Contains(text, "no order") {
			t.Fatalf("after kill %d: status %d\n%s", n, status, text)
		}
	}
	if text := w.do(0, "20 erased (jdoe", "verify", "--key", publicKey(t, w.dir)); strings.Contains(text, "waits for a second person") {
		t.Errorf("an order still waits:\n%s", text)
	}
}
