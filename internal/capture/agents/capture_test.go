package agents_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// wantCalls are the expected runs of the recorded scenarios. Some steps are missing:
// Codex wrote no file, Gemini CLI echoed nothing, and the camelCase hooks of Copilot
// CLI were not asked about calls that other hooks had denied.
var wantCalls = map[string][]string{
	"claude-code": {
		"DENYME: no result, denied: DENYME blocked by policy", "Task: success", "Write: success", "cat: error 1", "echo: success",
		"sub-agent", "  echo: success",
	},
	"codex": {"DENYME: no result, denied: DENYME blocked by policy", "cat: error", "echo: success"},
	"gemini-cli": {
		"DENYME: no result, denied: DENYME blocked by policy", "Write: success", "cat: error 1",
	},
	"copilot-cli camelCase": {
		"Read: error", "Task: success", "Write: success", "cat: error 1", "echo: success",
		"sub-agent", "  echo: success",
	},
	"copilot-cli PascalCase": {
		"DENYME: no result, denied: DENYME blocked by policy", "Read: error", "Task: success", "Write: success", "cat: error 1", "echo: success",
		"sub-agent", "  echo: success",
	},
	"copilot-cli both": {
		"DENYME: no result, denied: DENYME blocked by policy", "Read: error", "Task: success", "Write: success", "cat: error 1", "echo: success",
		"sub-agent", "  echo: success",
	},
	"opencode": {
		"DENYME: no result, denied: DENYME blocked by policy", "Task: success", "Write: success", "cat: error 1", "echo: success",
		"sub-agent", "  echo: success",
	},
}

func TestCaptured_Calls(t *testing.T) {
	for _, c := range captures {
		t.Run(c.name, func(t *testing.T) {
			list := captured(t, c.dirs...)
			callIDs := map[string]agents.CallIDs{"Memory": agents.NewCallIDs(), "Dir": agents.SharedCallIDs(t.TempDir())}
			for name, callIDs := range callIDs {
				fold := replay(t, named(t, c.tool), list, callIDs)
				if diff := cmp.Diff(wantCalls[c.name], callsOf(fold)); diff != "" {
					t.Errorf("with %s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// tree returns the part of a run tree that must not depend on the order and the copies
// of payloads.
func tree(f *runtree.Fold) []string {
	lines := callsOf(f)
	for _, run := range f.Runs() {
		tr := f.Trace(run)
		state := map[bool]string{true: "finished", false: "going on"}[tr.Finished]
		line := []any{run, tr.ParentRun, tr.Agent, state, tr.Success, tr.ToolCalls, tr.ToolErrors, tr.Denied, tr.Unanswered, tr.Tokens, tr.Tools}
		for _, s := range tr.Steps {
			line = append(line, s.ID, s.Status, s.Input, s.Output, s.Tokens, len(s.Rows))
		}
		text, err := json.Marshal(line)
		if err != nil {
			text = []byte(err.Error())
		}
		lines = append(lines, string(text))
	}
	return lines
}

// Payloads give the same run tree if each arrives twice, up to three positions from its
// place.
//
//guarantee:payload-again
func TestCaptured_AnyOrder(t *testing.T) {
	race.Draw(t, 100, 10)
	for _, c := range captures {
		t.Run(c.name, func(t *testing.T) {
			list := captured(t, c.dirs...)
			want := tree(replay(t, named(t, c.tool), list, agents.NewCallIDs()))
			rapid.Check(t, func(rt *rapid.T) {
				got := tree(replay(t, named(t, c.tool), shuffled(rt, list), agents.NewCallIDs()))
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Errorf("(-in order +shuffled):\n%s", diff)
				}
			})
		})
	}
}

func shuffled(rt *rapid.T, list []payload) []payload {
	type placed struct {
		at int
		p  payload
	}
	var all []placed
	for i, p := range list {
		for nth := range 2 {
			all = append(all, placed{(i+rapid.IntRange(-3, 3).Draw(rt, "displaced"))*4 + nth, p})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.at - b.at })
	out := make([]payload, len(all))
	for i, a := range all {
		out[i] = a.p
	}
	return out
}

// A repeated payload is one event if it has an identity.
//
//guarantee:payload-again
func TestCaptured_OneEventPerPayload(t *testing.T) {
	fresh := map[string]bool{ // payloads without a time, an id of a step and an id of a call
		"claude-code SessionStart": true, "claude-code InstructionsLoaded": true,
		"codex SessionStart": true, "codex SessionEnd": true, "opencode chat.params": true,
	}
	for _, c := range captures {
		for _, p := range captured(t, c.dirs...) {
			tool := named(t, c.tool)
			ids := map[string]bool{}
			n := 0
			for range 2 {
				for _, e := range handle(t, tool, denyme(t), p, agents.Context{}) {
					ids[e.ID] = true
					n++
				}
			}
			if once := len(ids)*2 == n; once == fresh[c.tool+" "+p.event] {
				t.Errorf("%s %s: %d events of two deliveries have %d ids", c.tool, p.event, n, len(ids))
			}
		}
	}
}

// Every payload is in one event, and unknown payloads are custom events.
//
//guarantee:payload-unknown
func TestCaptured_Lossless(t *testing.T) {
	known := map[events.Kind]int{}
	for _, c := range captures {
		for _, p := range captured(t, c.dirs...) {
			read := parse(t, c.tool, p.event, string(p.data))
			var raws int
			for _, e := range read.Events {
				known[e.Kind()]++
				raw := member(t, e.Data, "raw")
				if raw == nil {
					continue
				}
				raws++
				if diff := cmp.Diff(value(t, p.data), value(t, raw)); diff != "" {
					t.Errorf("%s (-payload +raw):\n%s", p.file, diff)
				}
				if name := member(t, e.Data, "name"); e.Kind() == events.Custom && len(name) < 3 {
					t.Errorf("%s: custom without a name", p.file)
				}
			}
			if raws != 1 {
				t.Errorf("%s: raw stands in %d of %d events", p.file, raws, len(read.Events))
			}
		}
	}
	for _, kind := range []events.Kind{
		events.RunStarted, events.SessionStart, events.PromptSubmit, events.ToolBefore, events.ToolResult, events.Approval,
		events.SubagentStart, events.SubagentStopped, events.StepFinished, events.SessionEnded, events.RunFinished,
		events.LLMRequest, events.ResponseCompleted, events.MessageUpdated, events.Custom,
	} {
		if known[kind] == 0 {
			t.Errorf("no %s in any capture", kind)
		}
	}
}

func member(tb testing.TB, data json.RawMessage, name string) json.RawMessage {
	tb.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		tb.Fatal(err)
	}
	return m[name]
}

func value(tb testing.TB, data []byte) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		tb.Fatal(err)
	}
	return v
}
