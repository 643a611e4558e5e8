package hooktrail

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// tailed is a run that ended, with each kind of line.
func tailed() *ledgertest.Feed {
	f, one := ledgertest.NewFeed("acme"), 1
	say := func(kind events.Kind, payload any) { f.Event("p", "r1", kind, payload) }
	call := func(args string, o events.Outcome) {
		say(events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"` + args + `"}`), Outcome: o})
	}
	deny := events.Outcome{
		Verdict: events.VerdictDeny, Reason: "not here", Executions: []events.Execution{{Hook: "policy", Name: "no-rm", Verdict: events.VerdictDeny}},
	}
	say(events.RunStarted, events.RunStartedData{Title: "tidy", Model: "opus", Cwd: "/src", Metadata: map[string]any{"git_branch": "main"}})
	say(events.PromptSubmit, events.PromptSubmitData{Prompt: "tidy\nup \x1b[2J"})
	call("ls", events.Outcome{})
	say(events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, DurationMS: 1200})
	call("false", events.Outcome{})
	say(events.ToolResult, events.ToolResultData{Status: events.ToolError, ExitCode: &one, DurationMS: 3, Error: &events.Failure{Message: "Exit code 1\nno such file"}})
	call("rm -rf x", deny)
	call("curl y", events.Outcome{})
	say(events.ToolResult, events.ToolResultData{Status: events.ToolDenied, DeniedBy: events.DeniedByUser})
	call("sleep 9", events.Outcome{Verdict: events.VerdictAsk, Reason: "is it safe?"})
	say(events.ToolResult, events.ToolResultData{Status: events.ToolInterrupted})
	say(events.Error, events.ErrorData{Error: events.Failure{Message: "try later", Class: "rate_limit"}})
	say(events.ResponseCompleted, events.ResponseCompletedData{Model: "opus", TokensUsed: &events.Tokens{Input: 3, Output: 4}})
	say(events.SubagentStart, events.SubagentStartData{Subagent: "a1", TaskType: "general"})
	say(events.CompactBefore, events.CompactBeforeData{Trigger: "manual"})
	say(events.Custom, events.CustomData{Name: "queue", Common: events.Common{Untimed: true}})
	say(events.Custom, events.CustomData{Name: "progress.hook_progress"})
	say(events.Custom, events.CustomData{})
	for _, content := range []string{`[{"type":"text","text":"\n"},{"type":"text","text":"Done,\n as asked"}]`, `{"type":"text","text":"\n\n"}`, `"Hello"`} {
		say(events.MessageCreated, events.MessageData{Role: "assistant", Content: json.RawMessage(content)})
	}
	say(events.MessageCreate, events.MessageData{Role: "user", Content: json.RawMessage(`[]`), Outcome: deny})
	say(events.StepFinished, events.StepFinishedData{StepStatus: events.StepFailed, Error: &events.Failure{Message: "gave up"}})
	finished := events.RunFinishedData{Reason: "logout", Cost: &events.Cost{USD: 1.5}}
	finished.SetStatus(events.RunFailed)
	say(events.RunFinished, finished)
	f.Seal("p", "r1")
	f.Manifest("p")
	return f
}

func runTail(t *testing.T, dir string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	root := Command()
	var out, errs bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&errs)
	status = cli.Execute(ctx, root, append([]string{"run", "tail", "--data-dir", dir, "--tenant", "acme"}, args...))
	return status, out.String(), errs.String()
}

func TestRunTail_Words(t *testing.T) {
	status, out, errs := runTail(t, ledgerOf(t, tailed()), "r", "--lines", "-1")
	if status != cli.ExitOK || errs != "" {
		t.Fatalf("status %d, said %q", status, errs)
	}
	var got []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "2026-11-20 09:00:00  r1  /test") && !strings.HasPrefix(line, "–                    r1  /test") {
			t.Errorf("got %q", line)
		}
		got = append(got, strings.TrimSuffix(line[strings.Index(line, "/test")+len("/test  "):], "\n"))
	}
	want := []string{
		"• started · tidy · opus · in /src · branch main",
		`• prompt tidy up \x1b[2J`,
		"… Bash ls",
		"✓ Bash ls · 1.2s",
		"… Bash false",
		"✗ Bash false · exit 1: no such file · 3ms",
		"✗ Bash rm -rf x · denied by hook no-rm: not here",
		"… Bash curl y",
		"✗ Bash curl y · refused by the user",
		"? Bash sleep 9 · asks a person: is it safe?",
		"■ Bash sleep 9 · stopped",
		"✗ error rate_limit · try later",
		"• answer · opus · tokens 3 in, 4 out",
		"• sub-agent a1 started · general",
		"• compaction manual",
		"• custom queue",
		"• assistant Done, as asked",
		"• assistant Hello",
		"✗ user · denied by hook no-rm: not here",
		"✗ step failed · gave up",
		"✗ failed · logout · cost $1.50",
		"• sealed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Half of the lines of an import are progress and messages without text.
func TestRunTail_All(t *testing.T) {
	dir := ledgerOf(t, tailed())
	count := func(args ...string) int {
		_, out, _ := runTail(t, dir, append(args, "r1", "--lines", "-1")...)
		return strings.Count(out, "\n")
	}
	telling, all, objects := count(), count("--all"), count("--json")
	if all != telling+3 || objects != all {
		t.Errorf("%d lines, %d with --all, %d with --json", telling, all, objects)
	}
}

// OpenCode ends a run with each turn, so the end of a turn is not shown as the end of the session.
func TestRunTail_Turns(t *testing.T) {
	const payload = `{"id":"e1","type":"session.idle","properties":{"sessionID":"r"}}`
	tool, err := agents.Named("opencode")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tool.Parse([]byte(payload), agents.Context{Now: ledgertest.Began})
	if err != nil {
		t.Fatal(err)
	}
	f := ledgertest.NewFeed("acme")
	for _, e := range p.Events {
		f.Publish("p", e)
	}
	f.Manifest("p")
	_, out, _ := runTail(t, ledgerOf(t, f), "r", "--lines", "-1")
	if !strings.Contains(out, "• turn ended\n") || strings.Contains(out, "state unknown") {
		t.Errorf("got:\n%s", out)
	}
}

func TestRunTail_JSON(t *testing.T) {
	_, out, _ := runTail(t, ledgerOf(t, tailed()), "r1", "--json", "--state", "denied,failed")
	var got []string
	for line := range strings.Lines(out) {
		var l tail.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		got = append(got, string(l.Kind)+" "+l.Name+" "+l.Status+" "+l.Hook+" "+l.Tenant)
	}
	want := []string{
		"tool.result Bash error  acme", "tool.before Bash  no-rm acme", "tool.result Bash denied  acme", "error rate_limit error  acme",
		"message.create user  no-rm acme",
		"step.finished  failed  acme", "run.finished  failed  acme",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An altered record is marked, and a result of a denied call is an alarm.
//
//guarantee:readers-check
func TestRunTail_Alarms(t *testing.T) {
	f := tailed()
	dir := ledgerOf(t, f, `UPDATE payloads SET bytes = CAST(replace(bytes, 'false', 'true') AS BLOB) WHERE leaf = 4`)
	status, out, errs := runTail(t, dir, "r1", "--lines", "-1")
	if status != verifier.ExitInvalid || !strings.Contains(out, "! leaf 4, tool.before: ") || !strings.Contains(out, "✗ failed") || !strings.Contains(errs, "1 record altered") {
		t.Errorf("status %d, said %q:\n%s", status, errs, out)
	}
	f = ledgertest.NewFeed("acme")
	f.Event("p", "r1", events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny}})
	f.Event("p", "r1", events.ToolResult, events.ToolResultData{Status: events.ToolSuccess})
	f.Event("p", "r1", events.RunFinished, events.RunFinishedData{Success: true})
	status, out, _ = runTail(t, ledgerOf(t, f), "r1")
	if status != cli.ExitOK || !strings.Contains(out, "! Bash · the call was denied and has a successful result") {
		t.Errorf("status %d:\n%s", status, out)
	}
}

func TestRunTail_Refuses(t *testing.T) {
	dir := ledgerOf(t, tailed())
	for _, tt := range []struct {
		want   string
		status int
		args   []string
	}{
		{"start `auditor serve` or `hooktrail up` there", cli.ExitError, []string{"--data-dir", filepath.Join(t.TempDir(), "none")}},
		{`tenant "none" has no ledger`, cli.ExitError, []string{"--tenant", "", "--tenant", "none"}},
		{`run "other" is not in the ledger`, cli.ExitError, []string{"other"}},
		{"want one of denied, failed or interrupted", cli.ExitUsage, []string{"--state", "open"}},
		{"invalid time", cli.ExitUsage, []string{"--since", "yesterday"}},
		{"a run needs one --tenant", cli.ExitUsage, []string{"r1", "--tenant", "b"}},
	} {
		status, out, errs := runTail(t, dir, tt.args...)
		if status != tt.status || !strings.Contains(errs, tt.want) || out != "" {
			t.Errorf("%v: status %d, said %q:\n%s", tt.args, status, errs, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nats")); err == nil {
		t.Error("a broker was started")
	}
}

// Each line fits the terminal, and none controls it.
func FuzzTailPrinter(f *testing.F) {
	f.Add("r1/a", "codex", "Bash", "rm\x1b[2J\nx", "\u202edlrow", "deny", 80)
	f.Add("日本語日本語日本語", "", "", "", "", "", 20)
	f.Fuzz(func(t *testing.T, run, agent, name, detail, reason, verdict string, width int) {
		p := newTailPrinter(&cobra.Command{}, &cli.Shared{})
		p.width = min(max(width, 100), 1000)
		for _, kind := range append(events.Kinds(), events.Kind(name)) {
			l := tail.Line{
				Run: run, Agent: agent, Kind: kind, Name: name, Detail: detail, Status: verdict, Verdict: events.Verdict(verdict), Reason: reason,
				Hook: name, Model: name, Cwd: detail, User: name, Altered: agent, Removed: reason, Failure: &events.Failure{Message: detail},
			}
			for range 3 {
				text := p.text(l)
				if strings.ContainsAny(text, "\n\t") || text != termtext.Printable(text) || termtext.Width(text) > p.width {
					t.Fatalf("%s: %d columns: %q", kind, termtext.Width(text), text)
				}
				if l.Altered != "" {
					l.Altered = ""
				} else {
					l.Removed = ""
				}
			}
		}
	})
}
