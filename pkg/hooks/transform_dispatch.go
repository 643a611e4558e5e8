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
	ctx context.Context, r *Registry, meta *Meta, tool string, end ending, s S, v V,
) Transformed[V] {
	t := &transform[S, V]{point: p, subject: s, out: Transformed[V]{Value: v}}
	t.takeOff(ctx, r, p.at, meta, tool, end)
	t.run(t)
	t.out.Executions, t.out.Err = t.executions, t.joined()
	if t.event != "" {
		t.out.Event, t.out.RecordErr = t.record(p.at.kind, p.rules.payload(s, v, &t.out))
	}
	if t.chain.later() && !t.out.Prevented {
		v = copied(p.copyValue, t.out.Value) // the caller may change its own
		t.later(func(c *call) (bool, error) {
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
		return t.settle(t, c, said{}, err)
	}
	answer, ran, err := t.ask(c, value)
	if !t.claim(c, &err) {
		t.late(c, said{}, err)
		return lost
	}
	if !ran && err == nil {
		return goesOn
	}
	var what said
	if err == nil && answer != nil {
		what.modified, err = t.count(copied(t.point.copyValue, *answer))
	}
	return t.settle(t, c, what, err)
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (t *transform[S, V]) ask(c *call, value V) (answer *V, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, S, V) (*V, error))
	if !ok || c.hook.picky() && !c.admits(t.point.about(t.subject)) {
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
func (t *transform[S, V]) block(*hook, error) fate {
	if instead := t.point.rules.instead; instead != nil {
		t.out.Value, t.out.Modified = instead(t.out.Value), true
	}
	t.out.Prevented = !t.point.rules.goesOn
	return ends
}
