package agentfs

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// toolBefore writes a call that waits for its result, or adds the arguments to
// one whose result came first. A denied call has no result: it is an error.
func (f *file) toolBefore(e events.Event, p events.ToolBeforeData) error {
	key := rowKey("tool", e.Run, firstOf(e.ToolCall, e.ID))
	path := toolPath(e)
	args, err := f.field(e, p.Blobs, "args", raw(p.Args), path+"/args.json")
	if err != nil {
		return err
	}
	r := row{key: key, name: toolName(p.Tool), status: pending, started: e.Time}
	if args != nil {
		r.parameters = object(args)
	}
	k, ok, err := f.find(key)
	if err != nil {
		return err
	}
	switch {
	case ok && k.status != pending:
		return f.addCall(k, r)
	case p.Verdict == events.VerdictDeny:
		r.status, r.ended, r.failure = failed, e.Time, "denied"
		if p.Reason != "" {
			r.failure = "denied: " + p.Reason
		}
	}
	return f.put(r)
}

// addCall adds a call's name and arguments to the row of its result.
func (f *file) addCall(k known, r row) error {
	var parameters any
	if len(r.parameters) > 0 {
		parameters = text(string(r.parameters))
	}
	return f.exec(`UPDATE tool_calls SET name = ?, parameters = ? WHERE id = ?`, text(r.name), parameters, k.id)
}

// toolResult completes the row of its call, or makes one for a result without.
func (f *file) toolResult(e events.Event, p events.ToolResultData) error {
	key, path := rowKey("tool", e.Run, firstOf(e.ToolCall, e.ID)), toolPath(e)
	r := row{key: key, name: toolName(p.Tool), status: success, ended: e.Time, started: e.Time.Add(-milliseconds(p.DurationMS))}
	k, ok, err := f.find(key)
	if err != nil {
		return err
	}
	if ok {
		r.started, r.parameters = k.started, k.parameters
		if p.Tool == "" {
			r.name = k.name
		}
	}
	if r.ended.Before(r.started) {
		r.ended = r.started
	}
	output, err := f.field(e, p.Blobs, "result", raw(p.Result), path+"/result.json")
	if err != nil {
		return err
	}
	r.result = object(map[string]any{"status": p.Status, "output": output, "duration_ms": exact(p, r.ended.Sub(r.started))})
	if p.Status == events.ToolError {
		r.status = failed
		if r.failure, err = f.failure(failureText(p.Error, resultText(p.Result), "tool failed"), path, e.Time); err != nil {
			return err
		}
	}
	return f.put(r)
}

// exact returns a call's duration in milliseconds: as its tool measured it,
// else as the times of its two events tell.
func exact(p events.ToolResultData, between time.Duration) float64 {
	if p.DurationMS > 0 {
		return float64(p.DurationMS)
	}
	return float64(between) / float64(time.Millisecond)
}

func toolName(tool string) string { return "tool:" + firstOf(tool, "unknown") }
