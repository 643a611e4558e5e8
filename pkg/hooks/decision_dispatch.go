package hooks

import "context"

// decision is a dispatch at a decision point.
type decision[In, P any] struct {
	flight

	point *DecisionPoint[In, P]
	asked In // as it came
	out   Outcome[In, P]
}

// invoke calls the hook of c and counts in what it decides.
func (d *decision[In, P]) invoke(c *call) fate {
	in := d.out.Input
	if d.point.rules.gathered {
		in = d.asked
	}
	in = copied(d.point.copyInput, in)
	if err := d.begin(c); err != nil {
		return d.settle(d, c, Execution{}, err)
	}
	answer, ran, err := d.ask(c, in)
	var verdict Verdict
	if answer != nil && err == nil {
		verdict = answer.Verdict
	}
	if !d.claim(c, &err) {
		d.late(c, Execution{Verdict: verdict}, err)
		return lost
	}
	if !ran && err == nil {
		return goesOn
	}
	x := Execution{Verdict: None}
	if err == nil && answer != nil {
		err = d.count(c.hook, *answer, &x)
	}
	if next := d.settle(d, c, x, err); next == ends || x.Verdict == Deny {
		return ends
	}
	return goesOn
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (d *decision[In, P]) ask(c *call, in In) (answer *Decision[P], ran bool, err error) {
	defer d.guard(c, &ran, &err)
	var subject Subject
	if d.point.rules.call != nil {
		call := d.point.rules.call(in)
		subject = Subject{Tool: call.Tool, Args: call.Args}
	}
	fn, ok := c.hook.fn.(func(context.Context, Meta, In) (*Decision[P], error))
	if !ok || !c.admits(d.meta, subject) {
		return nil, false, nil
	}
	answer, err = fn(c, d.meta, in)
	return answer, true, err
}

// count counts in an answer, and reports it in x.
func (d *decision[In, P]) count(h *hook, answer Decision[P], x *Execution) error {
	switch answer.Verdict {
	case "", None, Allow:
	case Ask, Deny:
		if d.point.rules.noDeny {
			return ErrBadOutput
		}
	default:
		return ErrBadOutput
	}
	if answer.Patch != nil && answer.Verdict != Deny {
		modified, err := d.point.rules.apply(&d.out.Input, &d.out.Patch, copied(d.point.copyPatch, *answer.Patch))
		if err != nil {
			if answer.Verdict == Ask { // the doubt counts all the same
				x.Verdict = Ask
				d.decide(h.id, Ask, answer.Reason)
			}
			return err
		}
		x.Modified = modified
		d.out.Modified = d.out.Modified || modified
	}
	d.out.Context = joinContext(d.out.Context, answer.Context)
	if answer.Verdict != "" {
		x.Verdict = answer.Verdict
		d.decide(h.id, answer.Verdict, answer.Reason)
	}
	return nil
}

// block denies because h has failed, where something can be denied.
func (d *decision[In, P]) block(h *hook, err error) {
	d.decide(h.id, Deny, "hook "+h.label()+" failed: "+faultOf(err))
}

// decide counts in a verdict of a hook.
func (d *decision[In, P]) decide(by ID, verdict Verdict, reason string) {
	if rank(verdict) > rank(d.out.Verdict) {
		d.out.Verdict, d.out.By, d.out.Reason = verdict, by, reason
	}
}

// rank orders the verdicts by strength.
func rank(v Verdict) int {
	switch v {
	case Deny:
		return 3
	case Ask:
		return 2
	case Allow:
		return 1
	case None:
	}
	return 0
}

// joinContext returns both contexts, a blank line in between.
func joinContext(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
