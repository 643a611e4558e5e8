package tracker

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func trackingOf(t *testing.T, dataDir string) string {
	t.Helper()
	list := callJSON[[]tracker.Issue](t, dataDir, "list", "--tenant", "acme", "--kind", "tracking")
	if len(list) != 1 {
		t.Fatalf("got %d tracking issues, want 1", len(list))
	}
	return list[0].ID
}

func TestCommand_Story(t *testing.T) {
	p := newPipeline(t)
	p.Publish("engine", rulestest.Story(t)...)
	if status, stdout, stderr := call(t, p.DataDir, "serve", "--drain", "--nats-url", p.Server.URL()); status != 0 ||
		stdout != "6 issues: 5 open, 0 in progress, 0 blocked, 1 closed\n" {
		t.Fatalf("serve: exit status %d, %q, %s", status, stdout, stderr)
	}

	list := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", "acme")
	if len(list) != 5 {
		t.Fatalf("got %d issues of acme, want 5", len(list))
	}
	if got := callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", "acme", "--status", "closed"); len(got) != 1 {
		t.Errorf("got %d closed issues, want 1", len(got))
	}
	if got := callJSON[[]tracker.Issue](t, p.DataDir, "list"); len(got) != 0 {
		t.Errorf("got %d issues of the default tenant, want none", len(got))
	}
	_, table, _ := call(t, p.DataDir, "list", "--tenant", "acme")
	if !regexp.MustCompile(`closed +tracking +2026-03-01 09:00:06 UTC +\d+ +GWI: RESOLVE run r1\n`).MatchString(table) {
		t.Errorf("list prints\n%s", table)
	}

	own := trackingOf(t, p.DataDir)
	d := callJSON[tracker.Details](t, p.DataDir, "show", own, "--tenant", "acme")
	var to []string
	for _, tr := range d.Transitions {
		to = append(to, string(tr.To))
	}
	if got := strings.Join(to, " "); got != "open in_progress closed" {
		t.Errorf("transitions are %s", got)
	}
	if len(d.Events) < 5 {
		t.Errorf("got %d events, want at least the run's own five", len(d.Events))
	}
	_, text, _ := call(t, p.DataDir, "show", own, "--tenant", "acme")
	for _, part := range []string{own + "  GWI: RESOLVE run r1\n", "closed, tracking issue of run r1", "Run completed successfully"} {
		if !strings.Contains(text, part) {
			t.Errorf("show does not say %q:\n%s", part, text)
		}
	}
}

func TestCommand_Why(t *testing.T) {
	p := newPipeline(t)
	list := append(rulestest.Story(t), rulestest.At(t, "acme", "r1", 60, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}))
	p.Publish("engine", list...)
	p.mustDrain()
	own := trackingOf(t, p.DataDir)
	for _, test := range []struct {
		name, id string
		parts    []string
	}{
		{"Issue", own, []string{
			`Issue ` + own + `, "GWI: RESOLVE run r1", is a tracking issue of run r1 and closed since 2026-03-01 09:00:06 UTC: Run completed successfully.`,
			"The run.started " + list[0].ID + " of run r1 at 2026-03-01 09:00:00 UTC made an issue: the run started; run type RESOLVE is tracked",
			"more of its events changed nothing.",
		}},
		{"Event", list[2].ID, []string{
			"was added to an issue: step CODER failed; it was held for 30s; recorded only: it was recovered within that time. It belongs to " + own,
			"Counted: complexity 1 against 3.", "Rules: step failed > held > recovered.", "It would have come out otherwise with ",
		}},
		{"NoIssue", list[5].ID, []string{"made no issue: the run completed; no issue: complexity 1 is below 3"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, stdout, stderr := call(t, p.DataDir, "why", test.id, "--tenant", "acme")
			if status != cli.ExitOK {
				t.Fatalf("exit status %d: %s", status, stderr)
			}
			for _, part := range test.parts {
				if !strings.Contains(stdout, part) {
					t.Errorf("%q is missing in\n%s", part, stdout)
				}
			}
			x := callJSON[tracker.Explanation](t, p.DataDir, "why", test.id, "--tenant", "acme")
			if (x.Unconsidered == "") != (len(x.Decisions) > 0) {
				t.Errorf("explanation is %+v", x)
			}
		})
	}
}

func TestCommand_WhyOfAnUnknownID(t *testing.T) {
	p := newPipeline(t)
	list := rulestest.Story(t)
	p.Publish("engine", list...)
	p.mustDrain()
	for _, args := range [][]string{
		{"nothing-like-it", "--tenant", "acme"},
		{list[0].ID, "--tenant", "beta"}, // another tenant's
	} {
		status, stdout, stderr := call(t, p.DataDir, append([]string{"why"}, args...)...)
		if status != cli.ExitError || stdout != "" || !strings.Contains(stderr, args[0]) || !strings.Contains(stderr, "considered are run events") {
			t.Errorf("why %v: exit status %d, %q, %q", args, status, stdout, stderr)
		}
	}
}

func TestDetails_IDsKeepToTheirLine(t *testing.T) {
	d := tracker.Details{Issue: tracker.Issue{ID: "ht-1", Run: "r1\n  closed, tracking issue", Tenant: "a\nb"}, Transitions: []tracker.Transition{{Event: "e\nevents: 7"}}}
	if got, want := strings.Count(detailsText(d), "\n"), 5; got != want {
		t.Errorf("got %d lines, want %d:\n%s", got, want, detailsText(d))
	}
	x := tracker.Explanation{Decisions: []tracker.Reasoning{{Decision: rules.Decision{Event: "e\n\nx", Run: "r\n\ny"}}}}
	if got := paragraph(x); strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}

func TestCommand_WhySaysWhatIsNotConsidered(t *testing.T) {
	dir := t.TempDir()
	key, err := writer.OpenKey(filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := writer.Open(t.Context(), filepath.Join(dir, "ledger"), "acme", writer.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	var batch []ledger.Message
	for i, e := range rulestest.Story(t)[:2] {
		e.Producer, e.Sequence, e.Salt = "p", uint64(i+1), events.NewSalt()
		batch = append(batch, ledger.Message{
			Sequence: uint64(i + 1), Data: e.Append(nil), Stored: rulestest.StoryBegins,
			Address: subjects.Address{Tenant: "acme", Producer: "p", Run: e.Run, Kind: e.Kind()},
		})
	}
	if _, err := l.Append(t.Context(), ledger.Stream{Epoch: 1, Created: rulestest.StoryBegins}, batch); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		rulestest.Story(t)[0].ID: "is a run.started and not decided on yet",
		rulestest.Story(t)[1].ID: "is a tool.before, and such events are not considered",
	} {
		if _, stdout, stderr := call(t, dir, "why", id, "--tenant", "acme"); !strings.Contains(stdout, want) {
			t.Errorf("why %s says %q %q, want %q", id, stdout, stderr, want)
		}
	}
}

func TestCommand_WithoutATracker(t *testing.T) {
	dir := t.TempDir()
	if got := callJSON[[]tracker.Issue](t, dir, "list"); len(got) != 0 {
		t.Errorf("got %d issues", len(got))
	}
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"show", "ht-0000000000000"}, cli.ExitError},
		{[]string{"why", "x"}, cli.ExitError},
		{[]string{"show"}, cli.ExitUsage},
		{[]string{"list", "--status", "lost"}, cli.ExitUsage},
		{[]string{"forget"}, cli.ExitUsage},
	} {
		if status, _, stderr := call(t, dir, test.args...); status != test.want {
			t.Errorf("tracker %v: exit status %d, want %d: %s", test.args, status, test.want, stderr)
		}
	}
}
