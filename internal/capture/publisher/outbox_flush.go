package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// FlushOptions configure [FlushOutboxes].
type FlushOptions struct {
	Broker   *broker.Broker
	DataDir  string
	Names    []string                 // names of outboxes; empty is all
	Progress func(done, total uint64) // may be nil
	Logger   *slog.Logger
}

const (
	flushPoll = 100 * time.Millisecond
	flushOpen = time.Second
)

// FlushOutboxes sends the waiting events of outboxes and returns how many it sent. It waits until
// other processes release an outbox. A failure of one outbox does not affect the others.
func FlushOutboxes(ctx context.Context, opts FlushOptions) (sent uint64, err error) {
	err = hookclient.Sweep(ctx, opts.DataDir)
	list, unread := Outboxes(opts.DataDir, opts.Names...)
	err = errors.Join(err, unread)
	total := uint64(0)
	for _, o := range list {
		total += o.Waiting
	}
	for _, o := range list {
		done := func(left uint64) {
			if opts.Progress != nil {
				opts.Progress(min(sent+o.Waiting-min(left, o.Waiting), total), total)
			}
		}
		left, e := flushOne(ctx, opts, o, done)
		sent += o.Waiting - min(left, o.Waiting)
		if e != nil {
			err = errors.Join(err, fmt.Errorf("flush outbox %s: %w", o.Name, e))
		}
	}
	return sent, err
}

func flushOne(ctx context.Context, opts FlushOptions, o Outbox, progress func(left uint64)) (left uint64, err error) {
	if o.Waiting == 0 && len(o.Gaps) == 0 && o.Damaged == 0 && (o.Open || !o.isExpected && !o.owesGrant(opts)) {
		return 0, nil
	}
	if !o.Open {
		opening, cancel := context.WithTimeout(ctx, flushOpen)
		defer cancel()
		p, err := reopen(opening, opts, o)
		if err == nil {
			return flushOpened(ctx, p, progress)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return o.Waiting, err
		}
	}
	return awaitOther(ctx, opts.DataDir, o, progress)
}

func (o Outbox) owesGrant(opts FlushOptions) bool {
	path := broker.Issuer(opts.DataDir, opts.Logger)
	if path == "" {
		return false
	}
	issuer, err := publish.OpenIssuer(path)
	return err == nil && o.state.OwesGrant(issuer)
}

func reopen(ctx context.Context, opts FlushOptions, o Outbox) (*publish.Publisher, error) {
	open := publish.Open
	if o.Shared {
		open = publish.OpenShared
	}
	return open(ctx, opts.Broker.Conn(), publish.Options{
		Dir: outboxDir(opts.DataDir, o.Name), Journal: publish.JournalDir(opts.DataDir), Name: o.prefix, Unique: o.unique, Redactor: publish.NoRedaction, Logger: opts.Logger,
		SubjectPrefix: opts.Broker.Space().Prefix, StreamPrefix: opts.Broker.Space().StreamPrefix,
		Issuer: broker.Issuer(opts.DataDir, opts.Logger),
	})
}

func flushOpened(ctx context.Context, p *publish.Publisher, progress func(left uint64)) (left uint64, err error) {
	flushed := make(chan error, 1)
	go func() { flushed <- p.Flush(ctx) }()
	tick := time.NewTicker(flushPoll)
	defer tick.Stop()
	for {
		select {
		case err := <-flushed:
			progress(p.Stats().Pending)
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptedFlush)
			defer cancel()
			closed := p.Close(last)
			if err != nil {
				return p.Stats().Pending, err
			}
			return p.Stats().Pending, closed
		case <-tick.C:
			progress(p.Stats().Pending)
		}
	}
}

func awaitOther(ctx context.Context, dataDir string, o Outbox, progress func(left uint64)) (left uint64, err error) {
	tick := time.NewTicker(flushPoll)
	defer tick.Stop()
	for {
		s, err := publish.Inspect(outboxDir(dataDir, o.Name))
		if err != nil {
			return o.Waiting, err
		}
		progress(s.Waiting)
		switch {
		case s.Waiting == 0 && len(s.Gaps) == 0:
			return 0, nil
		case !s.Forwarding:
			return s.Waiting, errors.New("the process that had the outbox open has ended; run flush again")
		}
		select {
		case <-ctx.Done():
			return s.Waiting, fmt.Errorf("%d events wait for process %d: %w", s.Waiting, s.Process, ctx.Err())
		case <-tick.C:
		}
	}
}
