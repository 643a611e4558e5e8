package agents_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	turnPrompt   = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt_id":"p1","prompt":"go"}`
	turnPrompt2  = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt_id":"p2","prompt":"on"}`
	turnStop     = `{"hook_event_name":"Stop","session_id":"s","prompt_id":"p1"}`
	turnStop2    = `{"hook_event_name":"Stop","session_id":"s","prompt_id":"p2"}`
	turnExit     = `{"hook_event_name":"SessionEnd","session_id":"s","reason":"prompt_input_exit"}`
	oldPrompt    = `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"go"}`
	oldStop      = `{"hook_event_name":"Stop","session_id":"s"}`
	turnOfHelper = `{"hook_event_name":"UserPromptSubmit","session_id":"s","agent_id":"a","prompt_id":"p3","prompt":"sub"}`
	turnFailed   = `{"hook_event_name":"StopFailure","session_id":"s","prompt_id":"p1","error":"overloaded"}`
)

// A session that a person leaves in the middle of a turn has not completed. Each payload may arrive
// before the one that precedes it.
func TestClaude_LeftInATurn(t *testing.T) {
	for name, c := range map[string]struct {
		payloads []string
		want     events.RunStatus
	}{
		"completed":          {[]string{turnPrompt, turnStop, turnExit}, events.RunCompleted},
		"interrupted":        {[]string{turnPrompt, turnExit}, events.RunUnknown},
		"second interrupted": {[]string{turnPrompt, turnStop, turnPrompt2, turnExit}, events.RunUnknown},
		"crossed turns":      {[]string{turnPrompt, turnStop2, turnPrompt2, turnStop, turnExit}, events.RunCompleted},
		"first interrupted":  {[]string{turnPrompt, turnPrompt2, turnStop2, turnExit}, events.RunCompleted},
		"no prompt":          {[]string{turnExit}, events.RunCompleted},
		"late stop":          {[]string{turnPrompt, turnExit, turnStop}, events.RunCompleted},
		"late prompt":        {[]string{turnStop, turnPrompt, turnExit}, events.RunCompleted},
		"late everything":    {[]string{turnExit, turnStop, turnPrompt}, events.RunCompleted},
		"twice":              {[]string{turnPrompt, turnPrompt, turnStop, turnStop, turnPrompt, turnExit, turnExit}, events.RunCompleted},
		"left twice":         {[]string{turnPrompt, turnExit, turnExit, turnPrompt, turnExit}, events.RunUnknown},
		"without ids":        {[]string{oldPrompt, oldStop, turnExit}, events.RunCompleted},
		"of a sub-agent":     {[]string{turnPrompt, turnOfHelper, turnStop, turnExit}, events.RunCompleted},
		"failed turn":        {[]string{turnPrompt, turnFailed, turnExit}, events.RunCompleted},
	} {
		fold, ids := runtree.Fold{}, agents.NewCallIDs()
		for i, p := range c.payloads {
			for _, e := range parseIn(t, agents.Context{Now: began.Add(time.Duration(i) * time.Second), CallIDs: ids}, "claude-code", p).Events {
				fold.Add(e)
			}
		}
		if got := fold.Trace("s").RunStatus; got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}

// A prompt that hooks deny begins no turn.
func TestClaude_DeniedPromptAndLeft(t *testing.T) {
	c := agents.Context{Now: began, CallIDs: agents.NewCallIDs()}
	p := parseIn(t, c, "claude-code", turnPrompt)
	p.Decided(hooks.DocumentOutcome{Point: p.Document.Point, Verdict: hooks.Deny, Reason: "no"})
	if got := status(t, parseIn(t, c, "claude-code", turnExit).Events); got.Status() != events.RunCompleted {
		t.Errorf("got %s", got.Status())
	}
}

// The transcript knows more than the hooks, whichever came first.
func TestClaude_LeftInATurnWithTranscript(t *testing.T) {
	c := agents.Context{Tenant: "acme", Now: began, CallIDs: agents.NewCallIDs()}
	hooked := parseIn(t, c, "claude-code", turnPrompt).Events
	c.Now = began.Add(time.Minute)
	hooked = append(hooked, parseIn(t, c, "claude-code", turnExit).Events...)
	data := events.RunFinishedData{}
	data.SetStatus(events.RunInterrupted)
	told, err := events.New(events.RunFinished, "claude-code", data)
	if err != nil {
		t.Fatal(err)
	}
	told.Time, told.Run = began.Add(time.Second), "s"
	for _, list := range [][]events.Event{append([]events.Event{told}, hooked...), append(hooked, told)} {
		fold := runtree.Fold{}
		for _, e := range list {
			fold.Add(e)
		}
		if got := fold.Trace("s").RunStatus; got != events.RunInterrupted {
			t.Errorf("got %s, want %s", got, events.RunInterrupted)
		}
	}
}

func status(tb testing.TB, list []events.Event) (data events.RunFinishedData) {
	tb.Helper()
	for _, e := range list {
		if e.Kind() == events.RunFinished {
			var err error
			if data, err = events.Payload[events.RunFinishedData](e); err != nil {
				tb.Fatal(err)
			}
		}
	}
	return data
}

var began = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
