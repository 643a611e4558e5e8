package hooks

import "context"

// recovery is a dispatch at the recovery point.
type recovery struct {
	flight

	failure Failure
	out     Recovered
}

// dispatch is Dispatch where there is something to do.
func (p *RecoveryPoint) dispatch(ctx context.Context, r *Registry, meta *Meta, f Failure) Recovered {
	d := &recovery{failure: f}
	d.takeOff(ctx, r, p.at, meta, "", unknown)
	d.run(d)
	d.out.Executions = d.executions
	if d.event != "" {
		d.out.Event, d.out.RecordErr = d.record(p.at.kind, errorPayload(f, &d.out))
	}
	return d.out
}

// invoke calls the hook of c and counts in what it answers.
func (d *recovery) invoke(c *call) fate {
	if err := d.begin(c); err != nil {
		return d.settle(d, c, said{}, err)
	}
	answer, ran, err := d.ask(c)
	if !d.claim(c, &err) {
		d.late(c, said{}, err)
		return lost
	}
	if !ran && err == nil {
		return goesOn
	}
	if err == nil && answer != nil {
		d.count(c.hook.id, *answer)
	}
	return d.settle(d, c, said{modified: err == nil && answer != nil}, err)
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (d *recovery) ask(c *call) (answer *Recovery, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, Failure) (*Recovery, error))
	if !ok || c.hook.picky() && !c.admits(Subject{}) {
		return nil, false, nil
	}
	answer, err = fn(c, d.meta, d.failure)
	return answer, true, err
}

// count counts in an answer: the first one, unless a later one refuses to retry.
func (d *recovery) count(by ID, answer Recovery) {
	answer.Backoff = max(answer.Backoff, 0)
	if d.out.Recovery == nil || d.out.Recovery.Retry && !answer.Retry {
		d.out.Recovery, d.out.By = &answer, by
	}
}

// block refuses to retry because h has failed. The others see the error all the
// same.
func (d *recovery) block(h *hook, _ error) fate {
	d.count(h.id, Recovery{})
	return goesOn
}
