package hooks

import "context"

// transform is a dispatch at a transform point.
type transform[S, V any] struct {
	flight

	point   *TransformPoint[S, V]
	subject S
	out     Transformed[V]
}

// dispatch is Dispatch where there is something to do.
func (p *TransformPoint[S, V]) dispatch(
	ctx context.Context, r *Registry, meta Meta, tool string, end ending, s S, v V,
) Transformed[V] {
	// The caller gets a value of its own, so that what it does with it later
	// does not reach a hook that is late.
	t := &transform[S, V]{point: p, subject: s, out: Transformed[V]{Value: copied(p.copyValue, v)}}
	t.takeOff(r, p.at, meta, tool, end)
	t.sequence(ctx, t)
	t.out.Executions, t.out.Err = t.executions, t.joined()
	if t.event != "" {
		t.out.Event, t.out.RecordErr = t.record(ctx, p.at.kind, p.rules.payload(s, v, &t.out))
	}
	if t.chain.later() && !t.out.Prevented {
		v = copied(p.copyValue, t.out.Value) // the caller may change its own
		t.later(ctx, func(c *call) (bool, error) {
			_, ran, err := t.ask(c, copied(p.copyValue, v))
			return ran, err
		})
	}
	return t.out
}

// invoke calls the hook of c and goes on with the value that it returns.
func (t *transform[S, V]) invoke(c *call) fate {
	value := copied(t.point.copyValue, t.out.Value)
	if err := t.begin(c); err != nil {
		return t.settle(t, c, Execution{}, err)
	}
	answer, ran, err := t.ask(c, value)
	if !t.claim(c, &err) {
		t.late(c, Execution{}, err)
		return lost
	}
	if !ran && err == nil {
		return goesOn
	}
	var x Execution
	if err == nil && answer != nil {
		err = t.count(copied(t.point.copyValue, *answer), &x)
	}
	return t.settle(t, c, x, err)
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (t *transform[S, V]) ask(c *call, value V) (answer *V, ran bool, err error) {
	defer t.guard(c, &ran, &err)
	var subject Subject
	if t.point.rules.call != nil {
		call := t.point.rules.call(t.subject)
		subject = Subject{Tool: call.Tool, Args: call.Args}
	}
	fn, ok := c.hook.fn.(func(context.Context, Meta, S, V) (*V, error))
	if !ok || !c.admits(t.meta, subject) {
		return nil, false, nil
	}
	answer, err = fn(c, t.meta, t.subject, value)
	return answer, true, err
}

// count goes on with what a hook has returned.
func (t *transform[S, V]) count(value V, x *Execution) error {
	if check := t.point.rules.check; check != nil {
		if err := check(value); err != nil {
			return err
		}
	}
	x.Modified = !t.point.rules.same(t.out.Value, value)
	t.out.Modified = t.out.Modified || x.Modified
	t.out.Value = value
	return nil
}

// block keeps what the value was for from happening, because a hook has failed.
func (t *transform[S, V]) block(*hook, error) {
	if instead := t.point.rules.instead; instead != nil {
		t.out.Value, t.out.Modified = instead(t.out.Value), true
		return
	}
	t.out.Prevented = true
}
