package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Subagent calls fn as a sub-agent, unless the hooks of subagent.start deny it
// with a *[DeniedError]. The sub-agent has a run of its own, "<session>/<id>"
// with the run in the place of a session that there is not, whose parents are the
// run and the agent of ctx; subagent.stopped tells the parent how it ended. The
// model that fn is to use, and what the sub-agent is to know, is in the outcome
// that fn gets.
func (e *Engine) Subagent(
	ctx context.Context, s Subagent, fn func(context.Context, Outcome[Subagent, SubagentPatch]) error,
) (err error) {
	if s.ID == "" {
		s.ID = events.NewID()
	}
	start := SubagentStart.Dispatch(ctx, e.registry, e.Meta(ctx), s)
	e.recorded(ctx, SubagentStart.Kind(), start.RecordErr)
	s = start.Input
	if err = e.resolve(ctx, verdictOf(SubagentStart, start), subagentCall(s)); err != nil {
		return err
	}
	outer := e.at(ctx)
	info := RunInfo{ID: s.ID, Agent: s.Name, Title: s.TaskType, Model: s.Model}
	if info.Agent == "" {
		info.Agent = s.ID
	}
	switch {
	case outer.meta.Session != "":
		info.ID = outer.meta.Session + "/" + s.ID
	case outer.meta.Run != "":
		info.ID = outer.meta.Run + "/" + s.ID
	}
	at := outer.enter(info)
	at.meta.ParentRun, at.meta.ParentAgent = outer.meta.Run, outer.meta.Agent
	began := time.Now()
	err = ErrExited // if fn does not return
	defer func() { e.stopped(ctx, s, at.sums.totals(), time.Since(began), err) }()
	err = e.run(ctx, at, info, func(ctx context.Context) error { return fn(ctx, start) })
	return err
}

// stopped tells that a sub-agent has ended.
func (e *Engine) stopped(ctx context.Context, s Subagent, sum totals, took time.Duration, err error) {
	status := SubagentCompleted
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		status = SubagentTimedOut
	case err != nil:
		status = SubagentFailed
	}
	var used int64
	if t := sum.tokens; t != nil {
		used = t.Input + t.Output + t.CacheCreation + t.CacheRead
	}
	tell(ctx, e, SubagentStopped, events.SubagentStoppedData{
		Subagent: s.ID, Name: s.Name, Model: s.Model, Status: status, DurationMS: took.Milliseconds(),
		TokensUsed: sum.tokens, TotalTokens: used, ToolCalls: sum.calls, Files: sum.files,
	})
}

// How a sub-agent ends, in subagent.stopped.
const (
	SubagentCompleted = "completed"
	SubagentFailed    = "error"
	SubagentTimedOut  = "timeout"
)

// subagentCall returns what is asked for approval where a hook asks about s.
func subagentCall(s Subagent) ToolCall {
	args, err := Marshal(map[string]string{"name": s.Name, "model": s.Model, "task_type": s.TaskType, "charter": s.Charter})
	if err != nil {
		args = "" // not reached: strings can be encoded
	}
	return ToolCall{ID: s.ID, Tool: string(SubagentStart.Kind()), Args: args}
}
