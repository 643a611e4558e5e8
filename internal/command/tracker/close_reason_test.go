package tracker

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A person's reason for closing appears everywhere, but a secret in it is not stored.
func TestClose_Reason(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	p.mustDrain()
	id := p.open()[0].ID
	secret := "AKIA" + "QYLPMN5HHHFPZAM2"
	done := callJSON[tracker.Closing](t, p.DataDir, "close", id, "--tenant", "acme", "--reason", "took "+secret+" out", "--by", "jdoe@example.com")
	p.mustDrain()
	if !strings.HasPrefix(done.Reason, "took ") || !strings.HasSuffix(done.Reason, " out") {
		t.Errorf("it says that the reason is %q", done.Reason)
	}
	want := "Closed by jdoe@example.com: " + done.Reason
	if d := callJSON[tracker.Details](t, p.DataDir, "show", id, "--tenant", "acme"); d.Reason != want || d.Transitions[len(d.Transitions)-1].Reason != want {
		t.Errorf("the issue's reason is %q, want %q; changes are %+v", d.Reason, want, d.Transitions)
	}
	if i := trackertest.ReadBeads(t, filepath.Join(p.DataDir, "beads", "acme", ".beads", "issues.jsonl"))[id]; i.CloseReason != want {
		t.Errorf("in the workspace it is %q, want %q", i.CloseReason, want)
	}
	for _, e := range p.Stored(events.IssueEdited) {
		if strings.Contains(string(e.Data), secret) || !strings.Contains(string(e.Data), `"redacted":[`) {
			t.Errorf("the stream has %s", e.Data)
		}
	}
	if files := trackertest.FilesWith(t, p.DataDir, secret); len(files) > 0 {
		t.Errorf("the secret is in %v", files)
	}
}

func TestClose_ReasonThatIsNone(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{
		{"--reason", " \n\t"},
		{"--reason", strings.Repeat("ä", maxReason+1)},
		{"--reason", "x", "--by", strings.Repeat("ä", maxBy+1)},
	} {
		if status, stdout, stderr := call(t, dir, append([]string{"close", "ht-0000000000000"}, args...)...); status != cli.ExitUsage || stdout != "" || len(stderr) > 200 {
			t.Errorf("exit status %d, %q, %q", status, stdout, stderr)
		}
	}
}
