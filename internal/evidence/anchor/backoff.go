package anchor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
)

// The pauses of a witness that fails, the first and the longest.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// seat is a witness beside a ledger. Without a tenant it is the witness by itself.
type seat struct {
	tenant  string
	witness int // its number in the policy
}

// seats remember of each witness how far it is with each ledger, and leave one
// alone for a while that fails. What they forget when the auditor stops the
// witnesses tell again.
type seats struct {
	now    func() time.Time
	logger *slog.Logger

	mu     sync.Mutex // guards what follows
	sizes  map[seat]int64
	pauses map[seat]pause
}

// pause is how long a witness is not asked.
type pause struct {
	until  time.Time
	length time.Duration
	err    error // why
}

func newSeats(o Options) seats {
	return seats{now: o.Now, logger: o.Logger, sizes: make(map[seat]int64), pauses: make(map[seat]pause)}
}

// ask returns how many leaves the witness has cosigned, as far as is known, or why
// it is not to be asked now.
func (s *seats) ask(at seat) (size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range [...]seat{{witness: at.witness}, at} {
		if p, ok := s.pauses[of]; ok && s.now().Before(p.until) {
			return 0, p.err
		}
	}
	return s.sizes[at], nil
}

// signed notes that a witness has cosigned size leaves.
func (s *seats) signed(ctx context.Context, at seat, size int64, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes[at] = size
	for _, of := range [...]seat{{witness: at.witness}, at} {
		if _, ok := s.pauses[of]; ok {
			delete(s.pauses, of)
			s.logger.InfoContext(ctx, "a witness cosigns again", "witness", name, "tenant", of.tenant)
		}
	}
}

// failed notes that a witness has not cosigned. One that refuses a ledger is left
// alone with that one, any other with all.
func (s *seats) failed(ctx context.Context, at seat, err error, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sizes, at) // it tells where it stands
	of := seat{witness: at.witness}
	if errors.Is(err, witness.ErrForked) || errors.Is(err, witness.ErrUnknownLog) {
		of = at
	}
	now := s.now()
	p, ok := s.pauses[of]
	if ok && now.Before(p.until) {
		return // others were on their way when it began
	}
	p = pause{length: min(max(2*p.length, firstPause), maxPause), err: err}
	p.until = now.Add(p.length)
	s.pauses[of] = p
	if !ok {
		s.logger.WarnContext(ctx, "a witness does not cosign", "witness", name, "tenant", of.tenant, "error", err)
	}
}
