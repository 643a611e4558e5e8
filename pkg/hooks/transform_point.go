package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// TransformPoint is where a value of type V flows through the hooks; S is what
// it belongs to.
type TransformPoint[S, V any] struct {
	at    *place
	rules transformRules[S, V]

	copyValue func(V) V // nil where values cannot be changed
}

// transformRules are what is particular to a transform point.
type transformRules[S, V any] struct {
	call    func(S) ToolCall                        // the tool call that it is about, if any
	ending  func(V) ending                          // how what the value is about ended, where it tells
	check   func(V) error                           // refuses what cannot be a value; nil accepts all
	same    func(a, b V) bool                       // tells whether nothing was changed
	instead func(V) V                               // takes the place of a value whose hook blocks; nil: none does
	goesOn  bool                                    // with that, and is not prevented
	payload func(s S, v V, out *Transformed[V]) any // of the event; v is the value as it came

	// How documents stand for it.
	read  func(Document) (S, V, error)
	write func(S, V, *Document) error
	reply func(now V, r *Reply) (V, error)
	show  func(V, *DocumentOutcome) error
}

// Transformed is what the hooks of a transform point made of a value.
type Transformed[V any] struct {
	Value      V           // what to go on with
	Modified   bool        // a hook changed it
	Prevented  bool        // a failed hook blocks what the value was for: do not write, send or use it; of a tool's result it is gone
	Err        error       // the failures of hooks, each a *HookExecutionError, joined
	Executions []Execution // of the hooks that ran, in order
	Event      string      // id of the recorded event; empty without an Appender
	RecordErr  error       // the event could not be recorded
}

func newTransform[S, V any](kind events.Kind, rules transformRules[S, V]) *TransformPoint[S, V] {
	return &TransformPoint[S, V]{at: at(kind), rules: rules, copyValue: copier[V]()}
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
	var tool string
	if p.rules.call != nil {
		call := p.rules.call(s)
		tool = call.Tool
		if meta.ToolCall == "" {
			meta.ToolCall = call.ID
		}
	}
	end := unknown
	if p.rules.ending != nil {
		end = p.rules.ending(v)
	}
	if !r.concerns(p.at, &meta, tool, end) {
		return Transformed[V]{Value: v}
	}
	return p.dispatch(ctx, r, &meta, tool, end, s, v)
}

func (p *TransformPoint[S, V]) adding(r *Registry, fn func(context.Context, Meta, S, V) (*V, error)) registration {
	return func(opts []Option) (ID, error) { return r.add(p.at, fn, opts) }
}
