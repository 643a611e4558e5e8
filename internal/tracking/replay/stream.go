package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	streamWorkers = 8
	streamChunk   = 32 // messages that a worker asks for, one after the other
)

// streamed is the stream as far as a tracker has read it.
type streamed struct {
	stream      jetstream.Stream
	space       subjects.Space
	first, last uint64 // sequences
	gone        bool   // the stream does not begin with its first message any more
}

// openStream looks at the stream up to last, or to its end where last is 0.
func openStream(ctx context.Context, b *broker.Broker, last uint64) (*streamed, error) {
	stream, err := b.JetStream().Stream(ctx, b.Space().EventStream())
	if err != nil {
		return nil, fmt.Errorf("look at the stream: %w", err)
	}
	stream.CachedInfo().Config.AllowDirect = false // a tracker may ask the stream's leader, and nobody else
	state := stream.CachedInfo().State
	if last == 0 || last > state.LastSeq {
		last = state.LastSeq
	}
	return &streamed{stream: stream, space: b.Space(), first: state.FirstSeq, last: last, gone: state.FirstSeq > 1}, nil
}

// events returns the events of the stream as a tracker folds them: what is no
// event, and copies of what came before, are left out. It reads messages one by
// one, and leaves no consumer behind.
func (s *streamed) events(ctx context.Context, bar *cli.Progress) history {
	return func(yield func(events.Event, error) bool) {
		var marks consume.Marks
		for from := max(s.first, 1); from <= s.last; from += streamWorkers * streamChunk {
			messages, err := s.read(ctx, from, min(s.last, from+streamWorkers*streamChunk-1))
			if err != nil {
				yield(events.Event{}, fmt.Errorf("read the stream: %w", err))
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

// event returns the event of a message, if a tracker would fold it.
func (s *streamed) event(m *jetstream.RawStreamMsg, marks *consume.Marks) (events.Event, bool) {
	a, err := s.space.Parse(m.Subject)
	if err != nil || a.Manifest {
		return events.Event{}, false
	}
	e, err := consume.Message{Sequence: m.Sequence, Subject: m.Subject, Address: a, Data: m.Data}.Event()
	if err != nil || marks.Repeat(e.Tenant, e.Producer, e.Sequence) {
		return events.Event{}, false
	}
	return e, true
}

// read returns the messages first to last, those that there are.
func (s *streamed) read(ctx context.Context, first, last uint64) ([]*jetstream.RawStreamMsg, error) {
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

func (s *streamed) chunk(ctx context.Context, first, last uint64) (list []*jetstream.RawStreamMsg, err error) {
	for first <= last {
		m, err := s.stream.GetMsg(ctx, first, jetstream.WithGetMsgSubject(">")) // it, or the next that there is
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
