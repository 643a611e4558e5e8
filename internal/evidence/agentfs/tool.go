package agentfs

import (
	"cmp"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (p *projector) toolBefore(e events.Event, data events.ToolBeforeData) error {
	key := rowKey("tool", e.Run, cmp.Or(e.ToolCall, e.ID))
	old, ok, err := p.calls.find(key)
	if err != nil {
		return err
	}
	r := row{key: key, name: toolName(data.Tool), status: pending, started: e.Time}
	if ok {
		r.merge(old)
	}
	// A file for arguments that the row does not show would replace the file of those it shows.
	if len(data.PatchedArgs) > 0 || len(r.parameters) == 0 {
		args, err := p.payloads.field(e, data.Blobs, "args", raw(data.CallArgs()), toolPath(e)+"/args.json")
		if err != nil {
			return err
		}
		if args != nil {
			r.parameters = object(args)
		}
	}
	switch {
	case data.Verdict != events.VerdictDeny && ok && old.status != pending:
		return p.calls.setCall(old.id, r)
	case data.Verdict == events.VerdictDeny:
		r.status, r.outcome, r.ended, r.failure = failed, deniedByHooks, e.Time, deniedText
		if data.Reason != "" {
			r.failure = deniedText + ": " + data.Reason
		}
	}
	return p.calls.put(r)
}

func (r *row) merge(old storedRow) {
	r.parameters = old.parameters
	r.name = knownName(old.name, r.name)
	if old.started.Before(r.started) {
		r.started = old.started
	}
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
		r.name = knownName(old.name, r.name)
	}
	if r.ended.Before(r.started) {
		r.ended = r.started
	}
	r.outcome = string(data.Status)
	if ok && isStronger(old, r) {
		return p.calls.setCall(old.id, r)
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

const deniedText = "denied"

func isStronger(old storedRow, r row) bool {
	if old.status == pending || old.outcome == deniedByHooks {
		return old.status != pending
	}
	before, now := events.ToolStatus(old.outcome), events.ToolStatus(r.outcome)
	return before != now && before.Stronger(now) == before
}

// Rows of earlier versions have no outcome, so outcomeOf derives it from the error text.
func outcomeOf(s status, failure string) string {
	switch {
	case s == success:
		return string(events.ToolSuccess)
	case failure == deniedText, strings.HasPrefix(failure, deniedText+": "):
		return deniedByHooks
	case strings.HasPrefix(failure, deniedText+" by "):
		return string(events.ToolDenied)
	case strings.HasPrefix(failure, "interrupted: "):
		return string(events.ToolInterrupted)
	}
	return string(events.ToolError)
}

func knownName(a, b string) string {
	switch unknown := toolName(""); unknown {
	case a:
		return b
	case b:
		return a
	}
	return events.ToolName(a, b)
}

// outcomeText begins with "denied" or "interrupted", because the AgentFS format has no such
// status.
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
