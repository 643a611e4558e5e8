package hooks

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunInfo says what is run.
type RunInfo struct {
	ID       string // unique for ever; empty: that of the engine's Meta, or a new one
	Type     string // TRIAGE, PLAN, RESOLVE, REVIEW, AUTOPILOT; empty: that of the run around it
	Agent    string // who acts; empty: who acts around it
	Role     string // FOREMAN, CODER, …
	Title    string
	Input    string // summary of what goes in
	Model    string
	Cwd      string
	Version  string         // of the orchestrator
	Metadata map[string]any // told at the start and, with what is reported meanwhile, at the end
}

// Run calls fn as a run: run.started before, run.finished after. It returns what
// fn returns. A run inside another one has that as its parent.
func (e *Engine) Run(ctx context.Context, info RunInfo, fn func(context.Context) error) error {
	return e.run(ctx, e.at(ctx).enter(info), info, fn)
}

// enter returns the frame of a run that starts at f.
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
	case f.meta.Run == "", f.loose:
		f.meta.Run = events.NewID()
	}
	f.loose = false
	f.meta.Step, f.meta.ToolCall = "", ""
	if info.Type != "" {
		f.meta.RunType = info.Type
	}
	f.act(info.Agent, info.Role)
	f.run = &chainState{session: session}
	f.sums = newSums(session, info.Metadata)
	return f
}

// run calls fn in the frame of its run.
func (e *Engine) run(ctx context.Context, at frame, info RunInfo, fn func(context.Context) error) (err error) {
	ctx = at.within(ctx)
	began := time.Now()
	notify(ctx, e, RunStarted, events.RunStartedData{
		RunType: at.meta.RunType, AgentRole: at.meta.AgentRole, Title: info.Title, InputSummary: info.Input,
		Model: info.Model, Cwd: info.Cwd, Version: info.Version, Metadata: info.Metadata,
	})
	err = ErrExited // if fn does not return
	defer func() { e.finishRun(ctx, at, began, err) }()
	err = e.guard(ctx, RunFinished.Kind(), func() error { return fn(ctx) })
	return err
}

// finishRun tells that a run has ended, and of an error that no step has told of.
func (e *Engine) finishRun(ctx context.Context, at frame, began time.Time, err error) {
	if err != nil && !at.run.knows(err) && !errors.Is(err, context.Canceled) {
		e.failed(ctx, err, Failure{Err: err, Type: typeOf(err, UnknownError), Attempt: 1})
	}
	sum := at.sums.totals()
	notify(ctx, e, RunFinished, events.RunFinishedData{
		RunType: at.meta.RunType, Success: err == nil, Reason: reasonOf(err), OutputSummary: sum.summary,
		DurationMS: time.Since(began).Milliseconds(), TokensUsed: sum.tokens, Steps: int(at.run.steps.Load()),
		ToolCalls: sum.calls, ToolErrors: sum.failed, Unanswered: sum.open, Files: sum.files,
		Error: failureOf(err), Metadata: sum.metadata,
	})
}

// knows tells whether the hooks of Error have seen err, or what it is about.
func (p *chainState) knows(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reported != nil && errors.Is(err, p.reported)
}

// reasonOf returns why what ended with err has ended.
func reasonOf(err error) string {
	switch failure := failureOf(err); {
	case failure == nil:
		return "completed"
	case failure.Class == "cancelled", failure.Class == "timeout", failure.Class == "denied":
		return failure.Class
	}
	return "failed"
}

// Session calls fn as a session: session.start before, session.ended after, with
// all that its runs and their sub-agents have come to. What the hooks configure,
// and what they want the agent to know, is in the outcome that fn gets. An empty
// id is that of the engine's Meta, or a new one. Where there is no run around it,
// what happens in the session and in none of its runs counts to a run with the
// session's id.
func (e *Engine) Session(
	ctx context.Context, id string, s Session, fn func(context.Context, Outcome[Session, SessionPatch]) error,
) (err error) {
	at := e.at(ctx)
	switch {
	case id != "":
		at.meta.Session = id
	case at.meta.Session == "":
		at.meta.Session = events.NewID()
	}
	if at.meta.Run == "" {
		at.meta.Run, at.loose = at.meta.Session, true
	}
	at.sums = newSums(at.sums, nil)
	at.run = nil
	ctx = at.within(ctx)
	began := time.Now()
	started := SessionStart.Dispatch(ctx, e.registry, e.Meta(ctx), s)
	e.recorded(ctx, SessionStart.Kind(), started.RecordErr)
	err = ErrExited // if fn does not return
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
	notify(ctx, e, SubagentStopped, events.SubagentStoppedData{
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
