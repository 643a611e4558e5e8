package hooks

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Engine calls an orchestrator's functions and dispatches the hooks around
// them.
//
// Run, Session, Step, Tool and Subagent each take a function. They dispatch the
// decision points before it and the transform and notification points after it.
// A denied function is not called, and a panic is returned as a *[PanicError].
// The function gets a context that carries its tenant, run, step, agent and
// parents. Calls with this context are stamped with them, and [Report] adds to
// the notification at the end.
//
// The hooks after the function run and are recorded even if the context has
// ended. A recording failure is logged and changes nothing.
//
// An Engine is safe for concurrent use, and several engines can share a
// registry. The position in a context takes precedence over the engine's Meta,
// even if another engine made it. An orchestrator can also dispatch without an
// engine, see [Engine.Meta].
type Engine struct {
	registry *Registry
	meta     Meta
}

// NewEngine returns an engine on r. meta holds the defaults for every dispatch.
// A nil r has no hooks and records nothing.
func NewEngine(r *Registry, meta Meta) *Engine { return &Engine{registry: r, meta: meta} }

// Registry returns the registry of e.
func (e *Engine) Registry() *Registry { return e.registry }

// Meta returns the Meta for the next dispatch at the position of ctx and
// increments the run's sequence. Use it for direct dispatches:
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

// frame is the position of a context in a run.
type frame struct {
	meta Meta
	run  *runProgress // nil outside a run
	sums *sums        // of the innermost step, run or session; nil outside

	noRun bool // meta.Run is the session id because no run has begun
}

type frameKey struct{}

// at returns the position of ctx.
func (e *Engine) at(ctx context.Context) frame {
	if f, ok := ctx.Value(frameKey{}).(frame); ok {
		return f
	}
	return frame{meta: e.meta}
}

// within returns a context with position f.
func (f frame) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, frameKey{}, f)
}

// act sets the acting agent and role, unless they are empty.
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

// recorded logs a recording failure, which is not returned to the orchestrator.
func (e *Engine) recorded(ctx context.Context, point events.Kind, err error) {
	if err == nil {
		return
	}
	at := e.at(ctx)
	e.logger().ErrorContext(ctx, "dispatch not recorded",
		"point", point, "run", at.meta.Run, "step", at.meta.Step, "error", faultOf(err))
}

type endedKey struct{}

// hasEnded reports whether ctx replaces a context that has ended.
func hasEnded(ctx context.Context) bool { return ctx.Value(endedKey{}) != nil }

// afterwards returns a context for dispatches after a function has ended. If
// ctx has ended, it returns a replacement, so that the hooks have time to run.
func afterwards(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), endedKey{}, true)
}

// notify dispatches at a notification point.
func notify[E any](ctx context.Context, e *Engine, point *NotificationPoint[E], data E) {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	e.recorded(ctx, point.Kind(), point.Dispatch(ctx, e.registry, meta, data).RecordErr)
}

// Notes is information about a function's work that it does not return.
type Notes struct {
	Tokens   events.Tokens  // used since the last report
	Files    []string       // changed files
	Summary  string         // of the result; the last one counts
	Metadata map[string]any // such as complexity, partial_success, deferred; the last value of a key counts
}

// Report adds notes to the notifications at the end of the step, run and
// session of ctx. Tokens and files count in all of them, summary and metadata
// in the innermost. A sub-agent's run adds nothing to its parent's run. Report
// does nothing outside the functions of an [Engine].
func Report(ctx context.Context, notes Notes) {
	f, ok := ctx.Value(frameKey{}).(frame)
	if !ok || f.sums == nil {
		return
	}
	f.sums.each(func(s *sums) {
		s.tokens = s.tokens.Plus(notes.Tokens)
		for _, file := range notes.Files {
			s.files[file] = true
		}
	})
	f.sums.mu.Lock()
	defer f.sums.mu.Unlock()
	if notes.Summary != "" {
		f.sums.summary = notes.Summary
	}
	maps.Copy(f.sums.metadata, notes.Metadata)
}

// runProgress counts the dispatches and steps of a run.
type runProgress struct {
	session    *sums // nil if the run is in no session
	dispatches atomic.Uint64
	steps      atomic.Int64

	mu       sync.Mutex // guards reported
	reported error      // the last error that the hooks of Error have seen
}

// sums are the totals of a step, run or session.
type sums struct {
	parent *sums // also receives every change; nil for none

	mu       sync.Mutex // guards the fields below; two sums are never locked together
	tokens   events.Tokens
	calls    int // tool calls
	failed   int // tool calls with an error
	open     int // unfinished tool calls
	files    map[string]bool
	summary  string
	metadata map[string]any
}

func newSums(parent *sums, metadata map[string]any) *sums {
	s := &sums{parent: parent, files: map[string]bool{}, metadata: map[string]any{}}
	maps.Copy(s.metadata, metadata)
	return s
}

// each applies change to s and its parents.
func (s *sums) each(change func(*sums)) {
	for ; s != nil; s = s.parent {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

// totals is a copy of sums.
type totals struct {
	tokens              *events.Tokens // nil for none
	calls, failed, open int
	files               []string
	summary             string
	metadata            map[string]any // nil for none
}

func (s *sums) totals() totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := totals{
		calls: s.calls, failed: s.failed, open: s.open,
		files: slices.Sorted(maps.Keys(s.files)), summary: s.summary,
	}
	if s.tokens != (events.Tokens{}) {
		used := s.tokens
		t.tokens = &used
	}
	if len(s.metadata) > 0 {
		t.metadata = maps.Clone(s.metadata)
	}
	return t
}
