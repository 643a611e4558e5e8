package agents

import (
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type toolCall struct {
	id   string // empty if the tool sends none
	name string
	args json.RawMessage
}

type result struct {
	output     json.RawMessage
	failure    *events.Failure
	exit       *int
	durationMS int64

	refused events.ToolStatus // denied or interrupted, otherwise empty
	by      events.DeniedBy
}

func (r result) status() events.ToolStatus {
	switch {
	case r.refused != "":
		return r.refused
	case r.failure != nil:
		return events.ToolError
	}
	return events.ToolSuccess
}

func (r result) hookStatus() events.ToolStatus {
	if r.status() == events.ToolSuccess {
		return events.ToolSuccess
	}
	return events.ToolError
}

type callEvents struct {
	b    *builder
	call toolCall
}

func (b *builder) call(c toolCall) callEvents { return callEvents{b, c} }

func (b *builder) session() string {
	return ingest.SessionKey(b.context.Tenant, b.tool.name, b.scope.run)
}

func (e callEvents) key() Key {
	return Key{Session: e.b.session(), Call: ingest.CallKey(e.call.name, e.call.args)}
}

func (e callEvents) before() {
	e.b.settle()
	id, ids := ident(e.call.id), e.b.context.CallIDs
	switch k := e.key(); {
	case ids != nil && (id == "" || e.asksWithoutID()):
		if id == "" {
			id = ids.Call(k, e.b.identity)
		} else {
			ids.Stated(k, id)
		}
		e.b.p.denied = func() { ids.Denied(k, id) }
	case id == "":
		id = firstCall(k)
	}
	data := events.ToolBeforeData{Tool: e.call.name, Args: e.call.args}
	e.b.main(e.b.scope, events.ToolBefore, id, data)
	args := hooks.FromRaw(e.call.args)
	e.b.decides(hooks.Document{Tool: e.call.name, Args: args}, func(o events.Outcome, out hooks.DocumentOutcome) any {
		data.Outcome = o
		if now, changed := patched(args, out.Args); changed {
			data.PatchedArgs = now.Raw()
		}
		return data
	})
}

func patched(before, after hooks.JSON) (hooks.JSON, bool) {
	if after == "" || after == before || ingest.CanonicalJSON(after.Raw()) == ingest.CanonicalJSON(before.Raw()) {
		return before, false
	}
	return after, true
}

func (e callEvents) resultID(r result) string {
	id := ident(e.call.id)
	switch k, ids := e.key(), e.b.context.CallIDs; {
	case ids != nil && id == "":
		return ids.Result(k, e.b.identity, r.refused == events.ToolDenied && r.by != events.DeniedByUser)
	case ids != nil && e.asksWithoutID():
		ids.StatedResult(k, id)
	case id == "":
		return firstCall(k)
	}
	return id
}

func (e callEvents) after(r result) {
	e.b.settle()
	id := e.resultID(r)
	data := events.ToolResultData{
		Tool: e.call.name, Status: r.status(), DeniedBy: r.by, Result: r.output, Error: r.failure, ExitCode: r.exit, DurationMS: r.durationMS,
	}
	e.b.main(e.b.scope, events.ToolResult, id, data)
	d := hooks.Document{
		Tool: e.call.name, Args: hooks.FromRaw(e.call.args), Result: hooks.FromRaw(r.output),
		Payload: document(hooks.ToolOutcome{Status: r.hookStatus(), ExitCode: r.exit}),
	}
	if r.failure != nil {
		d.Error = r.failure.Message
	}
	e.b.decides(d, func(o events.Outcome, out hooks.DocumentOutcome) any {
		data.Outcome = o
		if now, ok := outcomeOf(out); ok {
			data.Suppress = now.Suppress
			if now.Status != r.hookStatus() {
				data.Status, data.DeniedBy = now.Status, ""
			}
			if now.Error != d.Error {
				data.Error = &events.Failure{Message: ingest.Clip(now.Error, maxSummary)}
			}
			if now.Status == events.ToolSuccess {
				data.Error = nil
			}
		}
		if now, changed := e.b.p.newResult(out); changed {
			data.Result = now.Raw()
		}
		return data
	})
}

// asksWithoutID reports whether the agent sends the ids of calls, except when it asks a person
// about a call.
func (e callEvents) asksWithoutID() bool { return claudeLike[e.b.tool.name] }

func (e callEvents) approval(prompt string) {
	e.b.settle()
	if k, identity, ids := e.key(), e.b.identity, e.b.context.CallIDs; ids != nil && e.call.id == "" {
		e.b.p.deniedCall = func() string { return ids.DenyOpen(k, identity) }
	}
	data := events.ApprovalData{Tool: e.call.name, Args: e.call.args, Prompt: prompt}
	e.b.main(e.b.scope, events.Approval, ident(e.call.id), data)
	e.b.decides(hooks.Document{Tool: e.call.name, Args: hooks.FromRaw(e.call.args), Payload: document(struct {
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

func (e callEvents) denied(reason string) {
	e.b.main(e.b.scope, events.Approval, ident(e.call.id), events.ApprovalData{
		Tool: e.call.name, Args: e.call.args, Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: reason},
	})
}

var resultMembers = []string{"tool_response", "tool_result", "toolResult", "output", "error"}

func outcomeOf(o hooks.DocumentOutcome) (hooks.ToolOutcome, bool) {
	var now hooks.ToolOutcome
	err := o.Value.Decode(&now)
	return now, err == nil && now.Status != ""
}

func (p Payload) newResult(o hooks.DocumentOutcome) (hooks.JSON, bool) {
	now, ok := outcomeOf(o)
	if p.Document.Point != events.ToolResult || !ok {
		return "", false
	}
	if now.Result == "" && p.Document.Result != "" {
		return document(cmp.Or(now.Error, "result withheld")), true
	}
	return patched(p.Document.Result, now.Result)
}

func (p Payload) changesResult(o hooks.DocumentOutcome) bool {
	now, ok := outcomeOf(o)
	_, changed := p.newResult(o)
	return changed || ok && p.Document.Point == events.ToolResult && now.Error != p.Document.Error
}
