package hookfile

import (
	"context"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/wire"
)

// Requester sends the requests of nats hooks. An empty subject means the decision service of the
// tenant. Request must be safe for concurrent use and return when ctx ends.
type Requester interface {
	Request(ctx context.Context, tenant, subject string, document []byte) ([]byte, error)
}

// Options contains functions that hooks of a file call, and that only the caller can provide.
type Options struct {
	// Requester sends the requests of hooks that call a NATS service. If Requester is nil, these
	// hooks fail.
	Requester Requester
	// Own reports whether the NATS subject belongs to the service that runs these hooks. The
	// service must not wait for itself.
	Own func(subject string) bool
}

// Asks reports whether f contains a hook of type t that is not disabled.
func (f *File) Asks(t Type) bool {
	return slices.ContainsFunc(f.Hooks, func(h Hook) bool { return h.Type == t && !h.Disabled })
}

type runner = func(context.Context, hooks.Document) (*hooks.Reply, error)

// Register adds the policies of f to r, and then the hooks of f. If it fails, it adds nothing.
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
	run = h.explain(run)
	if c := h.when; c != nil {
		run = c.guard(run)
	}
	return r.OnDocument(h.Point.Kind, run, h.options()...)
}

func (h *Hook) options() []hooks.Option {
	list := []hooks.Option{hooks.Name(h.Name), hooks.Priority(h.Priority), hooks.Timeout(h.Timeout)}
	if h.OnFailure != 0 {
		list = append(list, hooks.OnFailure(h.OnFailure))
	}
	if h.Last {
		list = append(list, hooks.Last())
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
		if opts.Own != nil && (h.subject == "" || opts.Own(h.subject)) {
			return nil, fmt.Errorf("hook %s: the decision service would ask itself; name the subject of another one", h.Name)
		}
		return service{event: h.Event, subject: h.subject, to: opts.Requester}.run, nil
	}
	return nil, fmt.Errorf("hook %s: no type", h.Name)
}

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

// explain names the hook in an ask without a reason, so that a person knows why there is a question.
func (h *Hook) explain(run runner) runner {
	return func(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
		reply, err := run(ctx, d)
		if reply != nil && reply.Verdict == hooks.Ask && reply.Reason == "" {
			reply.Reason = "the hook " + h.Name + " asks for approval"
		}
		return reply, err
	}
}

func (c *condition) guard(run runner) runner {
	return func(ctx context.Context, d hooks.Document) (*hooks.Reply, error) {
		if yes, err := c.holds(d); err != nil || !yes {
			return nil, err
		}
		return run(ctx, d)
	}
}
