package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
)

type seals struct {
	outbox *outbox
	delay  time.Duration
	status *status

	// mu guards runs and due. It stays locked while a seal is appended, so that no seal is appended
	// twice.
	mu   sync.Mutex
	runs *cursor.Runs
	due  map[cursor.RunKey]time.Time
}

const sealRetry = time.Second

func (s *seals) restart(runs *cursor.Runs) {
	s.runs, s.due = runs, map[cursor.RunKey]time.Time{}
	for key, t := range runs.InMemory() {
		if t.Finished && !t.Lost && t.Count > t.Sealed {
			s.schedule(key, t)
		}
	}
}

func (s *seals) schedule(key cursor.RunKey, t *cursor.Tally) {
	due := time.Now()
	if t.Sealed > 0 {
		due = due.Add(s.delay)
	}
	s.due[key] = due
}

func (s *seals) withRuns(do func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}

func (s *seals) isDue(key cursor.RunKey) bool {
	_, ok := s.due[key]
	return ok
}

func (s *seals) count(tenant string, entries []entry, lastRead uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		if e.run != "" {
			s.countOne(cursor.RunKey{Tenant: tenant, Run: e.run}, e, lastRead)
		}
	}
}

func (s *seals) countOne(key cursor.RunKey, e entry, lastRead uint64) {
	t, err := s.runs.Load(key)
	if err != nil {
		s.status.fail(err)
	}
	t.Heard = lastRead
	s.runs.Touch(key)
	if e.kind == events.RunSealed { // a seal does not count itself
		t.Sealed = max(t.Sealed, e.sealed)
		return
	}
	if t.Count == 0 {
		t.First = e.sequence
	}
	t.Count++
	t.Last = e.sequence
	t.Digest = t.Digest.Chain(e.hash)
	t.Finished = t.Finished || e.kind == events.RunFinished
	if t.Finished && !t.Lost {
		s.schedule(key, t)
	}
}

func (s *seals) appendDue(ctx context.Context, now time.Time) (next time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, due := range s.due {
		if due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		t := s.runs.InMemory()[key]
		if t.Count > t.Sealed {
			if err := s.append(ctx, key, *t); err != nil {
				return now.Add(sealRetry), fmt.Errorf("seal run: %w", err)
			}
			t.Sealed = t.Count
			s.runs.Touch(key)
		}
		delete(s.due, key)
	}
	return next, nil
}

func (s *seals) appendAll(ctx context.Context) error {
	_, err := s.appendDue(ctx, time.Now().Add(s.delay+time.Hour))
	return err
}

func (s *seals) append(ctx context.Context, key cursor.RunKey, t cursor.Tally) error {
	d := events.RunSealedData{
		Count: t.Count, First: t.First, Last: t.Last, Digest: events.Hash(t.Digest).String(),
	}
	e, err := events.New(events.RunSealed, source, d)
	if err != nil {
		return err
	}
	if err := s.outbox.begin(ctx); err != nil {
		return err
	}
	defer s.outbox.end()
	e.Tenant, e.Run, e.Subject, e.Salt = key.Tenant, key.Run, key.Run, events.NewSalt()
	e.ID = d.ID(key.Tenant, s.outbox.id.Producer, key.Run)
	return s.outbox.writeOwn(e)
}

func sealedCount(r segment.Record) uint64 {
	e, err := events.Decode(r.Event)
	if err != nil {
		return 0
	}
	d, err := events.Payload[events.RunSealedData](e)
	if err != nil || e.ID != d.ID(e.Tenant, e.Producer, e.Run) {
		return 0
	}
	return d.Count
}
