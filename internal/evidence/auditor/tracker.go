package auditor

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// ErrStreamBroken is wrapped by the error in Progress after the stream was replaced,
// rolled back, or lost messages. It stays until the auditor is restarted. The ledgers
// record the break permanently.
var ErrStreamBroken = errors.New("the stream did not continue at the position that was read last")

// A streamTracker knows which stream is read, how far, and where messages are missing.
type streamTracker struct {
	// mu guards the other fields. It comes after ledgers.mu in the lock order.
	mu      sync.Mutex
	stream  ledger.Stream
	changed bool           // the next batch begins a new epoch
	at      uint64         // all messages up to this sequence were read
	holes   []consume.Hole // missing messages after at, in order
	broken  error          // why Progress reports ErrStreamBroken, or nil
}

// replaced records that the stream was replaced or rolled back.
func (t *streamTracker) replaced(reason string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed, t.holes = true, nil
	t.broken = fmt.Errorf("%w: %s (auditor verify shows what is missing)", ErrStreamBroken, reason)
}

// hole implements consume.Options.OnHole. Messages that were read before they were
// deleted are not missing from the ledgers.
func (t *streamTracker) hole(h consume.Hole) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if h.First > t.at {
		t.holes = append(t.holes, h)
	}
}

// lost records that messages up to a sequence were gone before they were read.
func (t *streamTracker) lost(until uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken == nil {
		t.broken = fmt.Errorf("%w: messages up to %d were gone (auditor verify shows what is missing)", ErrStreamBroken, until)
	}
}

// streamOf returns the stream of a position, and whether it differs from the stream
// that was read before.
func (t *streamTracker) streamOf(next consume.Position) (stream ledger.Stream, isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stream.Epoch > 0 && !t.changed && (next.Stream.IsZero() || t.stream.Created.Equal(next.Stream)) {
		return t.stream, false
	}
	return ledger.Stream{Epoch: t.stream.Epoch + 1, Created: next.Stream}, t.stream.Epoch > 0
}

// holesUntil returns the holes up to next in order.
func (t *streamTracker) holesUntil(next consume.Position) []consume.Hole {
	t.mu.Lock()
	defer t.mu.Unlock()
	var holes []consume.Hole
	after := t.at
	for _, h := range t.holes {
		if h.First > after && h.Last <= next.Sequence {
			holes = append(holes, h)
			after = h.Last
		}
	}
	return holes
}

// committed records that everything up to next is committed.
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

// failure returns why the stream is broken, or nil.
func (t *streamTracker) failure() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.broken
}
