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
// It dispatches the decision points before a function and the transform and
// notification points after it. A denied function is not called, and a panic is
// returned as a *[PanicError]. The context of a function carries its tenant,
// run, step, agent and parents to the calls inside it. [Report] adds to the
// notification at the end.
//
// The hooks after the function run and are recorded even if the context has
// ended. A recording failure is logged and changes nothing.
//
// An Engine is safe for concurrent use, and several engines can share a
// registry. The position in a context takes precedence over the engine's Meta,
// even if another engine set it.
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
	sums *sums        // of the innermost step, run or session

	noRun bool // meta.Run is the session id because no run has begun
}

type frameKey struct{}

func (e *Engine) at(ctx context.Context) frame {
	if f, ok := ctx.Value(frameKey{}).(frame); ok {
		return f
	}
	return frame{meta: e.meta}
}

func (f frame) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, frameKey{}, f)
}

func (f *frame) act(agent, role string) {
	if agent != "" && agent != f.meta.Agent {
		f.meta.ParentAgent, f.meta.Agent, f.meta.AgentRole = f.meta.Agent, agent, ""
	}
	if role != "" {
		f.meta.AgentRole = role
	}
}

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

// hasEnded reports whether ctx replaces an ended context.
func hasEnded(ctx context.Context) bool { return ctx.Value(endedKey{}) != nil }

// afterwards returns ctx, or a live copy if ctx has ended, so that the hooks
// after a function have time to run.
func afterwards(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithValue(context.WithoutCancel(ctx), endedKey{}, true)
}

func notify[E any](ctx context.Context, e *Engine, point *NotificationPoint[E], data E) {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	e.recorded(ctx, point.Kind(), point.Dispatch(ctx, e.registry, meta, data).RecordErr)
}

// Notes describe a function's work beyond its result.
type Notes struct {
	Tokens   events.Tokens  // used since the last report
	Files    []string       // changed files
	Summary  string         // of the result; the last one counts
	Metadata map[string]any // such as complexity, partial_success, deferred; the last value counts
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

type runProgress struct {
	session    *sums // nil outside a session
	dispatches atomic.Uint64
	steps      atomic.Int64

	mu       sync.Mutex // guards reported
	reported error      // the last error that the hooks of Error have seen
}

// sums are the totals of a step, run or session.
type sums struct {
	parent *sums // also receives every change

	mu       sync.Mutex // guards the fields below; two sums are never locked together
	tokens   events.Tokens
	calls    int // of tools
	failed   int // calls with an error
	open     int // unfinished calls
	files    map[string]bool
	summary  string
	metadata map[string]any
}

func newSums(parent *sums, metadata map[string]any) *sums {
	s := &sums{parent: parent, files: map[string]bool{}, metadata: map[string]any{}}
	maps.Copy(s.metadata, metadata)
	return s
}

func (s *sums) each(change func(*sums)) {
	for ; s != nil; s = s.parent {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

type totals struct {
	tokens              *events.Tokens
	calls, failed, open int
	files               []string
	summary             string
	metadata            map[string]any
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
