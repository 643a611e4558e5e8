package agentfs

import (
	"cmp"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// toolBefore writes the row of a tool call, or completes the row if the result came first. A denied
// call becomes a failed row, because it never gets a result.
func (p *projector) toolBefore(e events.Event, data events.ToolBeforeData) error {
	key := rowKey("tool", e.Run, cmp.Or(e.ToolCall, e.ID))
	path := toolPath(e)
	args, err := p.payloads.field(e, data.Blobs, "args", raw(data.Args), path+"/args.json")
	if err != nil {
		return err
	}
	r := row{key: key, name: toolName(data.Tool), status: pending, started: e.Time}
	if args != nil {
		r.parameters = object(args)
	}
	old, ok, err := p.calls.find(key)
	if err != nil {
		return err
	}
	switch {
	case ok && old.status != pending:
		return p.calls.setCall(old.id, r)
	case data.Verdict == events.VerdictDeny:
		r.status, r.ended, r.failure = failed, e.Time, "denied"
		if data.Reason != "" {
			r.failure = "denied: " + data.Reason
		}
	}
	return p.calls.put(r)
}

func (p *projector) toolResult(e events.Event, data events.ToolResultData) error {
	key, path := rowKey("tool", e.Run, cmp.Or(e.ToolCall, e.ID)), toolPath(e)
	r := row{key: key, name: toolName(data.Tool), status: success, ended: e.Time, started: e.Time.Add(-milliseconds(data.DurationMS))}
	old, ok, err := p.calls.find(key)
	if err != nil {
		return err
	}
	if ok {
		r.started, r.parameters = old.started, old.parameters
		if data.Tool == "" {
			r.name = old.name
		}
	}
	if r.ended.Before(r.started) {
		r.ended = r.started
	}
	output, err := p.payloads.field(e, data.Blobs, "result", raw(data.Result), path+"/result.json")
	if err != nil {
		return err
	}
	r.result = object(map[string]any{"status": data.Status, "output": output, "duration_ms": durationMS(data, r.ended.Sub(r.started))})
	if data.Status != events.ToolSuccess {
		r.status = failed
		if r.failure, err = p.payloads.errorText(outcomeText(data), path, e.Time); err != nil {
			return err
		}
	}
	return p.calls.put(r)
}

// outcomeText returns the error text of a call without success. The format has no status for a call
// that was refused or interrupted, so the text begins with that word, as for calls that our hooks
// denied.
func outcomeText(data events.ToolResultData) string {
	text := failureText(data.Error, resultText(data.Result), "tool failed")
	switch data.Status {
	case events.ToolDenied:
		if data.DeniedBy != "" {
			return "denied by " + string(data.DeniedBy) + ": " + text
		}
		return "denied: " + text
	case events.ToolInterrupted:
		return "interrupted: " + text
	case events.ToolSuccess, events.ToolError:
	}
	return text
}

func durationMS(data events.ToolResultData, between time.Duration) float64 {
	if data.DurationMS > 0 {
		return float64(data.DurationMS)
	}
	return float64(between) / float64(time.Millisecond)
}

func toolName(tool string) string { return "tool:" + cmp.Or(tool, "unknown") }
