package agentfs

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// projections are the kinds that become rows, and how.
var projections = []struct {
	kind    events.Kind
	project func(*file, events.Event) error
}{
	{events.RunStarted, decoded((*file).runStarted)},
	{events.StepFinished, decoded((*file).stepFinished)},
	{events.RunFinished, decoded((*file).runFinished)},
	{events.ToolBefore, decoded((*file).toolBefore)},
	{events.ToolResult, decoded((*file).toolResult)},
	{events.BlobChunk, decoded((*file).blobChunk)},
}

// decoded hands apply the payload of an event. One that cannot be read leaves
// no row: the evidence of it is in the ledger.
func decoded[T any](apply func(*file, events.Event, T) error) func(*file, events.Event) error {
	return func(f *file, e events.Event) error {
		payload, err := events.Payload[T](e)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		return apply(f, e, payload)
	}
}

// project writes the rows of e.
func (f *file) project(e events.Event) error {
	for _, p := range projections {
		if p.kind == e.Kind() {
			return p.project(f, e)
		}
	}
	return nil
}

// isProjected reports whether e becomes rows.
func isProjected(e events.Event) bool {
	if e.Run == "" || !e.Enabled("agentfs") {
		return false
	}
	for _, p := range projections {
		if p.kind == e.Kind() {
			return true
		}
	}
	return false
}

func (f *file) runStarted(e events.Event, p events.RunStartedData) error {
	if known, err := f.loadParts(metaKey(e.Run)); err != nil || known.startedBy.isNewer(originOf(e)) {
		return err
	}
	params := facts(e, p.RunType, p.AgentRole)
	params["input"] = p.InputSummary
	if err := f.put(row{
		key: rowKey("start", e.Run, ""), name: "gwi:run:start", status: success,
		parameters: object(params), result: object(map[string]any{"status": "running"}),
		started: e.Time, ended: e.Time,
	}); err != nil {
		return err
	}
	context, err := f.context(e, runPath(e.Run))
	if err != nil {
		return err
	}
	context["started_at"] = e.Time
	return f.mergeMeta(e, func(p *parts) { p.started, p.startedBy = object(context), originOf(e) })
}

func (f *file) runFinished(e events.Event, p events.RunFinishedData) error {
	if known, err := f.loadParts(metaKey(e.Run)); err != nil || known.finishedBy.isNewer(originOf(e)) {
		return err
	}
	state, r := "completed", row{key: rowKey("end", e.Run, ""), name: "gwi:run:complete", status: success}
	if !p.Success {
		state, r.name, r.status = "failed", "gwi:run:fail", failed
		r.failure = failureText(p.Error, p.OutputSummary, "run failed")
	}
	r.parameters = object(facts(e, p.RunType, e.AgentRole))
	r.started, r.ended = e.Time.Add(-milliseconds(p.DurationMS)), e.Time
	output, err := f.field(e, p.Blobs, "output_summary", text(p.OutputSummary), runPath(e.Run)+"/output.json")
	if err != nil {
		return err
	}
	r.result = object(map[string]any{
		"status": state, "output": output, "duration_ms": p.DurationMS, "tokens_used": p.TokensUsed,
		"steps": p.Steps, "tool_calls": p.ToolCalls, "tool_errors": p.ToolErrors,
	})
	if r.failure, err = f.failure(r.failure, runPath(e.Run), e.Time); err != nil {
		return err
	}
	if err := f.put(r); err != nil {
		return err
	}
	context, err := f.context(e, runPath(e.Run))
	if err != nil {
		return err
	}
	context["status"], context["finished_at"] = state, e.Time
	return f.mergeMeta(e, func(p *parts) { p.finished, p.finishedBy = object(context), originOf(e) })
}

func metaKey(run string) string       { return "runs:" + keyPart(run) + ":meta" }
func stepKey(run, step string) string { return "steps:" + keyPart(run) + ":" + keyPart(step) }

// mergeMeta writes what is known of a run: its start, and over it the latest
// end.
func (f *file) mergeMeta(e events.Event, change func(*parts)) error {
	key := metaKey(e.Run)
	p, err := f.loadParts(key)
	if err != nil {
		return err
	}
	change(&p)
	if err := f.saveParts(key, p); err != nil {
		return err
	}
	meta := map[string]json.RawMessage{"status": json.RawMessage(`"running"`)}
	for _, part := range [][]byte{p.started, p.finished} {
		if len(part) == 0 {
			continue
		}
		if err := json.Unmarshal(part, &meta); err != nil {
			return fmt.Errorf("merge run: %w", err)
		}
	}
	value, err := f.bounded(object(meta), runPath(e.Run)+"/meta.json", e.Time)
	if err != nil {
		return err
	}
	return f.set(key, value, e.Time)
}

func (f *file) stepFinished(e events.Event, p events.StepFinishedData) error {
	step := e.Step
	if step == "" {
		step = e.ID
	}
	if known, err := f.loadParts(stepKey(e.Run, step)); err != nil || known.finishedBy.isNewer(originOf(e)) {
		return err
	}
	role := firstOf(p.AgentRole, e.AgentRole, "agent")
	path := stepPath(e.Run, step)
	input, err := f.field(e, p.Blobs, "input_summary", text(p.InputSummary), path+"/input.json")
	if err != nil {
		return err
	}
	output, err := f.field(e, p.Blobs, "output_summary", text(p.OutputSummary), path+"/output.json")
	if err != nil {
		return err
	}
	params := facts(e, p.RunType, role)
	params["step_id"], params["input"] = step, input
	r := row{
		key: rowKey("step", e.Run, step), name: "gwi:" + keyPart(strings.ToLower(role)) + ":step",
		parameters: object(params), status: success,
		result: object(map[string]any{
			"status": p.StepStatus, "output": output, "duration_ms": p.DurationMS, "tokens_used": p.TokensUsed,
		}),
		started: e.Time.Add(-milliseconds(p.DurationMS)), ended: e.Time,
	}
	switch p.StepStatus {
	case events.StepPending, events.StepRunning:
		r.status, r.ended = pending, time.Time{}
	case events.StepFailed:
		r.status = failed
		if r.failure, err = f.failure(failureText(p.Error, p.OutputSummary, "step failed"), path, e.Time); err != nil {
			return err
		}
	case events.StepCompleted, events.StepSkipped:
	}
	if err := f.put(r); err != nil {
		return err
	}
	return f.stepContext(e, step, role, path)
}

// stepContext writes the whole of a step to the key-value store.
func (f *file) stepContext(e events.Event, step, role, path string) error {
	context, err := f.context(e, path)
	if err != nil {
		return err
	}
	context["step_id"], context["agent_role"] = step, role
	value, err := f.bounded(object(context), path+"/context.json", e.Time)
	if err != nil {
		return err
	}
	key := stepKey(e.Run, step)
	if err := f.saveParts(key, parts{finishedBy: originOf(e)}); err != nil {
		return err
	}
	return f.set(key, value, e.Time)
}

// milliseconds returns a duration as an event tells it, the longest there is where
// that is longer.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
