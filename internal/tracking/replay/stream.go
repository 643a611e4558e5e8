package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	streamWorkers = 8
	streamChunk   = 32 // messages per worker, one request each
)

type streamReader struct {
	stream      jetstream.Stream
	space       subjects.Space
	first, last uint64 // sequence numbers
	truncated   bool   // the first messages are gone
}

func openStream(ctx context.Context, b *broker.Broker, last uint64) (*streamReader, error) {
	stream, err := b.JetStream().Stream(ctx, b.Space().EventStream())
	if err != nil {
		return nil, fmt.Errorf("open stream: %w", err)
	}
	stream.CachedInfo().Config.AllowDirect = false // a tracker has no right to direct gets
	state := stream.CachedInfo().State
	if last == 0 || last > state.LastSeq {
		last = state.LastSeq
	}
	return &streamReader{stream: stream, space: b.Space(), first: state.FirstSeq, last: last, truncated: state.FirstSeq > 1}, nil
}

// events reads the messages one by one, because that needs no consumer on the NATS server.
func (s *streamReader) events(ctx context.Context, bar Progress) history {
	return func(yield func(events.Event, error) bool) {
		var marks consume.Marks
		for from := max(s.first, 1); from <= s.last; from += streamWorkers * streamChunk {
			messages, err := s.read(ctx, from, min(s.last, from+streamWorkers*streamChunk-1))
			if err != nil {
				yield(events.Event{}, fmt.Errorf("read stream: %w", err))
				return
			}
			for _, m := range messages {
				if e, ok := s.event(m, &marks); ok && !yield(e, nil) {
					return
				}
			}
			bar.Set(min(from+streamWorkers*streamChunk, s.last), s.last)
		}
	}
}

func (s *streamReader) event(m *jetstream.RawStreamMsg, marks *consume.Marks) (events.Event, bool) {
	a, err := s.space.Parse(m.Subject)
	if err != nil || a.Manifest {
		return events.Event{}, false
	}
	e, err := consume.Message{Sequence: m.Sequence, Subject: m.Subject, Address: a, Data: m.Data}.Event()
	if err != nil || marks.Repeat(e.Tenant, e.Producer, e.Sequence) && !rules.IsRecognised(e.Kind()) {
		return events.Event{}, false
	}
	return e, true
}

func (s *streamReader) read(ctx context.Context, first, last uint64) ([]*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg     sync.WaitGroup
		chunks [streamWorkers][]*jetstream.RawStreamMsg
		errs   [streamWorkers]error
	)
	for i := range chunks {
		from := first + uint64(i)*streamChunk
		if from > last {
			break
		}
		wg.Go(func() {
			chunks[i], errs[i] = s.chunk(ctx, from, min(last, from+streamChunk-1))
			if errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	var all []*jetstream.RawStreamMsg
	for _, c := range chunks {
		all = append(all, c...)
	}
	return all, errors.Join(errs[:]...)
}

func (s *streamReader) chunk(ctx context.Context, first, last uint64) (list []*jetstream.RawStreamMsg, err error) {
	for first <= last {
		m, err := s.stream.GetMsg(ctx, first, jetstream.WithGetMsgSubject(">")) // next existing message
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		if m.Sequence > last {
			return list, nil
		}
		list = append(list, m)
		first = m.Sequence + 1
	}
	return list, nil
}
