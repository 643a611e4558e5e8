package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DecisionPoint is where hooks allow, deny, ask, or patch an input.
type DecisionPoint[In, P any] struct {
	at    *place
	rules decisionRules[In, P]

	copyInput func(In) In // nil where inputs cannot be changed
	copyPatch func(P) P
}

// decisionRules are what is particular to a decision point.
type decisionRules[In, P any] struct {
	gathered bool              // every hook sees the input as it came
	noDeny   bool              // there is nothing to deny
	call     func(In) ToolCall // the tool call that it is about, if any
	// apply changes in and sum by p, or neither of them, and tells whether p
	// says anything new.
	apply   func(in *In, sum *P, p P) (bool, error)
	payload func(asked In, out *Outcome[In, P]) any // of the event

	// How documents stand for it, where In is not their Payload, nor P the Patch
	// and the Value.
	read  func(Document) (In, error)
	write func(In, *Document) error
	patch func(reply JSON) (P, error)
	show  func(*Outcome[In, P], *DocumentOutcome) error
}

func newDecision[In, P any](kind events.Kind, rules decisionRules[In, P]) *DecisionPoint[In, P] {
	return &DecisionPoint[In, P]{at: at(kind), rules: rules, copyInput: copier[In](), copyPatch: copier[P]()}
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
	var tool string
	if p.rules.call != nil {
		call := p.rules.call(in)
		tool = call.Tool
		if meta.ToolCall == "" {
			meta.ToolCall = call.ID
		}
	}
	if !r.concerns(p.at, &meta, tool, unknown) {
		return Outcome[In, P]{Verdict: None, Input: in}
	}
	return p.dispatch(ctx, r, &meta, tool, in)
}

// dispatch is Dispatch where there is something to do.
func (p *DecisionPoint[In, P]) dispatch(ctx context.Context, r *Registry, meta *Meta, tool string, in In) Outcome[In, P] {
	d := &decision[In, P]{point: p, out: Outcome[In, P]{Verdict: None, Input: in}}
	if p.rules.gathered {
		asked := in
		d.asked = &asked
	}
	d.takeOff(ctx, r, p.at, meta, tool, unknown)
	d.run(d)
	d.out.Executions = d.executions
	if d.event != "" {
		d.out.Event, d.out.RecordErr = d.record(p.at.kind, p.rules.payload(in, &d.out))
	}
	return d.out
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
