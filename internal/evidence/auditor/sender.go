package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	// How long sending waits before it is begun again: twice as long each time.
	sendAgainFirst = time.Second
	sendAgainMost  = time.Minute
	// sendPoll is how often a drain looks whether another process has sent what waits.
	sendPoll = 100 * time.Millisecond
	// sendOpen is how long a drain tries to open the outbox before it looks again.
	sendOpen = time.Second
)

// sender sends what commands put on record about uses of evidence.
type sender struct {
	opts Options

	mu     sync.Mutex // guards what follows
	outbox *publish.Publisher
	failed error // why it could not be opened
}

func newSender(o Options) *sender { return &sender{opts: o} }

// run sends until ctx ends, and then what is there for as long as a stop may
// take. Another process that does so is waited for.
func (s *sender) run(ctx context.Context) {
	for pause := sendAgainFirst; ; pause = min(2*pause, sendAgainMost) {
		p, err := s.open(ctx)
		if ctx.Err() != nil && err != nil {
			return // told to stop while another process sends
		}
		s.set(p, err)
		if err == nil {
			<-ctx.Done()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSync)
			defer cancel()
			if err := p.Close(closing); err != nil {
				// The next start sends it.
				s.opts.Logger.WarnContext(ctx, "records of access wait in the outbox", "error", err)
			}
			return
		}
		s.opts.Logger.ErrorContext(ctx, "records of access are not sent", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *sender) open(ctx context.Context) (*publish.Publisher, error) {
	space := s.opts.Broker.Space()
	return publish.OpenShared(ctx, s.opts.Broker.Conn(), publish.Options{
		Dir: access.Outbox(s.opts.DataDir), Name: durable, Redactor: publish.NoRedaction, Durability: publish.DiskDurability,
		SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: s.opts.Logger,
	})
}

func (s *sender) set(p *publish.Publisher, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox, s.failed = p, failed
}

// failure returns why records of access cannot be sent until somebody mends it,
// nil when they can.
func (s *sender) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.failed
	if s.outbox != nil {
		err = s.outbox.Stats().LastError
		if !errors.Is(err, publish.ErrPermission) {
			err = nil // the stream is away: everything else says so too
		}
	}
	if err != nil {
		return fmt.Errorf("send records of access: %w", err)
	}
	return nil
}

// drain sends what waits now, or waits for the process that sends it, so that a
// drain of the stream has it too.
func (s *sender) drain(ctx context.Context) error {
	for {
		state, err := publish.Inspect(access.Outbox(s.opts.DataDir))
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("send records of access: %w", err)
		}
		if state.Waiting == 0 && len(state.Gaps) == 0 && state.Damaged == 0 {
			return nil
		}
		if !state.Forwarding {
			if done, err := s.flush(ctx); done || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("send records of access: %d wait for process %d: %w", state.Waiting, state.Process, ctx.Err())
		case <-time.After(sendPoll):
		}
	}
}

// flush sends what waits, unless another process is faster.
func (s *sender) flush(ctx context.Context) (done bool, err error) {
	opening, cancel := context.WithTimeout(ctx, sendOpen)
	defer cancel()
	p, err := s.open(opening)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	if err == nil {
		err = errors.Join(p.Flush(ctx), p.Close(ctx))
	}
	if err != nil {
		return false, fmt.Errorf("send records of access: %w", err)
	}
	return true, nil
}
