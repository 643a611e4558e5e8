package hooktrail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// PartState is how a part of the house stands.
type PartState string

// The states of a part.
const (
	PartStarting PartState = "starting"
	PartRunning  PartState = "running"
	PartStuck    PartState = "stuck"   // runs, and something keeps it from going on
	PartWaiting  PartState = "waiting" // failed, begins again soon
	PartStopped  PartState = "stopped"
)

// PartStatus is what /readyz says of a part.
type PartStatus struct {
	Name     string    `json:"name"`
	State    PartState `json:"state"`
	Since    time.Time `json:"since"`
	Restarts int       `json:"restarts"`
	Lag      uint64    `json:"lag"`             // messages of the stream that it has not handled
	Error    string    `json:"error,omitempty"` // the latest, kept until the part runs again
}

// The pace of restarts.
const (
	firstPause = 500 * time.Millisecond
	longPause  = 30 * time.Second
	forgiven   = 10 * time.Minute // a part that ran for so long begins again after the first pause
)

// part runs one service until it is told to stop, and again whenever it ends by
// itself. Parts fail alone.
type part struct {
	name string
	run  func(ctx context.Context, report report) error

	mu     sync.Mutex // guards status
	status PartStatus
}

// report is how a running part says that it gets on, or what keeps it from it.
type report func(err error, lag uint64)

func newPart(name string, run func(ctx context.Context, report report) error) *part {
	return &part{name: name, run: run, status: PartStatus{Name: name, State: PartStopped, Since: time.Now()}}
}

// errEnded is why a part is begun again that ended without an error.
var errEnded = errors.New("ended by itself")

// supervise runs the part until ctx ends, and returns when it has stopped.
func (p *part) supervise(ctx context.Context, log *slog.Logger) {
	pause := firstPause
	for {
		p.set(PartStarting, nil)
		began := time.Now()
		err := p.run(ctx, p.note)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				log.WarnContext(ctx, "part stopped with an error", "name", p.name, "error", err)
			}
			p.set(PartStopped, nil)
			return
		}
		if err == nil {
			err = errEnded
		}
		if time.Since(began) >= forgiven {
			pause = firstPause
		}
		log.ErrorContext(ctx, "part failed", "name", p.name, "error", err, "restart_in", pause.String())
		p.set(PartWaiting, err)
		if !sleep(ctx, pause) {
			p.set(PartStopped, nil)
			return
		}
		pause = min(2*pause, longPause)
	}
}

// note takes in how the part gets on.
func (p *part) note(err error, lag uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := PartRunning
	p.status.Error, p.status.Lag = "", lag
	if err != nil {
		state, p.status.Error = PartStuck, err.Error()
	}
	if p.status.State != state {
		p.status.State, p.status.Since = state, time.Now().UTC()
	}
}

func (p *part) set(state PartState, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.State, p.status.Since = state, time.Now().UTC()
	if err != nil {
		p.status.Restarts++
		p.status.Error = err.Error()
	}
}

func (p *part) current() PartStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status
}

// sleep waits for d, and reports false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
