package hooks

import (
	"context"
	"log/slog"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Engine calls an orchestrator's own functions, and the hooks around them.
//
// Run, Session, Step, Tool and Subagent each take a function. Before it they ask
// the hooks that decide, after it those that transform and those that are told;
// what is denied is not called, and a panic comes back as a *[PanicError]. Each
// hands its function a context that knows where it is: what is called with that
// context is stamped with tenant, run, step, agent and their parents, and
// [Report] adds to what its end will tell.
//
// The hooks of what has ended run, and its events are recorded, also where the
// context has ended before. What cannot be recorded is logged, and changes nothing.
//
// An Engine may be used concurrently, and there may be many on one registry. A
// context that comes from a function of another engine stays where that has put
// it. All that an engine does can be done without it: see [Engine.Meta].
type Engine struct {
	registry *Registry
	meta     Meta
}

// NewEngine returns an engine on r. It stamps meta on everything, as far as its
// methods know no better. A nil r has no hooks and records nothing.
func NewEngine(r *Registry, meta Meta) *Engine { return &Engine{registry: r, meta: meta} }

// Registry returns the registry of e.
func (e *Engine) Registry() *Registry { return e.registry }

// Meta returns where ctx is, numbered as the next dispatch of its run. It is for
// dispatches of one's own:
//
//	hooks.PromptSubmit.Dispatch(ctx, e.Registry(), e.Meta(ctx), hooks.Prompt{Text: text})
func (e *Engine) Meta(ctx context.Context) Meta {
	at := e.at(ctx)
	m := at.meta
	m.Stopped = m.Stopped || ctx.Err() != nil
	if at.run != nil {
		m.Sequence = at.run.dispatches.Add(1)
		m.StepCount += int(at.run.steps.Load())
	}
	return m
}

// frame is where a context is.
type frame struct {
	meta Meta
	run  *progress // of the run; nil outside of one
	sums *sums     // of the innermost of step, run and session; nil outside

	loose bool // meta.Run stands for the session, no run has begun
}

type frameKey struct{}

// at returns where ctx is.
func (e *Engine) at(ctx context.Context) frame {
	if f, ok := ctx.Value(frameKey{}).(frame); ok {
		return f
	}
	return frame{meta: e.meta}
}

// within returns a context that is at f.
func (f frame) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, frameKey{}, f)
}

// act makes agent, if there is one, who acts at f.
func (f *frame) act(agent, role string) {
	if agent != "" && agent != f.meta.Agent {
		f.meta.ParentAgent, f.meta.Agent, f.meta.AgentRole = f.meta.Agent, agent, ""
	}
	if role != "" {
		f.meta.AgentRole = role
	}
}

// logger returns the logger of the registry.
func (e *Engine) logger() *slog.Logger {
	if e.registry == nil {
		return slog.New(slog.DiscardHandler)
	}
	return e.registry.opts.Logger
}

// recorded logs that a dispatch could not be recorded: nobody else is told.
func (e *Engine) recorded(ctx context.Context, point events.Kind, err error) {
	if err == nil {
		return
	}
	at := e.at(ctx)
	e.logger().ErrorContext(ctx, "dispatch not recorded",
		"point", point, "run", at.meta.Run, "step", at.meta.Step, "error", faultOf(err))
}

type endedKey struct{}

// hasEnded tells whether ctx goes on in the place of one that has ended.
func hasEnded(ctx context.Context) bool { return ctx.Value(endedKey{}) != nil }

// afterwards returns the context for the dispatch of what has happened: ctx, or
// one in its place, in which the hooks have their time.
func afterwards(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), endedKey{}, true)
}

// tell dispatches a notification about something that has happened.
func tell[E any](ctx context.Context, e *Engine, point *NotificationPoint[E], data E) {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	e.recorded(ctx, point.Kind(), point.Dispatch(ctx, e.registry, meta, data).RecordErr)
}
