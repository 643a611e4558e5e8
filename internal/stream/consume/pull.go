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
	fetchBytes     = 32 << 20 // half of what the server lets wait for a reader before it hangs up

	replicatedFetch = 256 // messages per request where bytes cannot be limited
)

var errStalled = errors.New("messages are there and do not come")

// holeError is a delivery that does not follow the one before.
type holeError struct{ after, got uint64 }

func (e *holeError) Error() string {
	return fmt.Sprintf("message %d was delivered behind %d: a delivery in between is missing", e.got, e.after)
}

// fetch makes one request and applies what it brings. An empty one is not the
// end of the stream.
func (l *loop) fetch(ctx context.Context, stream jetstream.Stream, consumer jetstream.Consumer) error {
	fetching, cancel := context.WithTimeout(ctx, fetchWait)
	count := fetches * l.opts.Batch
	options := []jetstream.FetchOpt{jetstream.FetchContext(fetching), jetstream.FetchHeartbeat(fetchHeartbeat)}
	if stream.CachedInfo().Config.Replicas > 1 {
		// A replicated consumer sends its word that the bytes are used up, or the
		// count is while bytes are left, ahead of the messages, which wait for
		// their quorum: the client would hang up on them.
		count = min(count, replicatedFetch)
	} else {
		options = append(options, jetstream.FetchMaxBytes(fetchBytes))
	}
	batch, err := consumer.Fetch(count, options...)
	if err != nil {
		cancel()
		return fmt.Errorf("ask for messages: %w", err)
	}
	messages := batch.Messages()
	// The request's goroutine ends before the next reset: what it still got is
	// dropped, and delivered again after the reset.
	defer func() {
		cancel()
		for range messages {
			continue
		}
	}()
	r := reader{loop: l, stream: stream, messages: messages}
	for {
		more, err := r.batch(ctx)
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

// reader takes batches from the messages of one request.
type reader struct {
	*loop
	stream   jetstream.Stream
	messages <-chan jetstream.Msg
}

// batch waits for a message and applies it with all that are there. It returns
// false when the request has brought all it will.
func (r *reader) batch(ctx context.Context) (more bool, err error) {
	msg, err := r.first(ctx)
	if msg == nil || err != nil {
		return false, err
	}
	r.stalled = 0
	in := inbox{loop: r.loop, stream: r.stream, last: r.pos.Sequence}
	more, bad := r.collect(ctx, &in, msg)
	// What came before the bad one is good.
	if err := r.apply(ctx, &in); err != nil {
		return false, err
	}
	if bad != nil {
		return false, bad
	}
	if r.drained() {
		return false, errDrained
	}
	if r.draining && in.pending == 0 {
		// Nothing more for us, so the stream's last message is not: was deleted,
		// or is another tenant's.
		return more, r.watch(ctx)
	}
	return more, nil
}

// first waits for the first message of a batch. Meanwhile it looks at the
// stream itself: a request can be lost with its server, and nothing comes then.
func (r *reader) first(ctx context.Context) (jetstream.Msg, error) {
	idle := time.NewTicker(r.opts.IdleCheck)
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
	stream, err := r.open(ctx)
	if err != nil {
		return err
	}
	if !stream.CachedInfo().Created.Equal(r.created) {
		return errors.New("stream was created anew")
	}
	if err := r.check(ctx, stream); err != nil {
		return err
	}
	if r.progress.Lag == 0 {
		r.stalled = 0
		return nil
	}
	// One check may have come between the storing and the delivery.
	if r.stalled++; r.stalled > 1 {
		return errStalled
	}
	return nil
}

// collect adds msg and all that is there to in, up to the size of a batch.
func (r *reader) collect(ctx context.Context, in *inbox, msg jetstream.Msg) (more bool, err error) {
	var linger <-chan time.Time
	if r.opts.Linger > 0 {
		timer := time.NewTimer(r.opts.Linger)
		defer timer.Stop()
		linger = timer.C
	}
	for {
		if err := in.add(ctx, msg); err != nil {
			return false, err
		}
		if in.full() {
			return true, nil
		}
		if msg, more = r.another(ctx, in, linger); msg == nil {
			return more, nil
		}
	}
}

// another returns the next message of a batch, nil when the batch is to be applied,
// and then whether the request may bring more.
func (r *reader) another(ctx context.Context, in *inbox, linger <-chan time.Time) (msg jetstream.Msg, more bool) {
	select {
	case msg = <-r.messages: // nil when closed
		return msg, false
	default:
	}
	// Who drains does not wait for more than there is.
	if linger == nil || r.draining && in.pending == 0 {
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
