package e2e

import (
	"encoding/json"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Each agent runs a call that is allowed and one that is denied. The hooks are installed, trusted
// and checked as docs/agents.md says, and the transcript is imported afterwards.
//
//guarantee:real-agents
//guarantee:one-session
//guarantee:canary
func TestAgents_Session(t *testing.T) {
	modules := agents.Install(t)
	for i := range agents.All {
		a := &agents.All[i]
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			at := newAgentTest(t, a, modules, t.TempDir(), "")
			at.install(t)
			at.checkStatus(t, !a.Trusts)
			if a.Trusts {
				at.install(t, "--trust")
				at.checkStatus(t, true)
			}
			at.serve(t)
			at.run(t)
			at.outcome(t, "", noTouchSays)
			at.publisher.stopCleanly(t)
			once(t, inLedger(t, at.data))
			got := at.show(t)
			want := agentRun{Finished: true, Sealed: true, ToolCalls: 2, Denied: 1, Tokens: got.Tokens}
			if a.Name == "opencode" { // its hooks do not say that a session ends
				want.Finished, want.Sealed = got.Finished, got.Sealed
			}
			if got != want {
				t.Errorf("run show: got %+v, want %+v", got, want)
			}
			at.importToo(t)
		})
	}
}

// checkStatus checks the canary. It also runs if the agent does not trust the hooks.
func (at *agentTest) checkStatus(t *testing.T, works bool) {
	t.Helper()
	var all []struct {
		Tool, Problem           string
		Denied, Recorded, Works bool
	}
	text := at.command(t, map[bool]int{true: 0, false: 1}[works], "install", "--status", "--project", at.Project, "--json")
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(all) != 1 || all[0].Tool != at.Agent.Name || !all[0].Denied || !all[0].Recorded || all[0].Works != works {
		t.Errorf("status: got %+v, want a canary that is denied and recorded, and works %v", all, works)
	}
}

// importToo imports the transcript of the session. The run has tokens and an end then, and each call
// once.
func (at *agentTest) importToo(t *testing.T) {
	t.Helper()
	file := at.Transcript(t, at.session(t))
	run(t, 0, "publisher", "import", "--no-wait", file, "--data-dir", at.data)
	if again := tell[imported](t, 0, "publisher", "import", "--no-wait", file, "--data-dir", at.data); again.New != 0 {
		t.Errorf("the second import added %d events", again.New)
	}
	once(t, inLedger(t, at.data))
	const answers = 3
	want := agentRun{
		Finished: true, Sealed: true, ToolCalls: 2, Denied: 1,
		Tokens: agentTokens{answers * agents.InputTokens, answers * agents.OutputTokens},
	}
	if got := at.show(t); got != want {
		t.Errorf("run show after an import: got %+v, want %+v", got, want)
	}
}

func (at *agentTest) show(t *testing.T) agentRun {
	t.Helper()
	return tell[agentRun](t, 0, "hooktrail", "run", "show", at.session(t), "--data-dir", at.data)
}

type agentTokens struct{ Input, Output int }

type agentRun struct {
	Finished, Sealed bool
	ToolCalls        int `json:"tool_calls"`
	ToolErrors       int `json:"tool_errors"`
	Denied           int
	Unanswered       int
	Tokens           agentTokens
}

// session returns the run with the prompt, unlike those of canaries.
func (at *agentTest) session(t *testing.T) string {
	t.Helper()
	runs := map[string]bool{}
	for entry, err := range read(t, at.data, "default").After(t.Context(), -1) {
		if err != nil {
			t.Fatal(err)
		}
		if entry.Kind != events.PromptSubmit {
			continue
		}
		e, err := events.Decode(entry.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		runs[e.Run] = true
	}
	if len(runs) != 1 {
		t.Fatalf("runs with a prompt: %v, want one", runs)
	}
	for run := range runs {
		return run
	}
	return ""
}
