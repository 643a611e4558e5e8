package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecoveryPoint is the type of [Error], at which hooks decide about a retry.
type RecoveryPoint struct {
	info *pointInfo
}

// Recovered is the combined answer of all hooks of [Error].
type Recovered struct {
	Recovery   *Recovery   // nil if no hook has an answer
	By         ID          // the hook that returned Recovery
	Executions []Execution // in the order of the hooks
	Event      string
	RecordErr  error
}

// Kind returns the kind of the point and of its events.
func (p *RecoveryPoint) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. fn returns nil if it has no answer. See
// [DecisionPoint.Register] for errors.
func (p *RecoveryPoint) Register(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error), opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is like Register, but logs an error and returns an empty id. [Registry.Err] returns the errors
// of all calls of On.
func (p *RecoveryPoint) On(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error), opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch calls every hook of the point and returns the combined answer. It never fails.
func (p *RecoveryPoint) Dispatch(ctx context.Context, r *Registry, meta Meta, f Failure) Recovered {
	if !r.hasWork(p.info, &meta, "", unknown) {
		return Recovered{}
	}
	return p.dispatch(ctx, r, &meta, f)
}

type recovery struct {
	dispatch

	failure Failure
	out     Recovered
}

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

func (d *recovery) invoke(c *call) chainState {
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

func (d *recovery) ask(c *call) (answer *Recovery, ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, Failure) (*Recovery, error))
	if !ok || c.hook.selective() && !c.admits(Subject{}) {
		return nil, false, nil
	}
	answer, err = fn(c, d.meta, d.failure)
	return answer, true, err
}

func (d *recovery) count(by ID, answer Recovery) {
	answer.Backoff = max(answer.Backoff, 0)
	if d.out.Recovery == nil || d.out.Recovery.Retry && !answer.Retry {
		d.out.Recovery, d.out.By = &answer, by
	}
}

func (d *recovery) block(h *hook, _ error) chainState {
	d.count(h.id, Recovery{})
	return proceed
}
