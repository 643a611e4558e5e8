package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// DecisionPoint is where hooks allow, deny, ask, or patch an input.
type DecisionPoint[In, P any] struct {
	info  *pointInfo
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
	return &DecisionPoint[In, P]{info: infoOf(kind), rules: rules, copyInput: copier[In](), copyPatch: copier[P]()}
}

// Kind returns the point's name, and the kind of the events it records.
func (p *DecisionPoint[In, P]) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. It fails, and registers nothing, if
// fn or an option is nil, an option does not fit the point, or r is nil or closed.
func (p *DecisionPoint[In, P]) Register(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is Register for callers that check [Registry.Err] once. It returns an empty
// id if the registration was refused, and the registry logs the reason.
func (p *DecisionPoint[In, P]) On(r *Registry, fn func(context.Context, Meta, In) (*Decision[P], error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
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
	if !r.hasWork(p.info, &meta, tool, unknown) {
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
	d.prepareDispatch(ctx, r, p.info, meta, tool, unknown)
	d.run(d)
	d.out.Executions = d.executions
	if d.event != "" {
		d.out.Event, d.out.RecordErr = d.record(p.info.kind, p.rules.payload(in, &d.out))
	}
	return d.out
}

// orNil returns fn, or nothing at all where it is a nil function.
func orNil(fn any, isNil bool) any {
	if isNil {
		return nil
	}
	return fn
}

// Verdict is what a decision hook, or all of them together, decided.
type Verdict = events.Verdict

// The verdicts, strongest first.
const (
	Deny  = events.VerdictDeny
	Ask   = events.VerdictAsk
	Allow = events.VerdictAllow
	None  = events.VerdictNone // no opinion
)

// Execution reports one hook's part in a dispatch.
type Execution = events.Execution

// Decision is the answer of a decision hook; a nil *Decision says nothing at
// all. In one without a verdict, patch and context still count. The patch and
// the context of a denial do not change what was judged; its context is kept.
type Decision[P any] struct {
	Verdict Verdict // empty: no opinion
	Reason  string  // why, for people and models
	Context string  // what the agent is to know besides
	Patch   *P      // what to change; nil: nothing
}

// Outcome is what the hooks of a decision point said together. The strongest
// verdict counts, deny before ask before allow, whatever the order; the first
// hook that gave it is By and has the Reason.
type Outcome[In, P any] struct {
	Verdict    Verdict     // never empty; None without an opinion
	Reason     string      // of the hook that decided
	Context    string      // of all hooks, in order, a blank line in between
	Input      In          // as patched: what to go on with, or what was denied
	Patch      P           // all patches together, the later one winning
	Modified   bool        // a patch changed the input or asked for something
	By         ID          // the hook that decided; empty without an opinion
	Executions []Execution // of the hooks that ran, in order
	Event      string      // id of the recorded event; empty without an Appender
	RecordErr  error       // the event could not be recorded
}
