package provider

import (
	"context"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ResilienceOptions are when and how a run is to go on after an error.
type ResilienceOptions struct {
	Limit     int           // errors in a row before the breaker opens; 5 unless positive
	Fallbacks []string      // models to go on with after a model's error, in order
	Base      time.Duration // the first wait after an error of the network is twice this; 1 s unless positive
	Alert     AlertFunc     // told when a breaker opens; nil: nobody
}

// Resilience lets runs survive the failures of what they stand on. After an error
// of a model it falls back to the next one, after one of the network it waits,
// twice as long each time. More than Limit errors in a row open the run's
// breaker: whoever is on call is told once, and nothing is tried again. A step
// that completes begins a new row; the end of a run forgets it. What a tool
// returns and what is denied is not counted: that is the agent's business.
type Resilience struct {
	opts ResilienceOptions

	mu   sync.Mutex // guards runs
	runs map[string]*troubles
}

// troubles are those of a run.
type troubles struct {
	errors  int // in a row
	model   int // the next of the fallbacks
	alerted bool
}

// NewResilience returns a Resilience.
func NewResilience(opts ResilienceOptions) *Resilience {
	if opts.Limit <= 0 {
		opts.Limit = 5
	}
	if opts.Base <= 0 {
		opts.Base = time.Second
	}
	return &Resilience{opts: opts, runs: map[string]*troubles{}}
}

// Name is "resilience".
func (*Resilience) Name() string { return "resilience" }

// Register registers r. Its hook blocks when it fails: an alert that cannot be
// sent does not lift the refusal that it was about.
func (r *Resilience) Register(reg *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	plain := struct {
		hooks.Named
		hooks.ErrorHandler
		hooks.StepFollower
		hooks.RunEnder
	}{r, r, r, r}
	return reg.Use(plain, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrorOccurred says how to go on after an error, if it can tell.
func (r *Resilience) ErrorOccurred(ctx context.Context, meta hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
	recovery, alarm := r.judge(meta.Tenant+"\x00"+meta.Run, f)
	if !alarm || r.opts.Alert == nil {
		return recovery, nil
	}
	return recovery, r.opts.Alert(ctx, alertOf("circuit breaker open", meta, f))
}

// judge counts f, and returns how to go on and whether to raise the alarm.
func (r *Resilience) judge(run string, f hooks.Failure) (recovery *hooks.Recovery, alarm bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Type == hooks.ToolError || f.Type == hooks.PermissionError {
		return nil, false
	}
	t := r.runs[run]
	if t == nil {
		t = &troubles{}
		r.runs[run] = t
	}
	t.errors++
	switch {
	case t.errors > r.opts.Limit:
		alarm, t.alerted = !t.alerted, true
		return &hooks.Recovery{Retry: false}, alarm
	case f.Type == hooks.ModelError && t.model < len(r.opts.Fallbacks):
		next := r.opts.Fallbacks[t.model]
		t.model++
		return &hooks.Recovery{Retry: true, Fallback: next}, false
	case f.Type == hooks.NetworkError:
		return &hooks.Recovery{Retry: true, Backoff: r.backoff(t.errors)}, false
	}
	return nil, false
}

// backoff returns how long to wait after so many errors.
func (r *Resilience) backoff(errors int) time.Duration {
	wait := r.opts.Base
	for range errors {
		if wait *= 2; wait >= hooks.MaxBackoff {
			return hooks.MaxBackoff
		}
	}
	return wait
}

// AfterStep begins a new row of errors where a step has completed.
func (r *Resilience) AfterStep(_ context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	if data.StepStatus == events.StepCompleted {
		r.forget(meta)
	}
	return nil
}

// RunEnd forgets the run.
func (r *Resilience) RunEnd(_ context.Context, meta hooks.Meta, _ events.RunFinishedData) error {
	r.forget(meta)
	return nil
}

func (r *Resilience) forget(meta hooks.Meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, meta.Tenant+"\x00"+meta.Run)
}
