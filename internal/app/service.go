package app

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// ServiceState is the state of a service.
type ServiceState string

// States of a service such as the auditor or the publisher.
const (
	Starting ServiceState = "starting"
	Running  ServiceState = "running"
	Stuck    ServiceState = "stuck"   // running, but an error stops its progress
	Waiting  ServiceState = "waiting" // failed, restarts after a pause
	Stopped  ServiceState = "stopped"
)

// ServiceStatus describes a service in the answer of /readyz.
type ServiceStatus struct {
	Name     string       `json:"name"`
	State    ServiceState `json:"state"`
	Since    time.Time    `json:"since"`
	Restarts int          `json:"restarts"`
	Lag      uint64       `json:"lag"`             // stream messages
	Error    string       `json:"error,omitempty"` // until the service runs again
}

// Pauses before restarts.
const (
	firstPause  = 500 * time.Millisecond
	maxPause    = 30 * time.Second
	stableAfter = 10 * time.Minute // a longer run resets the pause to firstPause
)

type service struct {
	name string
	run  func(ctx context.Context, report report) error

	mu     sync.Mutex
	status ServiceStatus
}

type report func(err error, lag uint64)

func newService(name string, run func(ctx context.Context, report report) error) *service {
	return &service{name: name, run: run, status: ServiceStatus{Name: name, State: Stopped, Since: time.Now()}}
}

var errEnded = errors.New("ended by itself")

func (s *service) supervise(ctx context.Context, log *slog.Logger) {
	pause := firstPause
	for {
		s.set(Starting, nil)
		began := time.Now()
		err := s.run(ctx, s.report)
		if ctx.Err() != nil {
			if err != nil && !errors.Is(err, context.Canceled) {
				log.WarnContext(ctx, "service stopped with an error", "name", s.name, "error", err)
			}
			s.set(Stopped, nil)
			return
		}
		if err == nil {
			err = errEnded
		}
		if time.Since(began) >= stableAfter {
			pause = firstPause
		}
		log.ErrorContext(ctx, "service failed", "name", s.name, "error", err, "restart_in", pause.String())
		s.set(Waiting, err)
		if !sleep(ctx, pause) {
			s.set(Stopped, nil)
			return
		}
		pause = min(2*pause, maxPause)
	}
}

func (s *service) report(err error, lag uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := Running
	s.status.Error, s.status.Lag = "", lag
	if err != nil {
		state, s.status.Error = Stuck, err.Error()
	}
	if s.status.State != state {
		s.status.State, s.status.Since = state, time.Now().UTC()
	}
}

func (s *service) set(state ServiceState, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.State, s.status.Since = state, time.Now().UTC()
	if err != nil {
		s.status.Restarts++
		s.status.Error = err.Error()
	}
}

func (s *service) current() ServiceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

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
