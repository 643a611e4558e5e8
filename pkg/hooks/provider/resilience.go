package provider

import (
	"context"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ResilienceOptions configures a [Resilience].
type ResilienceOptions struct {
	Limit     int           // tolerated errors in a row, 5 unless positive
	Fallbacks []string      // fallback models after model errors, in order
	Base      time.Duration // first wait after a network error, which then doubles; 1 s unless positive
	Alert     AlertFunc     // called when a breaker opens, nil for no alert
}

// Resilience decides how a run continues after an error. After a model error, it switches to the
// next fallback model. After a network error, it waits, each time twice as long.
//
// After more than Limit errors in a row, Resilience sends one alert and refuses every retry. A
// completed step and the end of the run reset the count. Tool and permission errors do not count,
// because the agent handles them.
type Resilience struct {
	opts ResilienceOptions

	mu   sync.Mutex // guards runs
	runs map[string]*runErrors
}

type runErrors struct {
	errors  int
	model   int // index of the next fallback
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
	return &Resilience{opts: opts, runs: map[string]*runErrors{}}
}

// Name returns "resilience".
func (*Resilience) Name() string { return "resilience" }

// Register registers the hooks of r. Their failure mode is Block, so a retry is refused even if the
// alert about it cannot be sent.
func (r *Resilience) Register(reg *hooks.Registry, opts ...hooks.Option) ([]hooks.ID, error) {
	plain := struct {
		hooks.Named
		hooks.ErrorHandler
		hooks.StepFollower
		hooks.RunEnder
	}{r, r, r, r}
	return reg.Use(plain, append([]hooks.Option{hooks.OnFailure(hooks.Block)}, opts...)...)
}

// ErrorOccurred decides whether the agent may retry after a failure. It returns nil for failures
// that r does not handle.
func (r *Resilience) ErrorOccurred(ctx context.Context, meta hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
	recovery, alarm := r.judge(meta.Tenant+"\x00"+meta.Run, f)
	if !alarm || r.opts.Alert == nil {
		return recovery, nil
	}
	return recovery, r.opts.Alert(ctx, alertOf("circuit breaker open", meta, f))
}

func (r *Resilience) judge(run string, f hooks.Failure) (recovery *hooks.Recovery, alarm bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.Type == hooks.ToolError || f.Type == hooks.PermissionError {
		return nil, false
	}
	t := r.runs[run]
	if t == nil {
		t = &runErrors{}
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

func (r *Resilience) backoff(errors int) time.Duration {
	wait := r.opts.Base
	for range errors {
		if wait *= 2; wait >= hooks.MaxBackoff {
			return hooks.MaxBackoff
		}
	}
	return wait
}

// AfterStep resets the number of errors of the run after a completed step.
func (r *Resilience) AfterStep(_ context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	if data.StepStatus == events.StepCompleted {
		r.forget(meta)
	}
	return nil
}

// RunEnd forgets the errors of the run.
func (r *Resilience) RunEnd(_ context.Context, meta hooks.Meta, _ events.RunFinishedData) error {
	r.forget(meta)
	return nil
}

func (r *Resilience) forget(meta hooks.Meta) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.runs, meta.Tenant+"\x00"+meta.Run)
}
