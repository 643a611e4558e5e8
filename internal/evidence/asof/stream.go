package asof

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type streamEnd struct {
	stream  jetstream.Stream
	space   subjects.Space
	filters []string // subjects of the tenant
	ledger  *ledger.Reader
	created time.Time
	limit   time.Duration // time limit of a count
	last    uint64        // sequence of the tenant's last message, or 0
}

func askStream(ctx context.Context, o Options) (*streamEnd, error) {
	filters, err := o.Space.Tenant(o.Tenant)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	stream, err := o.JetStream.Stream(ctx, o.Space.EventStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", o.Space.EventStream(), err)
	}
	// A replica may lack the last messages, so read from the stream's leader.
	stream.CachedInfo().Config.AllowDirect = false
	e := &streamEnd{
		stream: stream, space: o.Space, filters: filters, ledger: o.Ledger,
		created: stream.CachedInfo().Created.UTC(), limit: max(countLimit, o.Wait),
	}
	for _, f := range filters {
		msg, err := stream.GetLastMsgForSubject(ctx, f)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
		case err != nil:
			return nil, fmt.Errorf("last message of the tenant: %w", err)
		default:
			e.last = max(e.last, msg.Sequence)
		}
	}
	return e, nil
}

func (e *streamEnd) isOther(at ledger.Position) bool {
	return !at.Stream.IsZero() && !at.Stream.Equal(e.created)
}

func (e *streamEnd) lacks(ctx context.Context, at ledger.Position) (lacks bool, err error) {
	err = e.missing(ctx, at, func(bool) bool { lacks = true; return false })
	return lacks, err
}

func (e *streamEnd) later(ctx context.Context, at ledger.Position) (l verifier.Later, err error) {
	l.Last = e.last
	err = e.missing(ctx, at, func(manifest bool) bool {
		if manifest {
			l.Manifests++
		} else {
			l.Events++
		}
		return true
	})
	if err != nil && (l.Any() || errors.Is(err, errTooMany)) {
		l.AtLeast = true
	}
	return l, err
}

var errTooMany = errors.New("the stream has too many messages to compare them in time")

// A restored stream repeats messages, so missing reads it from the start.
func (e *streamEnd) missing(ctx context.Context, at ledger.Position, found func(manifest bool) bool) error {
	after := at.Sequence
	if !at.Stream.Equal(e.created) {
		after = 0
	}
	deadline := time.Now().Add(e.limit)
	for _, filter := range e.filters {
		for next := after + 1; next <= e.last; {
			if time.Now().After(deadline) {
				return errTooMany
			}
			msg, err := e.get(ctx, next, filter)
			if err != nil {
				return err
			}
			if msg == nil {
				break
			}
			next = msg.Sequence + 1
			has, manifest, err := e.received(ctx, msg)
			if err != nil || !has && !found(manifest) {
				return err
			}
		}
	}
	return nil
}

func (e *streamEnd) get(ctx context.Context, from uint64, filter string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	msg, err := e.stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(filter))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("message after %d: %w", from-1, err)
	}
	if msg.Sequence > e.last {
		return nil, nil
	}
	return msg, nil
}

func (e *streamEnd) received(ctx context.Context, msg *jetstream.RawStreamMsg) (has, manifest bool, err error) {
	address, err := e.space.Parse(msg.Subject)
	if err != nil {
		return false, false, nil //nolint:nilerr // it becomes a leaf of the unnamed tenant
	}
	var sequence uint64
	if address.Manifest {
		if m, err := events.DecodeManifest(msg.Data); err == nil {
			sequence = m.Last
		}
	} else if event, err := events.Decode(msg.Data); err == nil {
		sequence = event.Sequence
	}
	has, err = e.ledger.Received(ctx, address.Producer, sequence, events.HashOf(msg.Data))
	return has, address.Manifest, err
}
