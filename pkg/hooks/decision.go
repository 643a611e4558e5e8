package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DecisionPoint is a point at which hooks allow, deny, ask or patch an input.
type DecisionPoint[In, P any] struct {
	info  *pointInfo
	rules decisionRules[In, P]

	copyInput func(In) In // nil if inputs are immutable
	copyPatch func(P) P
}

type decisionRules[In, P any] struct {
	gathered bool              // every hook sees the original input
	noDeny   bool              // a deny or an ask is a failure of the hook
	call     func(In) ToolCall // nil if the input has no tool call
	// apply changes in and sum, or neither on an error. It reports whether p
	// changes anything.
	apply   func(in *In, sum *P, p P) (bool, error)
	payload func(asked In, out *Outcome[In, P]) any

	// The conversions to and from documents. By default Payload is the input,
	// and Patch and Value are patches.
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

// Register registers fn and returns its id. It fails and registers nothing if
// fn or an option is nil, if an option does not fit the point, or if r is nil
// or closed.
func (p *DecisionPoint[In, P]) Register(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is Register for callers that check [Registry.Err] once. It logs a refused
// registration and returns an empty id.
func (p *DecisionPoint[In, P]) On(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch asks the hooks of the point about in. It never fails.
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

// orNil returns an untyped nil for a nil function.
func orNil(fn any, isNil bool) any {
	if isNil {
		return nil
	}
	return fn
}

// Verdict is the decision of a hook or of a whole chain.
type Verdict = events.Verdict

// The verdicts, strongest first.
const (
	Deny  = events.VerdictDeny
	Ask   = events.VerdictAsk
	Allow = events.VerdictAllow
	None  = events.VerdictNone // no opinion
)

// Execution reports how one hook ran in a dispatch.
type Execution = events.Execution

// Decision is the answer of a decision hook. A nil *Decision and the zero
// Decision have no opinion. A patch and a context count without a verdict. A
// denial's patch is ignored, and its context is kept.
type Decision[P any] struct {
	Verdict Verdict // empty means no opinion
	Reason  string  // for people and models
	Context string  // for the agent
	Patch   *P      // nil changes nothing
}

// Outcome is the combined answer of the hooks of a decision point.
type Outcome[In, P any] struct {
	Verdict    Verdict     // the strongest; None if no hook has an opinion
	Reason     string      // from the hook By
	Context    string      // of all hooks in order, separated by blank lines
	Input      In          // the patched input; for a denial, the input that was judged
	Patch      P           // the combined patches; later ones win
	Modified   bool        // whether a patch changed or added something
	By         ID          // the first hook that gave the verdict
	Executions []Execution // in order
	Event      string      // id of the recorded event
	RecordErr  error       // why the event was not recorded
}
