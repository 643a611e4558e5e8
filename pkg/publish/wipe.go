package publish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// What the stream has need not stay on disk: who has an event erased everywhere
// else must not find it here. Segments that are full go anyway; the last one goes
// when nothing in it waits and [Options.KeepSent] has passed.

// nextWipe returns when the last segment is to go; never while something waits.
func (f *forwarder) nextWipe() time.Time {
	f.cursor.mu.Lock()
	next := f.cursor.next
	f.cursor.mu.Unlock()
	if !f.outbox.currentSpool().isSent(next) {
		return time.Time{}
	}
	if f.sentSince.IsZero() {
		f.sentSince = time.Now()
	}
	return f.sentSince.Add(f.opts.KeepSent)
}

// wipe removes all segments if nothing in them waits.
func (f *forwarder) wipe(ctx context.Context) error {
	f.sentSince = time.Time{}
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	if err := f.outbox.begin(ctx); err != nil {
		return fmt.Errorf("remove what was sent: %w", err)
	}
	defer f.outbox.end()
	spool := f.outbox.spool
	if !spool.isSent(f.cursor.next) {
		return nil
	}
	// The segments tell what a cursor that is behind does not.
	err := errors.Join(f.cursor.save(), f.cursor.sync(), f.outbox.syncIDs())
	if err == nil {
		err = spool.renew()
	}
	f.reader.close() // an open file is not gone
	if err != nil {
		return fmt.Errorf("remove what was sent: %w", err)
	}
	return nil
}

// isSent reports whether there are records, and all of them are before the
// ordinal.
func (s *spool) isSent(before uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.segments)
	return s.broken == nil && s.appended < before && (n > 1 || n == 1 && s.segments[0].size > 0)
}

// renew begins a new segment and removes all others.
func (s *spool) renew() error {
	s.mu.Lock()
	err := s.roll()
	first := s.appended + 1
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.drop(first)
}
