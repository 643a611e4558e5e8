package tail_test

import (
	"fmt"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/tail"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestTail_ForgottenDenial(t *testing.T) {
	l := newLive(t)
	l.call("r1", "c0", "Bash", "rm -rf /", events.VerdictDeny)
	for i := range 10_000 {
		l.call("r1", fmt.Sprint("d", i), "Bash", "ls", "")
	}
	l.event("r1", "c0", events.ToolResult, events.ToolResultData{Status: events.ToolSuccess})
	l.write()
	lines, err := l.tail("r1", tail.Filter{}).Past(t.Context(), l.feed.Now.AddDate(-1, 0, 0), 1)
	if err != nil || len(lines) != 1 || !lines[0].DeniedResult {
		t.Errorf("an ordinary success: %+v, %v", lines, err)
	}
}

// A denial of any hook point is shown as one, whatever the other members are.
func TestTail_DenialsOfOtherPoints(t *testing.T) {
	denials := map[events.Kind]string{events.PromptSubmit: `{"prompt":5,"verdict":"Deny","reason":"no"}`}
	for _, kind := range []events.Kind{
		events.SessionStart, events.SubagentStart, events.CompactBefore, events.StepBefore, events.MessagesFilter, events.MessageCreate,
		events.MessageUpdate, events.LLMRequest, events.ToolResultStore, events.StepOutput,
	} {
		denials[kind] = `{"verdict":"deny","reason":"no"}`
	}
	for kind, data := range denials {
		l := newLive(t)
		l.feed.Publish("p", ledgertest.Form{Kind: kind, Data: data}.Event(""))
		l.write()
		lines, err := l.tail("r9", tail.Filter{Denied: true, Telling: true}).Past(t.Context(), l.feed.Now.AddDate(-1, 0, 0), -1)
		if err != nil || len(lines) != 1 || lines[0].Verdict != events.VerdictDeny || lines[0].Reason != "no" {
			t.Errorf("%s: the denials are %+v, %v", kind, lines, err)
		}
	}
}

// A new run replaces one remembered run, not all, because each forgotten run is read again.
func TestTail_EvictsSingleRuns(t *testing.T) {
	l := newLive(t)
	l.call("r", "c", "Bash", "ls", "")
	l.write()
	of := l.tail("", tail.Filter{})
	for i := range 1010 {
		l.call(fmt.Sprint("r", i), "c", "Bash", "ls", "")
	}
	l.write()
	if next(t, of); tail.Remembered(of) != 1000 {
		t.Errorf("%d runs are remembered, want 1000", tail.Remembered(of))
	}
}
