package hookfile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// Options are what hooks need besides their file.
type Options struct {
	Conn  *nats.Conn     // for nats hooks, which fail without one
	Space subjects.Space // where the decision service is
	// Serving says that the hooks are those of the decision service: one that
	// would ask it is refused, because it would wait for itself.
	Serving bool
	Logger  *slog.Logger // nil discards
}

// Asks tells whether a hook of that type is to be registered.
func (f *File) Asks(t Type) bool {
	return slices.ContainsFunc(f.Hooks, func(h Hook) bool { return h.Type == t && !h.Disabled })
}

// runner is the function of a hook.
type runner = func(context.Context, hooks.Document) (*hooks.Reply, error)

// Register adds the policies of the file and then its hooks to r, in the order
// of the file. If one cannot be added, none is.
func (f *File) Register(r *hooks.Registry, opts Options) (err error) {
	var ids []hooks.ID
	defer func() {
		if err != nil {
			for _, id := range ids {
				r.Off(id)
			}
		}
	}()
	if f.Policies != nil {
		if ids, err = f.Policies.Register(r); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for i := range f.Hooks {
		h := &f.Hooks[i]
		if h.Disabled {
			continue
		}
		id, err := h.register(r, opts)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", f.Name, h.Line, err)
		}
		ids = append(ids, id)
	}
	return nil
}

func (h *Hook) register(r *hooks.Registry, opts Options) (hooks.ID, error) {
	run, err := h.runner(opts)
	if err != nil {
		return "", err
	}
	if c := h.when; c != nil {
		run = c.guard(run)
	}
	return r.OnDocument(h.Point.Kind, run, h.options()...)
}

// options returns how the hook is chosen, run and ordered.
func (h *Hook) options() []hooks.Option {
	list := []hooks.Option{hooks.Name(h.Name), hooks.Priority(h.Priority), hooks.Timeout(h.Timeout)}
	if h.OnFailure != 0 {
		list = append(list, hooks.OnFailure(h.OnFailure))
	}
	if h.Async {
		list = append(list, hooks.Async())
	}
	if h.ends != nil {
		list = append(list, h.ends)
	}
	for _, m := range h.match {
		list = append(list, hooks.Match(m))
	}
	if h.when != nil {
		list = append(list, hooks.Match(h.when))
	}
	if h.Type != MatcherType {
		list = append(list, hooks.Isolate(hooks.External))
	}
	return list
}

// runner returns the function of the hook.
func (h *Hook) runner(opts Options) (runner, error) {
	switch h.Type {
	case CommandType:
		return command{event: h.Event, argv: h.command, env: environment()}.run, nil
	case MatcherType:
		return h.decide, nil
	case LLMType:
		j, err := newJudge(h)
		if err != nil {
			return nil, err
		}
		return j.run, nil
	case HTTPType:
		return server{event: h.Event, url: h.url, keyEnv: h.keyEnv, client: newClient()}.run, nil
	case NATSType:
		if opts.Serving && h.asksItself(opts.Space) {
			return nil, fmt.Errorf("hook %s: the decision service would ask itself; name the subject of another one", h.Name)
		}
		return service{event: h.Event, subject: h.subject, space: opts.Space, conn: opts.Conn}.run, nil
	}
	return nil, fmt.Errorf("hook %s: no type", h.Name)
}

// asksItself tells whether a nats hook asks the decision service of space.
func (h *Hook) asksItself(space subjects.Space) bool {
	_, err := space.DecisionTenant(h.subject)
	return h.subject == "" || err == nil
}

// decide is the function of a matcher hook: it has matched.
func (h *Hook) decide(context.Context, hooks.Document) (*hooks.Reply, error) {
	reply := &hooks.Reply{Reason: h.message}
	switch h.action {
	case wire.ActionBlock:
		reply.Verdict = hooks.Deny
	case actionAsk:
		reply.Verdict = hooks.Ask
	case wire.ActionAllow:
		reply.Verdict = hooks.Allow
	}
	return reply, nil
}

// guard returns run for where the expression holds. Where it does not, there is
// no opinion; where it cannot be evaluated, the hook fails.
func (c *condition) guard(run runner) runner {
	return func(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
		if yes, err := c.holds(d); err != nil || !yes {
			return nil, err
		}
		return run(ctx, d)
	}
}

// silent is a hook that has nothing to say.
func silent(context.Context, hooks.Document) (*hooks.Reply, error) {
	return nil, nil //nolint:nilnil // no opinion
}
