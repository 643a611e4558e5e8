package publish

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// count adds an event that the stream has to the tally of its run. Seals are
// left out of what they count. cursor.mu is held.
func (f *forwarder) count(tenant string, e entry) {
	if e.run == "" {
		return
	}
	key := runKey{tenant, e.run}
	t := f.tallyOf(key)
	t.heard = f.read
	f.cursor.touchRun(key)
	if e.kind == events.RunSealed {
		t.Sealed = max(t.Sealed, e.sealed)
		return
	}
	if t.Count == 0 {
		t.First = e.sequence
	}
	t.Count++
	t.Last = e.sequence
	t.Digest = t.Digest.chain(e.hash)
	t.Finished = t.Finished || e.kind == events.RunFinished
	if t.Finished && !t.Lost {
		due := time.Now()
		if t.Sealed > 0 {
			due = due.Add(f.opts.SealDelay)
		}
		f.due[key] = due
	}
}

// chain returns SHA-256(d ‖ hash).
func (d digest) chain(hash events.Hash) digest {
	var b [len(d) + len(hash)]byte
	copy(b[:], d[:])
	copy(b[len(d):], hash[:])
	return sha256.Sum256(b[:])
}

// seal appends the seals that are due at now, and returns when the next one is
// due; zero if none is. cursor.mu is held.
func (f *forwarder) seal(ctx context.Context, now time.Time) (next time.Time, err error) {
	for key, due := range f.due {
		if due.After(now) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		t := f.cursor.runs[key]
		if t.Count > t.Sealed {
			if err := f.outbox.recordSeal(ctx, key, *t); err != nil {
				return now.Add(sealRetry), fmt.Errorf("seal run: %w", err)
			}
			t.Sealed = t.Count
			f.cursor.touchRun(key)
		}
		delete(f.due, key)
	}
	return next, nil
}

// sealRetry is how long a seal waits that found no room.
const sealRetry = time.Second

// sealAll appends the seals of all finished runs that went on since their last.
func (f *forwarder) sealAll(ctx context.Context) error {
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	_, err := f.seal(ctx, time.Now().Add(f.opts.SealDelay+time.Hour))
	return err
}

// recordSeal appends the run.sealed of a run.
func (o *outbox) recordSeal(ctx context.Context, key runKey, t tally) error {
	d := events.RunSealedData{
		Count: t.Count, First: t.First, Last: t.Last, Digest: events.Hash(t.Digest).String(),
	}
	e, err := events.New(events.RunSealed, source, d)
	if err != nil {
		return err
	}
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	e.Tenant, e.Run, e.Subject, e.Salt = key.tenant, key.run, key.run, events.NewSalt()
	e.ID = d.ID(key.tenant, o.id.Producer, key.run)
	return o.record(e)
}

// sealedCount returns how many events a run.sealed record counts; none if it is
// the seal of another producer, which came with a run that was replayed.
func sealedCount(r record) uint64 {
	e, err := events.Decode(r.event)
	if err != nil {
		return 0
	}
	d, err := events.Payload[events.RunSealedData](e)
	if err != nil || e.ID != d.ID(e.Tenant, e.Producer, e.Run) {
		return 0
	}
	return d.Count
}
