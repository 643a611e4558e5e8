package agentfs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type projector struct {
	calls    *toolCalls
	values   *keyValues
	payloads *payloads
}

type projection struct {
	kind    events.Kind
	project func(*projector, events.Event) error
}

var projections = []projection{
	{events.RunStarted, decoded((*projector).runStarted)},
	{events.StepFinished, decoded((*projector).stepFinished)},
	{events.RunFinished, decoded((*projector).runFinished)},
	{events.ToolBefore, decoded((*projector).toolBefore)},
	{events.ToolResult, decoded((*projector).toolResult)},
	{events.BlobChunk, decoded((*projector).blobChunk)},
}

// decoded skips invalid payloads instead of failing, because any producer can send one.
func decoded[T any](apply func(*projector, events.Event, T) error) func(*projector, events.Event) error {
	return func(p *projector, e events.Event) error {
		payload, err := events.Payload[T](e)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		return apply(p, e, payload)
	}
}

func (p *projector) project(leaf int64, e events.Event) error {
	p.calls.leaf = leaf
	for _, known := range projections {
		if known.kind != e.Kind() {
			continue
		}
		if err := p.reopen(e); err != nil {
			return fmt.Errorf("leaf %d: %w", leaf, err)
		}
		if err := known.project(p, e); err != nil {
			return fmt.Errorf("leaf %d: %w", leaf, err)
		}
		return nil
	}
	return nil
}

func isProjected(e events.Event) bool {
	return e.Run != "" && e.Enabled("agentfs") &&
		slices.ContainsFunc(projections, func(p projection) bool { return p.kind == e.Kind() })
}

func (p *projector) runStarted(e events.Event, data events.RunStartedData) error {
	if known, err := p.values.sources(metaKey(e.Run)); err != nil || known.startedBy.isNewer(originOf(e)) {
		return err
	}
	params := facts(e, data.RunType, data.AgentRole)
	params["input"] = data.InputSummary
	if err := p.calls.put(row{
		key: rowKey("start", e.Run, ""), name: "gwi:run:start", status: success,
		parameters: object(params), result: object(map[string]any{"status": "running"}),
		started: e.Time, ended: e.Time,
	}); err != nil {
		return err
	}
	context, err := p.payloads.context(e, runPath(e.Run))
	if err != nil {
		return err
	}
	context["started_at"] = e.Time
	return p.mergeMeta(e, func(s *sources) { s.started, s.startedBy = object(context), originOf(e) })
}

func (p *projector) runFinished(e events.Event, data events.RunFinishedData) error {
	if known, err := p.values.sources(metaKey(e.Run)); err != nil || known.keepsEnd(e, data) {
		return err
	}
	state, r := "completed", row{key: rowKey("end", e.Run, ""), name: "gwi:run:complete", status: success}
	switch data.Status() {
	case events.RunCompleted:
	case events.RunInterrupted, events.RunUnknown: // neither a success nor a failure
		state, r.name = string(data.Status()), "gwi:run:end"
	case events.RunFailed:
		state, r.name, r.status = "failed", "gwi:run:fail", failed
		r.failure = failureText(data.Error, data.OutputSummary, "run failed")
	}
	r.parameters = object(facts(e, data.RunType, e.AgentRole))
	r.started, r.ended = e.Time.Add(-milliseconds(data.DurationMS)), e.Time
	output, err := p.payloads.field(e, data.Blobs, "output_summary", text(data.OutputSummary), runPath(e.Run)+"/output.json")
	if err != nil {
		return err
	}
	r.result = object(map[string]any{
		"status": state, "output": output, "duration_ms": data.DurationMS, "tokens_used": data.TokensUsed,
		"steps": data.Steps, "tool_calls": data.ToolCalls, "tool_errors": data.ToolErrors,
		"tool_denied": data.ToolDenied, "tool_interrupted": data.ToolInterrupted,
	})
	if r.failure, err = p.payloads.errorText(r.failure, runPath(e.Run), e.Time); err != nil {
		return err
	}
	if err := p.calls.put(r); err != nil {
		return err
	}
	context, err := p.payloads.context(e, runPath(e.Run))
	if err != nil {
		return err
	}
	context["status"], context["finished_at"] = state, e.Time
	if data.IsPause() && !(events.RunEnd{Source: e.Source, Data: data}).EndsTurn() {
		context["reason"] = data.Reason
	}
	return p.mergeMeta(e, func(s *sources) { s.finished, s.finishedBy = object(context), originOf(e) })
}

// reopen removes an end by silence if e shows that the run continued.
func (p *projector) reopen(e events.Event) error {
	if e.Kind() == events.RunFinished || e.Kind() == events.BlobChunk {
		return nil
	}
	if s, err := p.values.sources(metaKey(e.Run)); err != nil || !s.pausedBefore(e.Time) {
		return err
	}
	if err := p.calls.remove(rowKey("end", e.Run, "")); err != nil {
		return err
	}
	return p.mergeMeta(e, func(s *sources) { s.finished = nil })
}

func metaKey(run string) string       { return "runs:" + keyPart(run) + ":meta" }
func stepKey(run, step string) string { return "steps:" + keyPart(run) + ":" + keyPart(step) }

func (p *projector) mergeMeta(e events.Event, change func(*sources)) error {
	key := metaKey(e.Run)
	s, err := p.values.sources(key)
	if err != nil {
		return err
	}
	change(&s)
	if err := p.values.saveSources(key, s); err != nil {
		return err
	}
	meta := map[string]json.RawMessage{"status": json.RawMessage(`"running"`)}
	for _, part := range [][]byte{s.started, s.finished} {
		if len(part) == 0 {
			continue
		}
		if err := json.Unmarshal(part, &meta); err != nil {
			return fmt.Errorf("merge run: %w", err)
		}
	}
	value, err := p.payloads.bounded(object(meta), runPath(e.Run)+"/meta.json", e.Time)
	if err != nil {
		return err
	}
	return p.values.set(key, value, e.Time)
}

func (p *projector) stepFinished(e events.Event, data events.StepFinishedData) error {
	step := cmp.Or(e.Step, e.ID)
	if known, err := p.values.sources(stepKey(e.Run, step)); err != nil || known.finishedBy.isNewer(originOf(e)) {
		return err
	}
	role := cmp.Or(data.AgentRole, e.AgentRole, "agent")
	path := stepPath(e.Run, step)
	input, err := p.payloads.field(e, data.Blobs, "input_summary", text(data.InputSummary), path+"/input.json")
	if err != nil {
		return err
	}
	output, err := p.payloads.field(e, data.Blobs, "output_summary", text(data.OutputSummary), path+"/output.json")
	if err != nil {
		return err
	}
	params := facts(e, data.RunType, role)
	params["step_id"], params["input"] = step, input
	r := row{
		key: rowKey("step", e.Run, step), name: "gwi:" + keyPart(strings.ToLower(role)) + ":step",
		parameters: object(params), status: success,
		result: object(map[string]any{
			"status": data.StepStatus, "output": output, "duration_ms": data.DurationMS, "tokens_used": data.TokensUsed,
		}),
		started: e.Time.Add(-milliseconds(data.DurationMS)), ended: e.Time,
	}
	switch data.StepStatus {
	case events.StepPending, events.StepRunning:
		r.status, r.ended = pending, time.Time{}
	case events.StepFailed:
		r.status = failed
		if r.failure, err = p.payloads.errorText(failureText(data.Error, data.OutputSummary, "step failed"), path, e.Time); err != nil {
			return err
		}
	case events.StepCompleted, events.StepSkipped, events.StepInterrupted, events.StepUnknown:
	}
	if err := p.calls.put(r); err != nil {
		return err
	}
	return p.putStep(e, step, role, path)
}

func (p *projector) putStep(e events.Event, step, role, path string) error {
	context, err := p.payloads.context(e, path)
	if err != nil {
		return err
	}
	context["step_id"], context["agent_role"] = step, role
	value, err := p.payloads.bounded(object(context), path+"/context.json", e.Time)
	if err != nil {
		return err
	}
	key := stepKey(e.Run, step)
	if err := p.values.saveSources(key, sources{finishedBy: originOf(e)}); err != nil {
		return err
	}
	return p.values.set(key, value, e.Time)
}

func milliseconds(n int64) time.Duration {
	return time.Duration(min(max(n, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}

func (p *projector) blobChunk(e events.Event, data events.BlobChunkData) error {
	return p.payloads.addChunk(e, data)
}
