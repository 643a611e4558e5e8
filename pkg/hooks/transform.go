package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// TransformPoint is where a value of type V flows through the hooks; S is what
// it belongs to.
type TransformPoint[S, V any] struct {
	info  *pointInfo
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
	return &TransformPoint[S, V]{info: infoOf(kind), rules: rules, copyValue: copier[V]()}
}

// Kind returns the point's name, and the kind of the events it records.
func (p *TransformPoint[S, V]) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. fn returns the new value, or nil to
// keep the old one. See [DecisionPoint.Register].
func (p *TransformPoint[S, V]) Register(r *Registry, fn func(context.Context, Meta, S, V) (*V, error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is Register for callers that check [Registry.Err] once.
func (p *TransformPoint[S, V]) On(r *Registry, fn func(context.Context, Meta, S, V) (*V, error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
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
	if !r.hasWork(p.info, &meta, tool, end) {
		return Transformed[V]{Value: v}
	}
	return p.dispatch(ctx, r, &meta, tool, end, s, v)
}

// transform is a dispatch at a transform point.
type transform[S, V any] struct {
	dispatch

	point   *TransformPoint[S, V]
	subject S
	out     Transformed[V]
}

// dispatch is Dispatch where there is something to do.
func (p *TransformPoint[S, V]) dispatch(
	ctx context.Context, r *Registry, meta *Meta, tool string, end ending, s S, v V,
) Transformed[V] {
	t := &transform[S, V]{point: p, subject: s, out: Transformed[V]{Value: v}}
	t.prepareDispatch(ctx, r, p.info, meta, tool, end)
	t.run(t)
	t.out.Executions, t.out.Err = t.executions, t.joined()
	if t.event != "" {
		t.out.Event, t.out.RecordErr = t.record(p.info.kind, p.rules.payload(s, v, &t.out))
	}
	if t.chain.hasAsync() && !t.out.Prevented {
		v = copied(p.copyValue, t.out.Value) // the caller may change its own
		t.startAsync(func(c *call) (bool, error) {
			_, ran, err := t.ask(c, copied(p.copyValue, v))
			return ran, err
		})
	}
	return t.out
}

// invoke calls the hook of c and goes on with the value that it returns.
func (t *transform[S, V]) invoke(c *call) progress {
	value := copied(t.point.copyValue, t.out.Value)
	if err := t.begin(c); err != nil {
		return t.finish(t, c, contribution{}, err)
	}
	answer, ran, err := t.ask(c, value)
	if !t.claim(c, &err) {
		t.late(c, contribution{}, err)
		return abandoned
	}
	if !ran && err == nil {
		return proceed
	}
	var what contribution
	if err == nil && answer != nil {
		what.modified, err = t.count(copied(t.point.copyValue, *answer))
	}
	return t.finish(t, c, what, err)
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (t *transform[S, V]) ask(c *call, value V) (answer *V, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, S, V) (*V, error))
	if !ok || c.hook.selective() && !c.admits(t.point.about(t.subject)) {
		return nil, false, nil
	}
	answer, err = fn(c, t.meta, t.subject, value)
	return answer, true, err
}

// count goes on with what a hook has returned, and tells whether that is new.
func (t *transform[S, V]) count(value V) (bool, error) {
	if check := t.point.rules.check; check != nil {
		if err := check(value); err != nil {
			return false, err
		}
	}
	modified := !t.point.rules.same(t.out.Value, value)
	t.out.Modified = t.out.Modified || modified
	t.out.Value = value
	return modified, nil
}

// about returns what the matchers see of a subject.
func (p *TransformPoint[S, V]) about(s S) Subject {
	if p.rules.call == nil {
		return Subject{}
	}
	call := p.rules.call(s)
	return Subject{Tool: call.Tool, Args: call.Args}
}

// block keeps what the value was for from happening, because a hook has failed.
func (t *transform[S, V]) block(*hook, error) progress {
	if instead := t.point.rules.instead; instead != nil {
		t.out.Value, t.out.Modified = instead(t.out.Value), true
	}
	t.out.Prevented = !t.point.rules.goesOn
	return endChain
}
