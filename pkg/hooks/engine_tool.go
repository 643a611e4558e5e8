package hooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Tool calls fn for a tool call. The arguments pass through the hooks of tool.before, and the
// outcome through the hooks of tool.result. If a hook returns Ask, a hook of [Approval] must allow
// the call. If fn fails, the hooks of error decide about a retry.
//
// fn returns a *[RefusedError] if it refuses the call, and an error that wraps [ErrInterrupted] if
// the call was stopped. The hooks of error do not see these.
//
// Tool returns an error only if fn was not called, which is a *[DeniedError] or the error of ctx.
// The outcome then contains the message for the agent. Errors and panics of fn are part of the
// outcome.
func (e *Engine) Tool(ctx context.Context, call ToolCall, fn func(context.Context, ToolCall) (JSON, error)) (out ToolOutcome, err error) {
	if call.ID == "" {
		call.ID = events.NewID()
	}
	at := e.at(ctx)
	at.meta.ToolCall = call.ID
	ctx = at.within(ctx)
	before := ToolBefore.Dispatch(ctx, e.registry, e.Meta(ctx), call)
	e.recorded(ctx, ToolBefore.Kind(), before.RecordErr)
	at.sums.each(func(s *sums) { s.calls++ })
	call = before.Input
	if err = e.resolve(ctx, verdictOf(ToolBefore, before), call); err != nil {
		return ToolOutcome{Status: events.ToolError, Error: messageFor(err), Context: before.Context}, err
	}

	at.sums.each(func(s *sums) { s.open++ })
	began := time.Now()
	out = ToolOutcome{Status: events.ToolError, Error: string(ErrExited)} // the result if fn does not return
	defer func() {
		out = e.finishTool(ctx, ToolDone{Call: call, Duration: time.Since(began)}, out)
		out.Context = joinContext(before.Context, out.Context)
	}()
	var result JSON
	failure := e.attempts(ctx, Attempt{Number: 1}, ToolError, func(Attempt) error {
		return e.guard(ctx, ToolResult.Kind(), func() (err error) {
			result, err = fn(ctx, call)
			return err
		})
	})
	out = resultOf(result, failure)
	return out, nil
}

func resultOf(result JSON, err error) ToolOutcome {
	if err == nil {
		return ToolOutcome{Status: events.ToolSuccess, Result: result}
	}
	out := ToolOutcome{Status: events.ToolError, Result: result, Error: err.Error()}
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		out.Status, out.DeniedBy = events.ToolDenied, refused.By
	} else if errors.Is(err, ErrInterrupted) {
		out.Status = events.ToolInterrupted
	}
	if p, ok := errors.AsType[*PanicError](err); ok {
		out.Result, out.Stack = "", string(p.Stack)
	}
	if exit, ok := errors.AsType[exitError](err); ok {
		code := exit.ExitCode()
		out.ExitCode = &code
	}
	return out
}

type exitError interface {
	error
	ExitCode() int
}

func (e *Engine) finishTool(ctx context.Context, done ToolDone, out ToolOutcome) ToolOutcome {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	after := ToolResult.Dispatch(ctx, e.registry, meta, done, out)
	e.recorded(ctx, ToolResult.Kind(), after.RecordErr)
	out = after.Value
	e.at(ctx).sums.each(func(s *sums) {
		s.open--
		switch out.Status {
		case events.ToolError:
			s.failed++
		case events.ToolDenied:
			s.denied++
		case events.ToolInterrupted:
			s.interrupted++
		case events.ToolSuccess:
		}
	})
	return out
}

// StoreResult passes the result of a tool call through the hooks of tool.result.store, and calls
// store. It returns the error of store.
func (e *Engine) StoreResult(ctx context.Context, call ToolCall, result JSON, store func(context.Context, JSON) error) error {
	at := e.at(ctx)
	at.meta.ToolCall = call.ID
	ctx = at.within(ctx)
	before := ToolResultStore.Dispatch(ctx, e.registry, e.Meta(ctx), call, result)
	e.recorded(ctx, ToolResultStore.Kind(), before.RecordErr)
	if before.Prevented {
		return before.Err
	}
	return e.guard(ctx, ToolResultStore.Kind(), func() error { return store(ctx, before.Value) })
}

type ruling struct {
	point   events.Kind
	verdict Verdict
	reason  string
	by      ID
	name    string // name of the hook with the id by
}

func verdictOf[In, P any](point *DecisionPoint[In, P], o Outcome[In, P]) ruling {
	return ruling{point: point.Kind(), verdict: o.Verdict, reason: o.Reason, by: o.By, name: nameOf(o.By, o.Executions)}
}

func nameOf(id ID, executions []Execution) string {
	i := slices.IndexFunc(executions, func(x Execution) bool { return x.Hook == string(id) })
	if i < 0 {
		return ""
	}
	return executions[i].Name
}

var approvalOptions = []string{string(Allow), string(Deny)}

// resolve never permits an action after ctx has ended, because some hooks may not have run.
func (e *Engine) resolve(ctx context.Context, r ruling, call ToolCall) error {
	name := call.Tool
	if r.point != ToolBefore.Kind() {
		name = call.ID
	}
	denied := &DeniedError{Point: r.point, Name: name, Reason: r.reason, By: r.by, HookName: r.name}
	switch r.verdict {
	case Deny:
		return denied
	case Ask:
	case Allow, None:
		return ctx.Err()
	}
	answer := Approval.Dispatch(ctx, e.registry, e.Meta(ctx),
		ApprovalRequest{Call: call, Prompt: r.reason, Options: approvalOptions})
	e.recorded(ctx, Approval.Kind(), answer.RecordErr)
	switch {
	case answer.Verdict == Allow && answer.Patch.Selected != string(Deny): // the option deny, which any hook can select, overrides Allow
		return ctx.Err()
	case answer.Verdict == Deny && answer.Reason != "":
		denied.Reason, denied.By, denied.HookName = answer.Reason, answer.By, nameOf(answer.By, answer.Executions)
	case r.reason == "":
		denied.Reason = "not approved"
	default:
		denied.Reason = "not approved: " + r.reason
	}
	return denied
}

func messageFor(err error) string {
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return denied.Reason
	}
	return err.Error()
}
