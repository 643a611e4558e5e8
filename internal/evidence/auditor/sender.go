package auditor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/access"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	firstSendPause = time.Second
	maxSendPause   = time.Minute
)

type sender struct {
	opts Options

	// mu guards outbox and failed.
	mu     sync.Mutex
	outbox *publish.Publisher
	failed error // error of opening the outbox
}

func newSender(o Options) *sender { return &sender{opts: o} }

func (s *sender) run(ctx context.Context) {
	s.recordLost(ctx)
	for pause := firstSendPause; ; pause = min(2*pause, maxSendPause) {
		p, err := publish.OpenShared(ctx, s.opts.Broker.Conn(), s.outboxOptions())
		if ctx.Err() != nil && err != nil {
			return // another process had the outbox open
		}
		s.set(p, err)
		if err == nil {
			<-ctx.Done()
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSync)
			defer cancel()
			if err := p.Close(closing); err != nil {
				s.opts.Logger.WarnContext(ctx, "records of access not sent, the next start sends them", "error", err)
			}
			return
		}
		s.opts.Logger.ErrorContext(ctx, "outbox of access records not opened", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (s *sender) recordLost(ctx context.Context) {
	lost, err := publish.RecordLost(ctx, s.opts.DataDir, access.Outbox(s.opts.DataDir), publish.SharedOptions{
		Name: durable, Redactor: publish.NoRedaction, Durability: publish.DiskDurability, Full: publish.Fail,
		Journal: publish.JournalDir(s.opts.DataDir),
	})
	for _, m := range lost {
		s.opts.Logger.ErrorContext(ctx, "outbox is missing, its waiting events are lost", "outbox", m.Outbox, "producer", m.Producer)
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.ErrorContext(ctx, "missing outboxes not recorded", "error", err)
	}
}

func (s *sender) outboxOptions() publish.Options {
	space := s.opts.Broker.Space()
	return publish.Options{
		Dir: access.Outbox(s.opts.DataDir), Journal: publish.JournalDir(s.opts.DataDir), Name: durable, Redactor: publish.NoRedaction, Durability: publish.DiskDurability,
		Heartbeat: s.opts.Heartbeat, SubjectPrefix: space.Prefix, StreamPrefix: space.StreamPrefix, Logger: s.opts.Logger,
		Issuer: broker.Issuer(s.opts.DataDir, s.opts.Logger),
	}
}

func (s *sender) set(p *publish.Publisher, failed error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outbox, s.failed = p, failed
}

func (s *sender) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.failed
	if s.outbox != nil {
		err = s.outbox.Stats().LastError
		if !errors.Is(err, publish.ErrPermission) {
			err = nil // the consumer reports a missing stream
		}
	}
	if err != nil {
		return fmt.Errorf("send records of access: %w", err)
	}
	return nil
}

func (s *sender) drain(ctx context.Context) error {
	s.recordLost(ctx)
	if err := publish.DrainShared(ctx, s.opts.Broker.Conn(), s.outboxOptions()); err != nil {
		return fmt.Errorf("send records of access: %w", err)
	}
	return nil
}
