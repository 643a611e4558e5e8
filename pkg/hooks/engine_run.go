package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunInfo describes a run.
type RunInfo struct {
	ID       string // globally unique id, by default the run of the engine's Meta or a new id
	Type     string // TRIAGE, PLAN, RESOLVE, REVIEW or AUTOPILOT, by default the type of the parent run
	Agent    string // if empty, the current agent
	Role     string // FOREMAN, CODER, …
	Title    string
	Input    string
	Model    string
	Cwd      string
	Version  string         // version of the orchestrator
	Metadata map[string]any // for run.started and run.finished, to which [Report] can add
}

// Run calls fn as a run. It dispatches run.started before fn and run.finished after it, and returns
// the error of fn. If ctx belongs to a run, this run becomes the parent of the new one.
func (e *Engine) Run(ctx context.Context, info RunInfo, fn func(context.Context) error) error {
	return e.run(ctx, e.at(ctx).enter(info), info, fn)
}

func (f frame) enter(info RunInfo) frame {
	session := f.sums
	if f.run != nil {
		session = f.run.session
		f.meta.ParentRun, f.meta.ParentAgent = f.meta.Run, f.meta.Agent
		f.meta.Run, f.meta.StepCount = "", 0
	}
	switch {
	case info.ID != "":
		f.meta.Run = info.ID
	case f.meta.Run == "", f.noRun:
		f.meta.Run = events.NewID()
	}
	f.noRun = false
	f.meta.Step, f.meta.ToolCall = "", ""
	if info.Type != "" {
		f.meta.RunType = info.Type
	}
	f.act(info.Agent, info.Role)
	f.run = &runProgress{session: session}
	f.sums = newSums(session, info.Metadata)
	return f
}

func (e *Engine) run(ctx context.Context, at frame, info RunInfo, fn func(context.Context) error) (err error) {
	ctx = at.within(ctx)
	began := time.Now()
	notify(ctx, e, RunStarted, events.RunStartedData{
		RunType: at.meta.RunType, AgentRole: at.meta.AgentRole, Title: info.Title, InputSummary: info.Input,
		Model: info.Model, Cwd: info.Cwd, Version: info.Version, Metadata: info.Metadata,
	})
	err = ErrExited // the result if fn does not return
	defer func() { e.finishRun(ctx, at, began, err) }()
	err = e.guard(ctx, RunFinished.Kind(), func() error { return fn(ctx) })
	return err
}

func (e *Engine) finishRun(ctx context.Context, at frame, began time.Time, err error) {
	if err != nil && !at.run.knows(err) && !errors.Is(err, context.Canceled) {
		e.failed(ctx, err, Failure{Err: err, Type: typeOf(err, UnknownError), Attempt: 1})
	}
	sum := at.sums.totals()
	notify(ctx, e, RunFinished, events.RunFinishedData{
		RunType: at.meta.RunType, Success: err == nil, Reason: reasonOf(err), OutputSummary: sum.summary,
		DurationMS: time.Since(began).Milliseconds(), TokensUsed: sum.tokens, Steps: int(at.run.steps.Load()),
		ToolCalls: sum.calls, ToolErrors: sum.failed, ToolDenied: sum.denied, ToolInterrupted: sum.interrupted, Unanswered: sum.open, Files: sum.files,
		Error: failureOf(err), Metadata: sum.metadata,
	})
}

func (p *runProgress) knows(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reported != nil && errors.Is(err, p.reported)
}

func reasonOf(err error) string {
	switch failure := failureOf(err); {
	case failure == nil:
		return "completed"
	case failure.Class == "cancelled", failure.Class == "timeout", failure.Class == "denied":
		return failure.Class
	}
	return "failed"
}

// Session dispatches session.start, calls fn, and then dispatches session.ended with the totals of
// all runs and sub-agents in the session. It returns the error of fn.
//
// fn gets the configuration and the context that the hooks add. If id is empty, the session uses
// the id in the engine's Meta, or else a new one. Events outside of a run have the id of the
// session as their run.
func (e *Engine) Session(
	ctx context.Context, id string, s Session, fn func(context.Context, SessionOutcome) error,
) (err error) {
	at := e.at(ctx)
	switch {
	case id != "":
		at.meta.Session = id
	case at.meta.Session == "":
		at.meta.Session = events.NewID()
	}
	if at.meta.Run == "" {
		at.meta.Run, at.noRun = at.meta.Session, true
	}
	at.sums = newSums(at.sums, nil)
	at.run = nil
	ctx = at.within(ctx)
	began := time.Now()
	started := SessionStart.Dispatch(ctx, e.registry, e.Meta(ctx), s)
	e.recorded(ctx, SessionStart.Kind(), started.RecordErr)
	err = ErrExited
	defer func() {
		sum := at.sums.totals()
		notify(ctx, e, SessionEnded, events.SessionEndedData{
			Reason: reasonOf(err), DurationMS: time.Since(began).Milliseconds(), TokensUsed: sum.tokens,
			ToolCalls: sum.calls, Files: sum.files,
		})
	}()
	err = e.guard(ctx, SessionEnded.Kind(), func() error { return fn(ctx, started) })
	return err
}

// Subagent calls fn as a sub-agent. It returns the error of fn, or a *[DeniedError] if the hooks of
// subagent.start deny the sub-agent.
//
// The sub-agent has a separate run with the id "<session>/<id>", or "<run>/<id>" outside of a
// session. The run and the agent of ctx are its parents. subagent.stopped is dispatched in the
// parent run. fn gets the model and context from the hooks.
func (e *Engine) Subagent(
	ctx context.Context, s Subagent, fn func(context.Context, SubagentOutcome) error,
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
	err = ErrExited
	defer func() { subagentStopped(ctx, e, s, at.sums.totals(), time.Since(began), err) }()
	err = e.run(ctx, at, info, func(ctx context.Context) error { return fn(ctx, start) })
	return err
}

func subagentStopped(ctx context.Context, e *Engine, s Subagent, sum totals, took time.Duration, err error) {
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
	notify(ctx, e, SubagentStopped, events.SubagentStoppedData{
		Subagent: s.ID, Name: s.Name, Model: s.Model, Status: status, DurationMS: took.Milliseconds(),
		TokensUsed: sum.tokens, TotalTokens: used, ToolCalls: sum.calls, Files: sum.files,
	})
}

// The values of Status in subagent.stopped.
const (
	SubagentCompleted = "completed"
	SubagentFailed    = "error"
	SubagentTimedOut  = "timeout"
)

func subagentCall(s Subagent) ToolCall {
	args, err := Marshal(map[string]string{"name": s.Name, "model": s.Model, "task_type": s.TaskType, "charter": s.Charter})
	if err != nil {
		args = "" // cannot happen, because strings can always be encoded
	}
	return ToolCall{ID: s.ID, Tool: string(SubagentStart.Kind()), Args: args}
}
