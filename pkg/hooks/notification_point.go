package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// NotificationPoint is where hooks are told of something that happened. They
// can change nothing of it.
type NotificationPoint[E any] struct {
	at     *place
	tell   func(*E, []Execution) // puts executions into the payload of the event
	ending func(E) ending        // how what is told of ended; nil where that says nothing

	copyEvent func(E) E
}

// Notified tells how the hooks of a notification point fared.
type Notified struct {
	Executions []Execution           // of the hooks that ran, in order of priority
	Errors     []*HookExecutionError // of those that failed, in the same order
	Event      string                // id of the recorded event; empty without an Appender
	RecordErr  error                 // the event could not be recorded
}

func newNotification[E any](kind events.Kind, tell func(*E, []Execution), end func(E) ending) *NotificationPoint[E] {
	return &NotificationPoint[E]{at: at(kind), tell: tell, ending: end, copyEvent: copier[E]()}
}

// Kind returns the point's name, and the kind of the events it records.
func (p *NotificationPoint[E]) Kind() events.Kind { return p.at.kind }

// On registers fn. See [DecisionPoint.On] for what it returns.
func (p *NotificationPoint[E]) On(r *Registry, fn func(context.Context, Meta, E) error, opts ...Option) ID {
	return r.on(p.at, orNil(fn, fn == nil), opts)
}

// Dispatch tells the hooks of the point of e, all at once, each with a copy of
// its own, and waits for them. One that fails does not keep the others from
// being told.
func (p *NotificationPoint[E]) Dispatch(ctx context.Context, r *Registry, meta Meta, e E) Notified {
	end := unknown
	if p.ending != nil {
		end = p.ending(e)
	}
	if !r.concerns(p.at, &meta, "", end) {
		return Notified{}
	}
	return p.dispatch(ctx, r, &meta, end, e)
}

func (p *NotificationPoint[E]) payload(e E, executions []Execution) any {
	p.tell(&e, executions)
	return e
}

func (p *NotificationPoint[E]) adding(r *Registry, fn func(context.Context, Meta, E) error) registration {
	return func(opts []Option) (ID, error) { return r.add(p.at, fn, opts) }
}
