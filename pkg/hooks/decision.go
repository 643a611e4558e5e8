package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DecisionPoint is a point at which hooks allow or deny an action, ask for approval, or patch the
// input.
type DecisionPoint[In, P any] struct {
	info  *pointInfo
	rules decisionRules[In, P]

	copyInput func(In) In // nil if inputs are immutable
	copyPatch func(P) P
}

type decisionRules[In, P any] struct {
	gathered bool              // every hook gets the original input
	noDeny   bool              // a hook that returns Deny or Ask fails
	call     func(In) ToolCall // nil if the input has no tool call
	// apply applies the patch p to in and adds p to sum. It reports whether in has changed. After
	// an error, nothing has changed.
	apply   func(in *In, sum *P, p P) (bool, error)
	payload func(asked In, out *Outcome[In, P]) any

	// These functions convert between Go values and documents for other processes. If a function is
	// nil, the document contains plain JSON.
	read  func(Document) (In, error)
	write func(In, *Document) error
	patch func(reply JSON) (P, error)
	show  func(*Outcome[In, P], *DocumentOutcome) error
}

func newDecision[In, P any](kind events.Kind, rules decisionRules[In, P]) *DecisionPoint[In, P] {
	return &DecisionPoint[In, P]{info: infoOf(kind), rules: rules, copyInput: copier[In](), copyPatch: copier[P]()}
}

// Kind returns the kind of the point and of its events.
func (p *DecisionPoint[In, P]) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. It fails if fn or an option is nil or not allowed, or
// if r is nil or closed.
func (p *DecisionPoint[In, P]) Register(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is like Register, but logs an error and returns an empty id. [Registry.Err] returns the errors
// of all calls.
func (p *DecisionPoint[In, P]) On(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch calls the hooks of the point and returns the combined outcome. It never fails.
func (p *DecisionPoint[In, P]) Dispatch(ctx context.Context, r *Registry, meta Meta, in In) Outcome[In, P] {
	tool := toolOf(p.rules.call, in, &meta)
	if !r.hasWork(p.info, &meta, tool, unknown) {
		return Outcome[In, P]{Verdict: None, Input: in}
	}
	return p.dispatch(ctx, r, &meta, tool, in)
}

func (p *DecisionPoint[In, P]) dispatch(ctx context.Context, r *Registry, meta *Meta, tool string, in In) Outcome[In, P] {
	d := &decision[In, P]{point: p, out: Outcome[In, P]{Verdict: None, Input: in}}
	if p.rules.gathered {
		asked := in
		d.asked = &asked
	}
	d.prepareDispatch(ctx, r, p.info, meta, tool, unknown)
	d.run(d)
	d.out.Executions = d.executions
	if d.event != "" {
		d.out.Event, d.out.RecordErr = d.record(p.info.kind, p.rules.payload(in, &d.out))
	}
	return d.out
}

// orNil avoids an any that holds a nil function, because such an any is not nil.
func orNil(fn any, isNil bool) any {
	if isNil {
		return nil
	}
	return fn
}

// Verdict is the decision of one hook or the combined decision of all hooks.
type Verdict = events.Verdict

// The verdicts of a hook on an action, from the strongest to the weakest.
const (
	Deny  = events.VerdictDeny
	Ask   = events.VerdictAsk
	Allow = events.VerdictAllow
	None  = events.VerdictNone // no opinion
)

// Execution describes how one hook ran in a dispatch.
type Execution = events.Execution

// Decision is the answer of a hook at a [DecisionPoint]. A nil *Decision and the zero Decision mean
// no opinion.
//
// A hook without an opinion can still set Patch and Context. If a hook denies, its Patch is
// ignored.
type Decision[P any] struct {
	Verdict Verdict // empty means no opinion
	Reason  string  // for people and models
	Context string  // for the agent
	Patch   *P      // nil changes nothing
}

// Outcome is the combined answer of all hooks of a decision point.
type Outcome[In, P any] struct {
	Verdict    Verdict     // the strongest verdict, or None if no hook has an opinion
	Reason     string      // reason of the hook in By
	Context    string      // contexts of all hooks in order, separated by blank lines
	Input      In          // the input with all patches, or the input that was denied
	Patch      P           // the combined patches. Later patches replace earlier ones
	Modified   bool        // a patch has changed or added something
	By         ID          // the first hook that returned Verdict
	Executions []Execution // in the order of the hooks
	Event      string      // id of the recorded event
	RecordErr  error       // why the event was not recorded
}
