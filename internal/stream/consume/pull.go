package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	fetchWait      = 30 * time.Second
	fetchHeartbeat = 5 * time.Second
	fetchBytes     = 16 << 20 // the server and each service have this much in memory, or one message
	fetchCount     = 16 << 10 // fetch reserves memory for twice as many messages

	replicatedFetch = 256 // messages per request, because a request to a replicated stream cannot limit bytes
)

var errStalled = errors.New("messages are pending but not delivered")

type skipError struct{ after, got uint64 }

func (e *skipError) Error() string {
	return fmt.Sprintf("message %d was delivered after %d: a delivery between them is missing", e.got, e.after)
}

func (l *loop) fetch(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) error {
	fetching, cancel := context.WithTimeout(ctx, fetchWait)
	count := fetches * l.opts.Batch
	options := []jetstream.FetchOpt{jetstream.FetchContext(fetching), jetstream.FetchHeartbeat(fetchHeartbeat)}
	if stream.CachedInfo().Config.Replicas > 1 {
		// On a replicated stream, do not limit bytes. The status message that ends such a request
		// can arrive before the last messages.
		count = min(count, replicatedFetch)
	} else {
		count = min(count, fetchCount)
		options = append(options, jetstream.FetchMaxBytes(fetchBytes))
	}
	batch, err := consumer.Fetch(count, options...)
	if err != nil {
		cancel()
		return fmt.Errorf("request messages: %w", err)
	}
	messages := batch.Messages()
	// Wait until the goroutine of the request ends. Otherwise, the server could deliver its
	// messages again.
	defer func() {
		cancel()
		for range messages {
			continue
		}
	}()
	r := reader{loop: l, stream: stream, messages: messages}
	for {
		more, err := r.readBatch(ctx)
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if err := batch.Error(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("messages: %w", err)
	}
	return nil
}

type reader struct {
	loop     *loop
	stream   jetstream.Stream
	messages <-chan jetstream.Msg
}

func (r *reader) readBatch(ctx context.Context) (more bool, err error) {
	msg, err := r.first(ctx)
	if msg == nil || err != nil {
		return false, err
	}
	r.loop.stalled = 0
	b := batch{loop: r.loop, stream: r.stream, last: r.loop.pos.Sequence}
	more, rejected := r.collect(ctx, &b, msg)
	if err := r.loop.apply(ctx, &b); err != nil {
		return false, err
	}
	if rejected != nil {
		return false, rejected
	}
	if r.loop.drained() {
		return false, errDrained
	}
	if r.loop.draining && b.pending == 0 {
		return more, r.watch(ctx)
	}
	return more, nil
}

// first also checks the stream while it waits for a message, because a restarted server forgets the
// request.
func (r *reader) first(ctx context.Context) (jetstream.Msg, error) {
	idle := time.NewTicker(r.loop.opts.IdleCheck)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case msg := <-r.messages: // nil when closed
			return msg, nil
		case <-idle.C:
			if err := r.watch(ctx); err != nil {
				return nil, err
			}
		}
	}
}

func (r *reader) watch(ctx context.Context) error {
	stream, err := r.loop.open(ctx)
	if err != nil {
		return err
	}
	if !stream.CachedInfo().Created.Equal(r.loop.created) {
		return errors.New("stream was created again")
	}
	if err := r.loop.check(ctx, stream); err != nil {
		return err
	}
	if r.loop.progress.Lag == 0 {
		r.loop.stalled = 0
		return nil
	}
	// A new message may still be on its way, so the first failed check is not an error.
	if r.loop.stalled++; r.loop.stalled > 1 {
		return errStalled
	}
	return nil
}

func (r *reader) collect(ctx context.Context, b *batch, msg jetstream.Msg) (more bool, err error) {
	var linger <-chan time.Time
	if r.loop.opts.Linger > 0 {
		timer := time.NewTimer(r.loop.opts.Linger)
		defer timer.Stop()
		linger = timer.C
	}
	for {
		if err := b.add(ctx, msg); err != nil {
			return false, err
		}
		if b.full() {
			return true, nil
		}
		if msg, more = r.next(ctx, b, linger); msg == nil {
			return more, nil
		}
	}
}

// If msg is nil, the batch should be applied now. more reports whether the request for messages
// continues.
func (r *reader) next(ctx context.Context, b *batch, linger <-chan time.Time) (msg jetstream.Msg, more bool) {
	select {
	case msg = <-r.messages: // nil when closed
		return msg, false
	default:
	}
	if linger == nil || r.loop.draining && b.pending == 0 {
		return nil, true
	}
	select {
	case msg = <-r.messages:
		return msg, false
	case <-linger:
	case <-ctx.Done():
	}
	return nil, true
}
