package sweagent_test

import (
	"encoding/json"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/sweagent"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestEvents_Observations(t *testing.T) {
	for observation, want := range map[string]string{
		"ok": "success",
		"\nEXECUTION TIMED OUT BECAUSE NO OUTPUT WAS PRODUCED FOR MORE THAN 30 SECONDS.": "error timeout",
		"Running tests…\n\nEXECUTION TIMED OUT":                                          "error timeout",
		"the log says EXECUTION TIMED OUT and goes on":                                   "success",
		"Your proposed edit has introduced new syntax error(s). Please read this":        "error edit_refused",
		"The command 'vim' was cancelled because it took more than 30 seconds.":          "error timeout",
	} {
		text, err := json.Marshal(observation)
		if err != nil {
			t.Fatal(err)
		}
		list, _ := ingesttest.Read(t, sweagent.Events, []byte(`{"environment":"e","trajectory":[{"action":"pytest","observation":`+string(text)+`}],"history":[]}`), ingest.Options{File: "f.traj"})
		ingesttest.Check(t, list)
		for _, e := range list {
			if e.Kind() == events.ToolResult && ingesttest.Outcome(t, e) != want {
				t.Errorf("%q: got %q, want %q", observation, ingesttest.Outcome(t, e), want)
			}
		}
	}
}

// A run without an exit status was cut off, unless it submitted its work.
func TestEvents_Ends(t *testing.T) {
	const run = `{"environment":"e","trajectory":[{"action":"ls","observation":"x"}],"history":[],"info":`
	for info, want := range map[string]events.RunStatus{
		`{}`: events.RunUnknown, `{"exit_status":"submitted"}`: events.RunCompleted, `{"exit_status":"exit_cost"}`: events.RunFailed,
	} {
		list, _ := ingesttest.Read(t, sweagent.Events, []byte(run+info+`}`), ingest.Options{File: "f.traj"})
		ingesttest.Check(t, list)
		if got := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1]).RunStatus; got != want {
			t.Errorf("%s: got %s, want %s", info, got, want)
		}
	}
}

// Each step of a finished run has ended, also the last one, which submits the work.
func TestEvents_StepsEnd(t *testing.T) {
	for name, data := range map[string]string{
		"Trajectory": `{"environment":"e","trajectory":[{"response":"r","action":"ls","observation":"x"},{"response":"r","action":"submit","observation":""}],"history":[],"info":{"exit_status":"submitted"}}`,
		"Mini": `{"info":{"exit_status":"Submitted","mini_version":"1"},"messages":[{"role":"user","content":"go"},` +
			`{"role":"assistant","content":"` + "```mswea_bash_command\\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\\n```" + `"},{"role":"exit","content":"done","extra":{"exit_status":"Submitted"}}]}`,
	} {
		list, _ := ingesttest.Read(t, sweagent.Events, []byte(data), ingest.Options{File: "f.traj"})
		ingesttest.Check(t, list)
		ended := map[string]events.StepStatus{}
		for _, e := range list {
			if e.Kind() == events.StepFinished {
				ended[e.Step] = ingesttest.Payload[events.StepFinishedData](t, e).StepStatus
			}
		}
		for _, e := range list {
			if status, ok := ended[e.Step]; e.Step != "" && (!ok || status.Open()) {
				t.Errorf("%s: step %s ended %t with %q", name, e.Step, ok, status)
			}
		}
		if len(ended) == 0 {
			t.Errorf("%s: no steps", name)
		}
	}
}
