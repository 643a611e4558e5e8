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

// Engine calls the functions of an orchestrator and dispatches the hooks around them. It does not
// call a function that hooks deny. If a function panics, the Engine returns a *[PanicError].
//
// A function gets a context for nested calls of the Engine and for [Report]. The hooks after a
// function run even if the context has ended. A failure to record is only logged.
//
// An Engine is safe for concurrent use, and several engines can share a registry. A run in the
// context has precedence over the engine's Meta.
type Engine struct {
	registry *Registry
	meta     Meta
}

// NewEngine returns an engine that calls the hooks of r, with meta as the default. A nil r has no
// hooks.
func NewEngine(r *Registry, meta Meta) *Engine { return &Engine{registry: r, meta: meta} }

// Registry returns the registry of e.
func (e *Engine) Registry() *Registry { return e.registry }

// Meta returns the Meta for the next dispatch in the run of ctx, and increments the sequence number
// of the run. Use Meta to dispatch without the engine:
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

type frame struct {
	meta Meta
	run  *runProgress // nil outside of a run
	sums *sums        // of the innermost step, run or session

	noRun bool // no run has begun, so meta.Run is the id of the session
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

func (e *Engine) recorded(ctx context.Context, point events.Kind, err error) {
	if err == nil {
		return
	}
	at := e.at(ctx)
	e.logger().ErrorContext(ctx, "dispatch not recorded",
		"point", point, "run", at.meta.Run, "step", at.meta.Step, "error", faultOf(err))
}

type endedKey struct{}

func hasEnded(ctx context.Context) bool { return ctx.Value(endedKey{}) != nil }

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

// Notes describes the work of a step, a run or a session, such as its tokens and files. See
// [Report].
type Notes struct {
	Tokens   events.Tokens  // tokens used since the last report
	Files    []string       // changed files
	Summary  string         // summary of the result. The last one counts
	Metadata map[string]any // such as complexity, partial_success or deferred. For each key, the last value counts
}

// Report adds notes to the step, run and session in ctx. The engine includes the notes in the
// events that end them. Tokens and files are added to all three. The summary and the metadata are
// added only to the innermost one, which is the step if there is one. Outside of an [Engine],
// Report does nothing.
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
	session    *sums // nil outside of a session
	dispatches atomic.Uint64
	steps      atomic.Int64

	mu       sync.Mutex // guards reported
	reported error      // the last error dispatched to the hooks of Error
}

type sums struct {
	parent *sums // gets each change too

	mu     sync.Mutex // guards the fields below. No goroutine locks two sums at once
	tokens events.Tokens
	calls  int
	failed int // tool calls with an error
	open   int // tool calls that have not ended
	denied int // tool calls that were refused, but not by our hooks

	interrupted int // tool calls that were stopped

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
	denied, interrupted int
	files               []string
	summary             string
	metadata            map[string]any
}

func (s *sums) totals() totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := totals{
		calls: s.calls, failed: s.failed, open: s.open, denied: s.denied, interrupted: s.interrupted,
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
