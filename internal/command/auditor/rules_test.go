package auditor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor/auditortest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/testkit/sshagent"
)

type ruleWorld struct {
	*testing.T

	dir, url string
}

func newRuleWorld(t *testing.T) (w ruleWorld, publish func(run string)) {
	t.Helper()
	s := auditortest.Server(t)
	b := auditortest.Connect(t, s)
	p := auditortest.Outbox(t, b, "coder", "acme")
	w = ruleWorld{t, t.TempDir(), s.URL()}
	publish = func(run string) {
		t.Helper()
		auditortest.PublishRun(t, p, run, 1)
		drain(t, b, w.dir)
	}
	publish("r0")
	return w, publish
}

func (w ruleWorld) do(status int, want string, args ...string) string {
	w.Helper()
	args = append(args, "--data-dir", w.dir, "--tenant", "acme")
	if args[0] != "rule" || args[1] != "list" {
		args = append(args, "--nats-url", w.url)
	}
	got, text := both(w, args...)
	if got != status || !strings.Contains(text, want) {
		w.Fatalf("%v: status %d, want %d and %q in\n%s", args, got, status, want, text)
	}
	return text
}

func (w ruleWorld) proposal() string {
	w.Helper()
	var list []Waiting
	if err := json.Unmarshal([]byte(w.do(0, "", "approve", "--json")), &list); err != nil || len(list) == 0 {
		w.Fatalf("%+v, %v", list, err)
	}
	return list[len(list)-1].ID
}

//guarantee:second-person
func TestApprove(t *testing.T) {
	a := sshagent.Start(t)
	_, amy := a.Add("amy")
	w, publish := newRuleWorld(t)
	w.do(0, "in force", "rule", "approvers", "--approver", "amy="+amy+".pub", "--reason", "four eyes", "--by", "jdoe")
	w.do(0, "second person for erase, lift, prune (amy, within 7d)", "rule", "list")
	w.do(2, "key", "rule", "approvers", "--approver", "bob=nothing", "--reason", "x")
	erase := []string{"erase", "--run", "r0", "--reason", "asked for", "--by"}
	w.do(0, "would be proposed, and erased after the approval of a second person: 4 records", append(erase, "jdoe", "--dry-run")...)
	w.do(0, "proposed: erase run r0, 4 records\n  not done: it waits for a second person until ", append(erase, "jdoe")...)
	id := w.proposal()
	w.do(0, "waits for a second person", "verify", "--key", publicKey(t, w.dir))
	w.do(1, "no order", "approve", "none")
	// Sign with the approver's key but no write access. Then record with write access but no key.
	file := filepath.Join(t.TempDir(), "approved.txt")
	w.do(0, "", "approve", id, "--identity", amy, "--out", file)
	w.do(0, "approved by amy: erase run r0", "approve", "--signed", file)
	w.do(0, "4 erased (jdoe", "verify", "--key", publicKey(t, w.dir))
	w.do(0, "approve erase ordered by jdoe", "access")
	w.do(0, ", approved by amy, done", append([]string{"report"}, today...)...)
	publish("r1")
	erase[2] = "r1"
	w.do(0, "proposed", append(erase, "Amy")...)
	w.do(1, `amy cannot, because "Amy" gave the order`, "approve", w.proposal())
	w.do(0, "proposed", append(erase, "jdoe")...)
	w.do(0, "approved by amy", "approve", w.proposal()) // with the agent
	text := w.do(0, "held", "hold", "add", "--run", "r1", "--reason", "case")
	_, hold, _ := strings.Cut(text, "  hold ")
	hold, _, _ = strings.Cut(hold, "\n")
	w.do(0, "proposed: lift hold", "hold", "lift", hold, "--reason", "closed", "--by", "jdoe")
	w.do(0, "lift proposed: "+w.proposal(), "hold", "list")
	a.Lock()
	w.do(1, "amy can approve this order", "approve", w.proposal())
	a.Unlock()
	w.do(0, "approved by amy: lift hold", "approve", w.proposal())
	w.do(0, "proposed", "rule", "approvers", "--off", "--reason", "over", "--by", "jdoe")
	w.do(0, "approved by amy: set no second person", "approve", w.proposal())
	rebuilt := func() string { return w.do(0, "no second person, ended", "verify", "--key", publicKey(t, w.dir)) }
	rebuilt()
	b, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(b), "\n— amy ") {
		t.Errorf("the file: %v\n%s", err, b)
	}
	out := filepath.Join(t.TempDir(), "r1.zip")
	w.do(0, "", "export", "--run", "r1", "--out", out)
	if status, text := both(t, "verify", out, "--key", publicKey(t, w.dir)); status != 0 || !strings.Contains(text, "approved by amy") {
		t.Errorf("bundle: status %d\n%s", status, text)
	}
}

//guarantee:floor
func TestRetentionFloor(t *testing.T) {
	s := auditortest.Server(t)
	b, dir := auditortest.Connect(t, s), t.TempDir()
	auditortest.PublishRun(t, auditortest.Outbox(t, b, "coder", "acme"), "r0", 1)
	o := auditor.Options{Broker: b, DataDir: dir, Floor: 24 * time.Hour, Retention: []ledger.RetentionRule{{Kind: "*", Age: time.Nanosecond}}}
	for range 3 {
		drainWith(t, o)
	}
	w := ruleWorld{t, dir, s.URL()}
	w.do(0, "retention floor 1d, in force, by retention", "verify", "--key", publicKey(t, dir))
	w.do(0, "no records are past their retention: the ledger has the retention floor 1d", "prune", "--keep", "*=1ns")
	o.Floor = time.Hour
	drainWith(t, o)
	w.do(0, "retention floor 1d", "rule", "list")
	w.do(2, "invalid retention floor", "rule", "floor", "soon", "--reason", "x")
	w.do(0, "in force for tenant acme: no retention floor", "rule", "floor", "0", "--reason", "over")
	w.do(0, "pruned: 4 records", "prune", "--keep", "*=1ns")
	w.do(0, "no retention floor, ended, by", "verify", "--key", publicKey(t, dir))
}
