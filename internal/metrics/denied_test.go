package metrics

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:denied-result
func TestState_ResultOfADeniedCall(t *testing.T) {
	deny := func(n int) events.Event {
		return event(t, n, events.ToolBefore, events.ToolBeforeData{
			Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny},
		}, call("c1"))
	}
	result := func(n int, status events.ToolStatus) events.Event {
		return event(t, n, events.ToolResult, events.ToolResultData{Tool: "Bash", Status: status}, call("c1"))
	}
	form := func(n int, kind events.Kind, data string) events.Event {
		e := event(t, n, kind, nil, call("c1"))
		e.Data = []byte(data)
		return e
	}
	alarm := map[string]string{
		`tool_calls_total["acme","Bash","denied"]`: "1", `tool_results_after_denial_total["acme","Bash"]`: "1",
	}
	for name, tt := range map[string]struct {
		sent []events.Event
		want map[string]string
	}{
		"Success":           {[]events.Event{deny(1), result(2, events.ToolSuccess)}, alarm},
		"ResultFirst":       {[]events.Event{result(1, events.ToolSuccess), deny(2)}, alarm},
		"ErrorThenForged":   {[]events.Event{deny(1), result(2, events.ToolError), result(3, events.ToolSuccess)}, alarm},
		"ForgedThenError":   {[]events.Event{deny(1), result(2, events.ToolSuccess), result(3, events.ToolError)}, alarm},
		"ForgedErrorDenial": {[]events.Event{result(1, events.ToolSuccess), result(2, events.ToolError), deny(3)}, alarm},
		"ByPerson":          {[]events.Event{result(1, events.ToolSuccess), form(2, events.Approval, `{"tool":"Bash","verdict":"deny"}`)}, alarm},
		"OtherForms": {[]events.Event{
			form(1, events.ToolBefore, `{"tool":"Bash","VERDICT":"deny","verdict":"allow"}`),
			form(2, events.ToolResult, `{"tool":"Bash","status":"success","status":"error"}`),
		}, alarm},
		"BadMembers": {[]events.Event{
			form(1, events.ToolBefore, `{"tool":"Bash","verdict":"deny","executions":5}`),
			form(2, events.ToolResult, `{"tool":"Bash","status":"success","duration_ms":"x"}`),
		}, alarm},
		"Error": {[]events.Event{deny(1), result(2, events.ToolError)}, map[string]string{`tool_calls_total["acme","Bash","denied"]`: "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := apply(t, dir, 100, messages(1, tt.sent...)...); err != nil {
				t.Fatal(err)
			}
			got := values(t, dir)
			maps.DeleteFunc(got, func(k, v string) bool { return v == "0" || !slices.Contains([]string{"tool_c", "tool_r"}, k[:6]) })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// A call that hooks and a transcript report counts once, with the strongest result, in any order.
func TestState_CallOfTwoSources(t *testing.T) {
	before := func(n int, tool string, v events.Verdict) events.Event {
		return event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: tool, Outcome: events.Outcome{Verdict: v}}, call("c1"))
	}
	result := func(n int, tool string, status events.ToolStatus) events.Event {
		return event(t, n, events.ToolResult, events.ToolResultData{Tool: tool, Status: status}, call("c1"))
	}
	for name, tt := range map[string]struct {
		sent []events.Event
		want string
	}{
		"Denied": {[]events.Event{
			before(1, "Bash", events.VerdictDeny), before(2, "exec_command", ""), result(3, "exec_command", events.ToolDenied),
		}, "denied"},
		"DeniedAsError": {[]events.Event{
			before(1, "Bash", events.VerdictDeny), before(2, "exec_command", ""), result(3, "exec_command", events.ToolError),
		}, "denied"},
		"Failed": {[]events.Event{
			before(1, "Bash", ""), result(2, "Bash", events.ToolSuccess), before(3, "exec_command", ""), result(4, "exec_command", events.ToolError),
		}, "error"},
		"Interrupted": {[]events.Event{
			before(1, "Bash", ""), result(2, "Bash", events.ToolError), before(3, "exec_command", ""), result(4, "exec_command", events.ToolInterrupted),
		}, "interrupted"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				slices.Reverse(tt.sent)
				dir := t.TempDir()
				if err := apply(t, dir, 100, messages(1, tt.sent...)...); err != nil {
					t.Fatal(err)
				}
				got := values(t, dir)
				maps.DeleteFunc(got, func(k, v string) bool { return v == "0" || !slices.Contains([]string{"tool_c", "tool_r"}, k[:6]) })
				if diff := cmp.Diff(map[string]string{`tool_calls_total["acme","Bash","` + tt.want + `"]`: "1"}, got); diff != "" {
					t.Errorf("series (-want +got):\n%s", diff)
				}
			}
		})
	}
}
