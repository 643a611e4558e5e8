package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// TransformPoint is a point at which hooks change a value of type V, which belongs to a subject of
// type S.
type TransformPoint[S, V any] struct {
	info  *pointInfo
	rules transformRules[S, V]

	copyValue func(V) V // nil if values are immutable
}

type transformRules[S, V any] struct {
	call     func(S) ToolCall // nil if the subject has no tool call
	ending   func(V) ending   // nil if the point does not report success
	check    func(V) error    // nil accepts all values
	same     func(a, b V) bool
	instead  func(V) V                               // new value if a hook blocks, nil keeps the value
	proceeds bool                                    // if a hook blocks, the action continues with the replacement
	payload  func(s S, v V, out *Transformed[V]) any // v is the original value

	read  func(Document) (S, V, error)
	write func(S, V, *Document) error
	reply func(now V, r *Reply) (V, error)
	show  func(V, *DocumentOutcome) error
	asked func(Document) JSON // the text of the value that show gives, or empty. May be nil
}

// Transformed is the result of the hooks of a transform point.
type Transformed[V any] struct {
	Value      V           // the final value
	Modified   bool        // whether a hook changed the value
	Prevented  bool        // a failed hook blocks the action. Use Value only at [ToolResult]
	Err        error       // joined failures of hooks, each a *HookExecutionError
	Executions []Execution // in order
	Event      string
	RecordErr  error

	because string // why Prevented is set
}

func newTransform[S, V any](kind events.Kind, rules transformRules[S, V]) *TransformPoint[S, V] {
	return &TransformPoint[S, V]{info: infoOf(kind), rules: rules, copyValue: copier[V]()}
}

// Kind returns the kind of the point and of its events.
func (p *TransformPoint[S, V]) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. fn returns the new value, or nil to keep the value. See
// [DecisionPoint.Register] for errors.
func (p *TransformPoint[S, V]) Register(r *Registry, fn func(context.Context, Meta, S, V) (*V, error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is like Register, but logs an error and returns an empty id. [Registry.Err] returns the errors
// of all calls of On.
func (p *TransformPoint[S, V]) On(r *Registry, fn func(context.Context, Meta, S, V) (*V, error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch passes v through the hooks of the point and returns the result. It never fails.
func (p *TransformPoint[S, V]) Dispatch(ctx context.Context, r *Registry, meta Meta, s S, v V) Transformed[V] {
	tool := toolOf(p.rules.call, s, &meta)
	end := unknown
	if p.rules.ending != nil {
		end = p.rules.ending(v)
	}
	if !r.hasWork(p.info, &meta, tool, end) {
		return Transformed[V]{Value: v}
	}
	return p.dispatch(ctx, r, &meta, tool, end, s, v)
}

type transform[S, V any] struct {
	dispatch

	point   *TransformPoint[S, V]
	subject S
	out     Transformed[V]
}

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
		v = copied(p.copyValue, t.out.Value) // the caller may change its value after Dispatch has returned
		t.startAsync(func(c *call) (bool, error) {
			_, ran, err := t.ask(c, copied(p.copyValue, v))
			return ran, err
		})
	}
	return t.out
}

func (t *transform[S, V]) invoke(c *call) chainState {
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
	var given contribution
	if err == nil && answer != nil {
		given.modified, err = t.count(copied(t.point.copyValue, *answer))
	}
	return t.finish(t, c, given, err)
}

func (t *transform[S, V]) ask(c *call, value V) (answer *V, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, S, V) (*V, error))
	if !ok || c.hook.selective() && !c.admits(subjectOf(t.point.rules.call, t.subject)) {
		return nil, false, nil
	}
	answer, err = fn(c, t.meta, t.subject, value)
	return answer, true, err
}

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

// block skips hooks, because a partly transformed value must not be used. A replacement is recorded,
// so hooks with Last still see it.
func (t *transform[S, V]) block(h *hook, err error) chainState {
	if t.out.because == "" {
		t.out.because = "hook " + h.label() + " failed: " + faultOf(err)
	}
	if instead := t.point.rules.instead; instead != nil {
		t.out.Value, t.out.Modified = instead(t.out.Value), true
	}
	t.out.Prevented = !t.point.rules.proceeds
	if h.last {
		return endChain
	}
	return toJudges
}
