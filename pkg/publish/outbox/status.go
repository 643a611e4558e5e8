package outbox

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

type status struct {
	logger *slog.Logger

	// mu guards all fields below. No other lock is taken under it.
	mu           sync.Mutex
	acked        uint64
	refused      uint64
	foreign      uint64
	lastAck      time.Time
	err          error                             // why forwarding is paused
	flushes      map[*context.CancelCauseFunc]bool // end if waiting is hopeless
	suspended    int
	suspendedErr error // error of one of the suspended tenants
}

func (s *status) acknowledged(events int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acked += uint64(events)
	s.lastAck = time.Now()
	s.err = nil
}

func (s *status) refuse(events uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused += events
}

func (s *status) ignore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign++
}

func (s *status) fail(err error) {
	s.mu.Lock()
	first := s.err == nil || isNews(err, s.err, ErrPermission) || isNews(err, s.err, ErrNoStream)
	s.err = err
	s.mu.Unlock()
	if errors.Is(err, ErrNoStream) {
		s.endFlushes(err)
	}
	if first {
		s.logger.Warn("forwarding paused", "error", err)
	}
}

func (s *status) endFlushes(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for end := range s.flushes {
		(*end)(cause)
	}
}

func (s *status) untilHopeless(ctx context.Context) (context.Context, func()) {
	ctx, end := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flushes == nil {
		s.flushes = map[*context.CancelCauseFunc]bool{}
	}
	s.flushes[&end] = true
	return ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.flushes, &end)
		end(nil)
	}
}

func isNews(err, last, cause error) bool { return errors.Is(err, cause) && !errors.Is(last, cause) }

func (s *status) setSuspended(tenants int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended, s.suspendedErr = tenants, err
}

func (s *status) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *status) addTo(stats *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats.Foreign = s.foreign
	stats.Acked, stats.Refused, stats.LastError, stats.LastAck, stats.Suspended = s.acked, s.refused, s.err, s.lastAck, s.suspended
	if stats.LastError == nil {
		stats.LastError = s.suspendedErr
	}
}
