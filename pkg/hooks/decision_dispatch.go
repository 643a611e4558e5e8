package hooks

import "context"

// decision is a dispatch at a decision point.
type decision[In, P any] struct {
	dispatch

	point *DecisionPoint[In, P]
	asked *In // as it came, where every hook is to see that
	out   Outcome[In, P]
}

// invoke calls the hook of c and counts in what it decides.
func (d *decision[In, P]) invoke(c *call) progress {
	in := d.out.Input
	if d.asked != nil {
		in = *d.asked
	}
	in = copied(d.point.copyInput, in)
	if err := d.begin(c); err != nil {
		return d.finish(d, c, contribution{}, err)
	}
	answer, ran, err := d.ask(c, in)
	var what contribution
	if answer != nil && err == nil {
		what.verdict = answer.Verdict
	}
	if !d.claim(c, &err) {
		d.late(c, what, err)
		return abandoned
	}
	switch {
	case err != nil:
		what = contribution{}
	case !ran:
		return proceed
	case answer == nil:
		what.verdict = None
	default:
		what, err = d.count(c.hook, *answer)
	}
	if next := d.finish(d, c, what, err); next == endChain || what.verdict == Deny {
		return endChain
	}
	return proceed
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (d *decision[In, P]) ask(c *call, in In) (answer *Decision[P], ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, In) (*Decision[P], error))
	if !ok || c.hook.selective() && !c.admits(d.point.subject(in)) {
		return nil, false, nil
	}
	answer, err = fn(c, d.meta, in)
	return answer, true, err
}

// count counts in an answer, and returns what of it.
func (d *decision[In, P]) count(h *hook, answer Decision[P]) (contribution, error) {
	switch answer.Verdict {
	case "":
		answer.Verdict = None
	case None, Allow:
	case Ask, Deny:
		if d.point.rules.noDeny {
			return contribution{}, ErrBadOutput
		}
	default:
		return contribution{}, ErrBadOutput
	}
	var modified bool
	if answer.Patch != nil && answer.Verdict != Deny {
		var err error
		modified, err = d.point.rules.apply(&d.out.Input, &d.out.Patch, copied(d.point.copyPatch, *answer.Patch))
		switch {
		case err != nil && answer.Verdict == Ask: // the doubt counts all the same
			d.decide(h.id, Ask, answer.Reason)
			return contribution{verdict: Ask}, err
		case err != nil:
			return contribution{}, err
		}
	}
	d.out.Modified = d.out.Modified || modified
	d.out.Context = joinContext(d.out.Context, answer.Context)
	d.decide(h.id, answer.Verdict, answer.Reason)
	return contribution{answer.Verdict, modified}, nil
}

// block denies because h has failed, where something can be denied.
func (d *decision[In, P]) block(h *hook, err error) progress {
	d.decide(h.id, Deny, "hook "+h.label()+" failed: "+faultOf(err))
	return endChain
}

// decide counts in a verdict of a hook.
func (d *decision[In, P]) decide(by ID, verdict Verdict, reason string) {
	if rank(verdict) > rank(d.out.Verdict) {
		d.out.Verdict, d.out.By, d.out.Reason = verdict, by, reason
	}
}

// subject returns what the matchers see of an input.
func (p *DecisionPoint[In, P]) subject(in In) Subject {
	if p.rules.call == nil {
		return Subject{}
	}
	call := p.rules.call(in)
	return Subject{Tool: call.Tool, Args: call.Args}
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
