package agents

import (
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// call is a tool call as a payload tells of it.
type call struct {
	id   string // empty where the tool gives none
	tool string
	args json.RawMessage
}

// end is how a tool call ended.
type end struct {
	result     json.RawMessage
	failure    *events.Failure // nil: it succeeded
	exit       *int
	durationMS int64
}

func (e end) status() events.ToolStatus {
	if e.failure != nil {
		return events.ToolError
	}
	return events.ToolSuccess
}

// key returns what pairs a call without an id.
func (b *build) key(c call) Key {
	return Key{
		Session: b.session(),
		Call:    policy.CanonicalTool(c.tool) + " " + canonicalJSON(c.args),
	}
}

// session returns what no session of anyone else has.
func (b *build) session() string { return b.c.Tenant + "\x00" + b.tool.name + "\x00" + b.here.run }

// toolBefore is a call that is about to run.
func (b *build) toolBefore(c call) {
	b.settle()
	id := ident(c.id)
	switch k := b.key(c); {
	case id == "" && b.c.Pairs != nil:
		id = b.c.Pairs.Call(k, b.mark)
		b.p.denied = func() { b.c.Pairs.Denied(k, id) }
	case id == "":
		id = firstCall(k)
	}
	data := events.ToolBeforeData{Tool: c.tool, Args: c.args}
	b.main(b.here, events.ToolBefore, id, data)
	asked := hooks.FromRaw(c.args)
	b.decides(hooks.Document{Tool: c.tool, Args: asked}, func(o events.Outcome, out hooks.DocumentOutcome) any {
		data.Outcome = o
		if args, changed := patched(asked, out.Args); changed {
			data.PatchedArgs = args.Raw()
		}
		return data
	})
}

// patched returns the arguments that a call goes on with, and whether they are
// others than those that it came with.
func patched(asked, now hooks.JSON) (hooks.JSON, bool) {
	if now == "" || now == asked || canonicalJSON(now.Raw()) == canonicalJSON(asked.Raw()) {
		return asked, false
	}
	return now, true
}

// toolAfter is a call that has ended.
func (b *build) toolAfter(c call, e end) {
	b.settle()
	id := ident(c.id)
	switch k := b.key(c); {
	case id == "" && b.c.Pairs != nil:
		id = b.c.Pairs.Result(k, b.mark)
	case id == "":
		id = firstCall(k)
	}
	data := events.ToolResultData{
		Tool: c.tool, Status: e.status(), Result: e.result, Error: e.failure, ExitCode: e.exit, DurationMS: e.durationMS,
	}
	b.main(b.here, events.ToolResult, id, data)
	told := hooks.ToolOutcome{Status: data.Status, ExitCode: e.exit}
	d := hooks.Document{Tool: c.tool, Args: hooks.FromRaw(c.args), Result: hooks.FromRaw(e.result), Payload: document(told)}
	if e.failure != nil {
		d.Error = e.failure.Message
	}
	b.decides(d, func(o events.Outcome, out hooks.DocumentOutcome) any {
		data.Outcome = o
		if now, ok := ended(out); ok {
			data.Suppress, data.Status = now.Suppress, now.Status
			if now.Error != d.Error {
				data.Error = &events.Failure{Message: clip(now.Error, maxSummary)}
			}
			if now.Status == events.ToolSuccess {
				data.Error = nil
			}
		}
		if now, changed := b.p.newResult(out); changed {
			data.Result = now.Raw()
		}
		return data
	})
}

// resultMembers are the members of payloads that hold the result of a call.
var resultMembers = []string{"tool_response", "tool_result", "toolResult", "output", "error"}

// ended returns how a call ended after hooks have looked at it.
func ended(o hooks.DocumentOutcome) (hooks.ToolOutcome, bool) {
	var now hooks.ToolOutcome
	err := o.Value.Decode(&now)
	return now, err == nil && now.Status != ""
}

// newResult returns the result that hooks have put in the place of the call's,
// and whether they have. One that they withhold is the text that says so.
func (p Payload) newResult(o hooks.DocumentOutcome) (hooks.JSON, bool) {
	now, ok := ended(o)
	if p.Document.Point != events.ToolResult || !ok {
		return "", false
	}
	if now.Result == "" && p.Document.Result != "" {
		return document(cmp.Or(now.Error, "result withheld")), true
	}
	return patched(p.Document.Result, now.Result)
}

// changesEnd tells whether hooks have put anything in the place of how a call
// ended.
func (p Payload) changesEnd(o hooks.DocumentOutcome) bool {
	now, ok := ended(o)
	_, changed := p.newResult(o)
	return changed || ok && p.Document.Point == events.ToolResult && now.Error != p.Document.Error
}

// approvalAsked is a question to a person about a call.
func (b *build) approvalAsked(c call, prompt string) {
	data := events.ApprovalData{Tool: c.tool, Args: c.args, Prompt: prompt}
	b.main(b.here, events.Approval, ident(c.id), data)
	b.decides(hooks.Document{Tool: c.tool, Args: hooks.FromRaw(c.args), Payload: document(struct {
		Prompt string `json:"prompt,omitempty"`
	}{prompt})}, func(o events.Outcome, out hooks.DocumentOutcome) any {
		var patch hooks.ApprovalPatch
		if out.Value.Decode(&patch) == nil {
			data.Selected = patch.Selected
		}
		data.Outcome = o
		return data
	})
}

// toolDenied is a call that the tool itself has denied.
func (b *build) toolDenied(c call, reason string) {
	b.main(b.here, events.Approval, ident(c.id), events.ApprovalData{
		Tool: c.tool, Args: c.args, Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: reason},
	})
}
