package auditor

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// ErrStreamBroken means that the stream was replaced, was rolled back or lost messages. The
// auditor reports ErrStreamBroken until it is restarted.
var ErrStreamBroken = errors.New("the stream did not continue at the position that was read last")

type streamTracker struct {
	// mu guards the other fields.
	mu      sync.Mutex
	stream  ledger.Stream
	changed bool          // the next batch begins a new epoch
	at      uint64        // last message that was read
	holes   []consume.Gap // holes after at, in order
	broken  error         // wraps ErrStreamBroken, or nil
}

func (t *streamTracker) replaced(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed, t.holes = true, nil
	t.broken = fmt.Errorf("%w: %s (auditor verify shows what is missing)", ErrStreamBroken, reason)
}

func (t *streamTracker) hole(h consume.Gap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.First > t.at {
		t.holes = append(t.holes, h)
	}
}

func (t *streamTracker) lost(until uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken == nil {
		t.broken = fmt.Errorf("%w: messages up to %d were gone (auditor verify shows what is missing)", ErrStreamBroken, until)
	}
}

func (t *streamTracker) streamOf(next consume.Position) (stream ledger.Stream, isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream.Epoch > 0 && !t.changed && (next.Stream.IsZero() || t.stream.Created.Equal(next.Stream)) {
		return t.stream, false
	}
	return ledger.Stream{Epoch: t.stream.Epoch + 1, Created: next.Stream}, t.stream.Epoch > 0
}

func (t *streamTracker) holesUntil(next consume.Position) []consume.Gap {
	t.mu.Lock()
	defer t.mu.Unlock()
	var holes []consume.Gap
	after := t.at
	for _, h := range t.holes {
		if h.First > after && h.Last <= next.Sequence {
			holes = append(holes, h)
			after = h.Last
		}
	}
	return holes
}

func (t *streamTracker) committed(stream ledger.Stream, next consume.Position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream, t.changed, t.at = stream, false, next.Sequence
	rest := t.holes[:0]
	for _, h := range t.holes {
		if h.First > t.at {
			rest = append(rest, h)
		}
	}
	t.holes = rest
}

func (t *streamTracker) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}
