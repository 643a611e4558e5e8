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
	run  *chainState // of the run; nil outside of one
	sums *sums       // of the innermost of step, run and session; nil outside

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
func notify[E any](ctx context.Context, e *Engine, point *NotificationPoint[E], data E) {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	e.recorded(ctx, point.Kind(), point.Dispatch(ctx, e.registry, meta, data).RecordErr)
}

// Notes is what a function tells about its work besides what it returns.
type Notes struct {
	Tokens   events.Tokens  // used since the last report
	Files    []string       // changed
	Summary  string         // of what came out; the last one counts
	Metadata map[string]any // complexity, partial_success, deferred, …; the last value of a key counts
}

// Report adds notes to what will be told at the end of the step, run and session
// that ctx belongs to: tokens and files to each, summary and metadata to the
// innermost. A sub-agent has a run of its own and adds nothing to that of its
// parent. Outside of an [Engine]'s functions it does nothing.
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

// progress is how far a run is.
type chainState struct {
	session    *sums // of the session that it is part of; nil for none
	dispatches atomic.Uint64
	steps      atomic.Int64

	mu       sync.Mutex // guards reported
	reported error      // the latest that the hooks of Error have seen
}

// sums is what has come together in a step, a run or a session.
type sums struct {
	parent *sums // gets what comes here too; nil for none

	mu       sync.Mutex // guards what follows
	tokens   events.Tokens
	calls    int // of tools
	failed   int // tool calls that ended in an error
	open     int // tool calls that have not ended
	files    map[string]bool
	summary  string
	metadata map[string]any
}

func newSums(parent *sums, metadata map[string]any) *sums {
	s := &sums{parent: parent, files: map[string]bool{}, metadata: map[string]any{}}
	maps.Copy(s.metadata, metadata)
	return s
}

// each changes s and what it is part of.
func (s *sums) each(change func(*sums)) {
	for ; s != nil; s = s.parent {
		s.mu.Lock()
		change(s)
		s.mu.Unlock()
	}
}

// totals is a copy of what has come together so far.
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
