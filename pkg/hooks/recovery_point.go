package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecoveryPoint is where hooks say how to go on after an error.
type RecoveryPoint struct {
	at *place
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
func (p *RecoveryPoint) Kind() events.Kind { return p.at.kind }

// On registers fn, which returns nil where it has no answer. See
// [DecisionPoint.On] for what it returns.
func (p *RecoveryPoint) On(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error), opts ...Option) ID {
	return r.on(p.at, orNil(fn, fn == nil), opts)
}

// Dispatch asks every hook of the point, whatever those before it answered. A
// hook that blocks when it fails refuses to retry.
func (p *RecoveryPoint) Dispatch(ctx context.Context, r *Registry, meta Meta, f Failure) Recovered {
	if !r.concerns(p.at, &meta, "", unknown) {
		return Recovered{}
	}
	return p.dispatch(ctx, r, &meta, f)
}

func (p *RecoveryPoint) adding(r *Registry, fn func(context.Context, Meta, Failure) (*Recovery, error)) registration {
	return func(opts []Option) (ID, error) { return r.add(p.at, fn, opts) }
}
