package hooks

import "context"

type decision[In, P any] struct {
	dispatch

	point *DecisionPoint[In, P]
	asked *In // the original input at gathered points, otherwise nil
	out   Outcome[In, P]
}

func (d *decision[In, P]) invoke(c *call) chainState {
	in := d.input(c.hook)
	if err := d.begin(c); err != nil {
		return d.finish(d, c, contribution{}, err)
	}
	answer, ran, err := d.ask(c, in)
	var given contribution
	if answer != nil && err == nil {
		given.verdict = answer.Verdict
	}
	if !d.claim(c, &err) {
		d.late(c, given, err)
		return abandoned
	}
	switch {
	case err != nil:
		given = contribution{}
	case !ran:
		return proceed
	case answer == nil:
		given.verdict = None
	default:
		given, err = d.count(c.hook, *answer)
	}
	if next := d.finish(d, c, given, err); next == endChain || given.verdict == Deny {
		return endChain
	}
	return proceed
}

func (d *decision[In, P]) input(h *hook) In {
	if d.asked != nil && !h.last {
		return copied(d.point.copyInput, *d.asked)
	}
	return copied(d.point.copyInput, d.out.Input)
}

// ask may still run after its dispatch has given up on the hook, so it must not change the
// dispatch.
func (d *decision[In, P]) ask(c *call, in In) (answer *Decision[P], ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, In) (*Decision[P], error))
	if !ok || c.hook.selective() && !c.admits(subjectOf(d.point.rules.call, in)) {
		return nil, false, nil
	}
	answer, err = fn(c, d.meta, in)
	return answer, true, err
}

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
		modified, err = d.apply(h, *answer.Patch)
		switch {
		case err != nil && answer.Verdict == Ask: // the Ask counts although the patch is invalid
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

func (d *decision[In, P]) apply(h *hook, patch P) (bool, error) {
	if h.last {
		return false, ErrBadOutput // no hook would judge the patched input
	}
	return d.point.rules.apply(&d.out.Input, &d.out.Patch, copied(d.point.copyPatch, patch))
}

func (d *decision[In, P]) block(h *hook, err error) chainState {
	d.decide(h.id, Deny, "hook "+h.label()+" failed: "+faultOf(err))
	return endChain
}

func (d *decision[In, P]) decide(by ID, verdict Verdict, reason string) {
	if rank(verdict) > rank(d.out.Verdict) {
		d.out.Verdict, d.out.By, d.out.Reason = verdict, by, reason
	}
}

func subjectOf[T any](callOf func(T) ToolCall, input T) Subject {
	if callOf == nil {
		return Subject{}
	}
	call := callOf(input)
	return Subject{Tool: call.Tool, Args: call.Args}
}

func toolOf[T any](callOf func(T) ToolCall, input T, meta *Meta) string {
	if callOf == nil {
		return ""
	}
	call := callOf(input)
	if meta.ToolCall == "" {
		meta.ToolCall = call.ID
	}
	return call.Tool
}

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

func joinContext(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}
