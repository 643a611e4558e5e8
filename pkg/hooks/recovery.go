package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecoveryPoint is where hooks say how to go on after an error.
type RecoveryPoint struct {
	info *pointInfo
}

// Recovered is what the hooks of the recovery point said together: an explicit
// refusal to retry beats every retry, else the first answer counts.
type Recovered struct {
	Recovery   *Recovery   // nil: nobody knows better
	By         ID          // whose answer it is
	Executions []Execution // of the hooks that ran, in order
	Event      string      // id of the recorded event; empty without an Appender
	RecordErr  error       // the event could not be recorded
}

// Kind returns the point's name, and the kind of the events it records.
func (p *RecoveryPoint) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. fn returns nil if it has no answer.
// See [DecisionPoint.Register].
func (p *RecoveryPoint) Register(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is Register for callers that check [Registry.Err] once.
func (p *RecoveryPoint) On(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch asks every hook of the point, whatever those before it answered. A
// hook that blocks when it fails refuses to retry.
func (p *RecoveryPoint) Dispatch(ctx context.Context, r *Registry, meta Meta, f Failure) Recovered {
	if !r.hasWork(p.info, &meta, "", unknown) {
		return Recovered{}
	}
	return p.dispatch(ctx, r, &meta, f)
}

// recovery is a dispatch at the recovery point.
type recovery struct {
	dispatch

	failure Failure
	out     Recovered
}

// dispatch is Dispatch where there is something to do.
func (p *RecoveryPoint) dispatch(ctx context.Context, r *Registry, meta *Meta, f Failure) Recovered {
	d := &recovery{failure: f}
	d.prepareDispatch(ctx, r, p.info, meta, "", unknown)
	d.run(d)
	d.out.Executions = d.executions
	if d.event != "" {
		d.out.Event, d.out.RecordErr = d.record(p.info.kind, errorPayload(f, &d.out))
	}
	return d.out
}

// invoke calls the hook of c and counts in what it answers.
func (d *recovery) invoke(c *call) progress {
	if err := d.begin(c); err != nil {
		return d.finish(d, c, contribution{}, err)
	}
	answer, ran, err := d.ask(c)
	if !d.claim(c, &err) {
		d.late(c, contribution{}, err)
		return abandoned
	}
	if !ran && err == nil {
		return proceed
	}
	if err == nil && answer != nil {
		d.count(c.hook.id, *answer)
	}
	return d.finish(d, c, contribution{modified: err == nil && answer != nil}, err)
}

// ask calls the hook, beside whoever owns the flight. It returns false where
// the hook is not for this dispatch.
func (d *recovery) ask(c *call) (answer *Recovery, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, Failure) (*Recovery, error))
	if !ok || c.hook.selective() && !c.admits(Subject{}) {
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
func (d *recovery) block(h *hook, _ error) progress {
	d.count(h.id, Recovery{})
	return proceed
}
