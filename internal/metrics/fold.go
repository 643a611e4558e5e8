package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The largest numbers that are believed: sums of what is beyond them would
// overflow.
const (
	maxTokens   = 1 << 40
	maxDuration = 10 * 366 * 24 * time.Hour
)

// fold applies events to the state, within a transaction.
type fold struct {
	conn    *sqlite.Conn
	numbers *numbers
}

// payloadError says that an event cannot be counted, ever.
type payloadError struct{ err error }

func (e *payloadError) Error() string { return e.err.Error() }
func (e *payloadError) Unwrap() error { return e.err }

// projections are the kinds that are counted, and how.
var projections = []struct {
	kind  events.Kind
	apply func(*fold, events.Event) error
}{
	{events.RunStarted, decoded((*fold).runStarted)},
	{events.RunFinished, decoded((*fold).runFinished)},
	{events.StepFinished, decoded((*fold).stepFinished)},
	{events.ToolBefore, decoded((*fold).toolBefore)},
	{events.ToolResult, decoded((*fold).toolResult)},
	{events.ResponseCompleted, decoded((*fold).responseCompleted)},
	{events.HookExecuted, decoded((*fold).hookExecuted)},
}

// decoded hands apply the payload of an event.
func decoded[T any](apply func(*fold, events.Event, T) error) func(*fold, events.Event) error {
	return func(f *fold, e events.Event) error {
		payload, err := events.Payload[T](e)
		if err != nil {
			return &payloadError{fmt.Errorf("data is not that of a %s", e.Kind())}
		}
		return apply(f, e, payload)
	}
}

// apply counts e.
func (f *fold) apply(e events.Event) error {
	for _, p := range projections {
		if p.kind == e.Kind() {
			if err := p.apply(f, e); err != nil {
				return err
			}
		}
	}
	return f.executions(e)
}

func (f *fold) runStarted(e events.Event, p events.RunStartedData) error {
	_, err := f.change(key{aRun, e.Tenant, e.Run, ""}, e, func(t *thing) {
		t.label = upper(p.RunType, e.RunType, t.label)
		if t.started.IsZero() || e.Time.Before(t.started) {
			t.started = e.Time
		}
		if t.status == "" {
			t.status = active
		}
	})
	return err
}

func (f *fold) runFinished(e events.Event, p events.RunFinishedData) error {
	isNew, err := f.change(key{aRun, e.Tenant, e.Run, ""}, e, func(t *thing) {
		t.label = upper(p.RunType, e.RunType, t.label)
		t.status, t.ended, t.measured = failed, e.Time, milliseconds(p.DurationMS)
		if p.Success {
			t.status = completed
		}
	})
	if err != nil || !isNew {
		return err
	}
	return f.tokens(e, ofRun, "", e.AgentRole, p.TokensUsed)
}

func (f *fold) stepFinished(e events.Event, p events.StepFinishedData) error {
	role := upper(p.AgentRole, e.AgentRole)
	k := key{aStep, e.Tenant, e.Run, firstOf(e.Step, e.ID)}
	isNew, err := f.change(k, e, func(t *thing) {
		t.label, t.status = upper(role, t.label), string(p.StepStatus)
		t.ended, t.measured = e.Time, milliseconds(p.DurationMS)
		if p.StepStatus == events.StepPending || p.StepStatus == events.StepRunning {
			t.status = active
		}
	})
	if err != nil || !isNew {
		return err
	}
	return f.tokens(e, ofStep, k.id, role, p.TokensUsed)
}

func (f *fold) toolBefore(e events.Event, p events.ToolBeforeData) error {
	_, err := f.change(key{aCall, e.Tenant, e.Run, firstOf(e.ToolCall, e.ID)}, e, func(t *thing) {
		t.label, t.started = firstOf(p.Tool, t.label), e.Time
		switch {
		case t.status != "" && t.status != active: // its result came first
		case p.Verdict == events.VerdictDeny:
			t.status = denied
		default:
			t.status = active
		}
	})
	return err
}

func (f *fold) toolResult(e events.Event, p events.ToolResultData) error {
	_, err := f.change(key{aCall, e.Tenant, e.Run, firstOf(e.ToolCall, e.ID)}, e, func(t *thing) {
		t.label = firstOf(p.Tool, t.label)
		t.status, t.ended, t.measured = string(events.ToolSuccess), e.Time, milliseconds(p.DurationMS)
		if p.Status != events.ToolSuccess {
			t.status = string(events.ToolError)
		}
	})
	return err
}

func (f *fold) responseCompleted(e events.Event, p events.ResponseCompletedData) error {
	k := key{anAnswer, e.Tenant, e.Run, firstOf(p.Message, e.ID)}
	isNew, err := f.change(k, e, func(*thing) {})
	if err != nil || !isNew {
		return err
	}
	return f.tokens(e, ofAnswer, k.id, e.AgentRole, p.TokensUsed)
}

func (f *fold) hookExecuted(e events.Event, p events.HookExecutedData) error {
	return f.failures(e, []events.Execution{p.Execution})
}

// executions counts the hooks that failed in the dispatch that e records.
func (f *fold) executions(e events.Event) error {
	if !bytes.Contains(e.Data, []byte(`"executions"`)) || e.Kind() == events.Custom {
		return nil
	}
	outcome, err := events.Payload[events.Outcome](e)
	if err != nil {
		return &payloadError{fmt.Errorf("data of a %s has other executions", e.Kind())}
	}
	return f.failures(e, outcome.Executions)
}

// failures counts the failed ones of executions, once for each event.
func (f *fold) failures(e events.Event, executions []events.Execution) error {
	count := 0
	for _, x := range executions {
		if !x.Success {
			count++
		}
	}
	if count == 0 {
		return nil
	}
	isNew, err := f.change(key{aDispatch, e.Tenant, e.Run, e.ID}, e, func(*thing) {})
	if err != nil || !isNew {
		return err
	}
	for _, x := range executions {
		if !x.Success {
			f.numbers.add(hookFailures, 1, e.Tenant, firstOf(string(x.Point), string(e.Kind())), firstOf(x.Name, x.Hook))
		}
	}
	return nil
}

func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), maxDuration.Milliseconds())) * time.Millisecond
}

// upper returns the first that is not empty, in upper case.
func upper(values ...string) string { return strings.ToUpper(firstOf(values...)) }

// firstOf returns the first that is not empty.
func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
