package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// carryFactor is how many times what waits an outbox may take up on disk before
// what is held is carried to its end.
const carryFactor = 4

// carry writes the records that held tenants have waiting again, at the end of
// the outbox, so that what others have sent since can go. Their numbers stay; a
// record that is found twice, after a crash, is sent once. It does nothing while
// there is anything to read. cursor.mu is held.
func (f *forwarder) carry(ctx context.Context) error {
	o := f.outbox
	size := o.currentSpool().bytes()
	if len(f.held) == 0 || size < carryFactor*max(o.stats().Bytes, o.opts.SegmentBytes) {
		return nil
	}
	for _, h := range f.held {
		if !h.waiting {
			return nil // it is being tried
		}
	}
	if err := o.begin(ctx); err != nil {
		return err
	}
	defer o.end()
	end := o.spool.end()
	if f.read != end {
		return nil
	}
	first, err := f.copyHeld(end)
	if err != nil {
		return fmt.Errorf("carry what is held: %w", err)
	}
	for tenant, ordinal := range first {
		f.held[tenant].first = ordinal
	}
	f.cursor.next, o.low = end+1, end+1
	o.generation++ // who waits for a flush waits for the copies
	o.broadcast()
	return nil
}

// copyHeld copies what held tenants have waiting up to the ordinal end, and
// returns where the copies of each begin.
func (f *forwarder) copyHeld(end uint64) (first map[string]uint64, err error) {
	spool := f.outbox.spool
	first = map[string]uint64{}
	rd := spool.reader(f.cursor.next)
	defer rd.close()
	for {
		it, err := rd.next()
		switch {
		case errors.Is(err, io.EOF) || err == nil && it.ordinal > end:
			return first, spool.syncAll()
		case err != nil:
			return nil, err
		case !f.staysHeld(it):
			continue
		}
		it.ordinal = spool.end() + 1
		if err := spool.append(copyRecord(it.record), it.ordinal); err != nil {
			return nil, err
		}
		if first[it.tenant] == 0 {
			first[it.tenant] = it.ordinal
		}
	}
}

// staysHeld tells whether an item is a record of a held tenant that waits.
func (f *forwarder) staysHeld(it item) bool {
	return it.fault == intact && it.ordinal >= f.cursor.next && f.isHeld(it.tenant) &&
		it.sequence > f.cursor.chain(it.tenant).Last
}

// copyRecord returns the bytes of r.
func copyRecord(r record) []byte {
	buf, start := beginRecord(nil, &r)
	buf = append(buf, r.event...)
	endRecord(buf, start, &r)
	return buf
}

// bytes returns what the segments take up.
func (s *spool) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := int64(0)
	for _, seg := range s.segments {
		n += seg.size
	}
	return n
}
