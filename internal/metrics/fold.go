package metrics

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxDuration prevents overflow of the sums.
const maxDuration = 10 * 366 * 24 * time.Hour

type fold struct {
	conn   *sqlite.Conn
	series *seriesSet
	active activityKey // of the latest event, if its run is not paused
}

type payloadError struct{ err error }

func (e *payloadError) Error() string { return e.err.Error() }
func (e *payloadError) Unwrap() error { return e.err }

var projections = []struct {
	kind  events.Kind
	apply func(*fold, events.Event) error
}{
	{events.RunStarted, decoded((*fold).runStarted)},
	{events.RunFinished, decoded((*fold).runFinished)},
	{events.StepFinished, decoded((*fold).stepFinished)},
	{events.ToolBefore, decoded((*fold).toolBefore)},
	{events.Approval, (*fold).approval},
	{events.ToolResult, decoded((*fold).toolResult)},
	{events.ResponseCompleted, decoded((*fold).responseCompleted)},
	{events.HookExecuted, decoded((*fold).hookExecuted)},
}

func decoded[T any](apply func(*fold, events.Event, T) error) func(*fold, events.Event) error {
	return func(f *fold, e events.Event) error {
		payload, err := events.Payload[T](e)
		if err != nil {
			return &payloadError{fmt.Errorf("data is not that of a %s", e.Kind())}
		}
		return apply(f, e, payload)
	}
}

func (f *fold) apply(e events.Event) error {
	for _, p := range projections {
		if p.kind != e.Kind() {
			continue
		}
		if err := f.reopen(e); err != nil {
			return err
		}
		if err := p.apply(f, e); err != nil {
			return err
		}
	}
	return f.executions(e)
}

func (f *fold) runStarted(e events.Event, p events.RunStartedData) error {
	_, err := f.change(activityKey{runActivity, e.Tenant, e.Run, ""}, e, func(a *activity) {
		a.label = upper(p.RunType, e.RunType, a.label)
		if a.started.IsZero() || e.Time.Before(a.started) {
			a.started = e.Time
		}
		if a.status == "" {
			a.status = active
		}
	})
	return err
}

// reopen makes a run active again if e shows that it continued after an end by silence.
func (f *fold) reopen(e events.Event) error {
	k := activityKey{runActivity, e.Tenant, e.Run, ""}
	if e.Kind() == events.RunFinished {
		f.active = activityKey{}
	}
	if e.Run == "" || e.Kind() == events.RunFinished || f.active == k {
		return nil
	}
	f.active = activityKey{}
	a, err := f.load(k)
	if err == nil && a.status != paused {
		f.active = k
	}
	if err != nil || a.status != paused || toMicroseconds(e.Time) <= toMicroseconds(a.ended) {
		return err
	}
	a.count(f.series, k, -1)
	a.status, a.ended, a.measured = active, time.Time{}, 0
	a.count(f.series, k, 1)
	return f.store(a)
}

func (f *fold) runFinished(e events.Event, p events.RunFinishedData) error {
	isNew, err := f.change(activityKey{runActivity, e.Tenant, e.Run, ""}, e, func(a *activity) {
		a.label = upper(p.RunType, e.RunType, a.label)
		a.endRun(e, p)
	})
	if err != nil || !isNew {
		return err
	}
	if err := f.cost(e, p.Cost); err != nil {
		return err
	}
	return f.tokens(e, runLevel, "", e.AgentRole, p.TokensUsed)
}

func (f *fold) stepFinished(e events.Event, p events.StepFinishedData) error {
	role := upper(p.AgentRole, e.AgentRole)
	k := activityKey{stepActivity, e.Tenant, e.Run, firstOf(e.Step, e.ID)}
	isNew, err := f.change(k, e, func(a *activity) {
		if e.Time.Before(a.ended) {
			return
		}
		a.label, a.status = upper(role, a.label), string(p.StepStatus)
		a.ended, a.measured = e.Time, milliseconds(p.DurationMS)
		if p.StepStatus.Open() {
			a.status = active
		}
	})
	if err != nil || !isNew {
		return err
	}
	return f.tokens(e, stepLevel, k.id, role, p.TokensUsed)
}

func (f *fold) toolBefore(e events.Event, p events.ToolBeforeData) error {
	_, err := f.change(activityKey{callActivity, e.Tenant, e.Run, firstOf(e.ToolCall, e.ID)}, e, func(a *activity) {
		a.label = events.ToolName(a.label, p.Tool)
		if a.started.IsZero() || e.Time.Before(a.started) {
			a.started = e.Time
		}
		switch {
		case e.DeniesCall():
			a.status = withDenial(a.status)
		case a.status == "":
			a.status = active
		}
	})
	return err
}

func (f *fold) approval(e events.Event) error {
	if e.ToolCall == "" || !e.DeniesCall() {
		return nil
	}
	_, err := f.change(activityKey{callActivity, e.Tenant, e.Run, e.ToolCall}, e, func(a *activity) {
		p, _ := events.Payload[events.ApprovalData](e)
		a.label, a.status = firstOf(a.label, p.Tool), withDenial(a.status)
	})
	return err
}

func (f *fold) toolResult(e events.Event, p events.ToolResultData) error {
	_, err := f.change(activityKey{callActivity, e.Tenant, e.Run, firstOf(e.ToolCall, e.ID)}, e, func(a *activity) {
		a.label = events.ToolName(a.label, p.Tool)
		if a.ended.IsZero() || e.Time.Before(a.ended) {
			a.ended = e.Time
		}
		a.measured = max(a.measured, milliseconds(p.DurationMS))
		a.status = withResult(a.status, p.Status)
	})
	return err
}

func (f *fold) responseCompleted(e events.Event, p events.ResponseCompletedData) error {
	k := activityKey{responseActivity, e.Tenant, e.Run, firstOf(p.Message, e.ID)}
	isNew, err := f.change(k, e, func(*activity) {})
	if err != nil || !isNew {
		return err
	}
	if p.Telemetry { // counts only without other responses
		return f.tokens(e, stepLevel, "telemetry "+k.id, e.AgentRole, p.TokensUsed)
	}
	return f.tokens(e, responseLevel, k.id, e.AgentRole, p.TokensUsed)
}

func (f *fold) hookExecuted(e events.Event, p events.HookExecutedData) error {
	return f.failures(e, []events.Execution{p.Execution})
}

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
	isNew, err := f.change(activityKey{dispatchActivity, e.Tenant, e.Run, e.ID}, e, func(*activity) {})
	if err != nil || !isNew {
		return err
	}
	for _, x := range executions {
		if !x.Success {
			f.series.add(hookFailures, 1, e.Tenant, firstOf(string(x.Point), string(e.Kind())), firstOf(x.Name, x.Hook))
		}
	}
	return nil
}

func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), maxDuration.Milliseconds())) * time.Millisecond
}

func upper(values ...string) string { return strings.ToUpper(firstOf(values...)) }

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
