package publish

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// recovery brings together what the files of an outbox say after any end: a
// first start is the recovery of nothing.
type recovery struct {
	o        *outbox
	c        *cursor
	recorded gaps   // that have their gap.recorded in the outbox
	ordinal  uint64 // of the last record seen
	lost     uint64 // waiting records that are damaged or gone
	found    uint64 // how many of them left a hole in their tenant's numbers
	behind   bool   // the cursor is older than the segments
	unsure   bool   // of some records it cannot be told which numbers they had
}

// openOutbox opens the outbox of id, whose lock is held.
func openOutbox(opts Options, id identity) (*outbox, *cursor, error) {
	dir := id.dir(opts.Dir)
	c, err := openCursor(dir)
	if err != nil {
		return nil, nil, err
	}
	o := &outbox{
		opts: opts, space: opts.space(), id: id,
		spare: openSpare(opts.Dir), wake: make(chan struct{}, 1), changed: make(chan struct{}), next: map[string]uint64{},
	}
	if o.spool, err = openSpool(dir, opts); err != nil {
		return nil, nil, err
	}
	if o.losses, err = openLosses(dir); err != nil {
		return nil, nil, err
	}
	if opts.Unique {
		if o.ids, err = openIDs(opts.Dir, opts.UniqueLast); err != nil {
			return nil, nil, errors.Join(err, o.losses.close())
		}
	}
	r := recovery{o: o, c: c}
	if err := r.run(); err != nil {
		err = errors.Join(err, o.losses.close())
		if o.ids != nil {
			err = errors.Join(err, o.ids.close())
		}
		return nil, nil, err
	}
	return o, c, nil
}

func (r *recovery) run() error {
	for tenant, ch := range r.c.chains {
		r.o.next[tenant] = ch.Last + 1
	}
	if s := r.o.spool; len(s.segments) > 0 && s.segments[0].first > r.c.next {
		// Segments go only after the cursor was written: this one is an old copy.
		r.c.next, r.behind, r.unsure = s.segments[0].first, true, true
	}
	r.o.low = r.c.next
	if err := r.read(); err != nil {
		return fmt.Errorf("recover outbox: %w", err)
	}
	r.o.spool.appended = max(r.ordinal, r.c.next-1)
	r.settleLosses()
	r.settleDamage()
	return nil
}

// read reads all segments.
func (r *recovery) read() error {
	rd := r.o.spool.reader(0)
	defer rd.close()
	for {
		it, err := rd.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if it.fault == torn {
			if err := r.cut(rd.first, rd.off-int64(it.size), it.size); err != nil {
				return err
			}
			continue
		}
		r.item(rd.first, it)
	}
}

// cut removes what a write that did not end left of a record.
func (r *recovery) cut(segment uint64, at int64, size int) error {
	r.o.opts.Logger.Warn("outbox had a torn tail", "segment", segment, "offset", at, "bytes", size)
	s := r.o.spool
	if segment != s.segments[len(s.segments)-1].first {
		r.o.quarantine(segment, item{size: size}) // nobody wrote to it any more
	}
	if size >= recordHeader {
		header := make([]byte, recordHeader)
		f, err := os.Open(s.path(segment))
		if err != nil {
			return err
		}
		_, err = f.ReadAt(header, at)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		if _, ok := parseHeader(header); !ok && segment == s.segments[len(s.segments)-1].first && r.ordinal+1 >= r.c.next {
			// What was written in part has its beginning. This record was whole.
			r.o.quarantine(segment, item{size: size})
			r.lost++
			r.unsure = true
		}
	}
	if err := os.Truncate(s.path(segment), at); err != nil {
		return err
	}
	for i := range s.segments {
		if s.segments[i].first == segment {
			s.segments[i].size = at
		}
	}
	return nil
}

// item takes in one record, or what is in its place.
func (r *recovery) item(segment uint64, it item) {
	if it.fault == unreadable {
		r.o.quarantine(segment, it)
		if r.ordinal+1 >= r.c.next {
			r.o.waiting += int64(it.size)
		}
		return // the next record's ordinal tells how many are gone
	}
	if it.fault == intact && r.o.ids != nil {
		r.o.ids.add(it.id)
	}
	before := max(r.ordinal, r.c.next-1)
	r.ordinal = max(r.ordinal, it.ordinal)
	if it.ordinal < r.c.next {
		return
	}
	r.o.waiting += int64(it.size)
	r.o.pending++
	if it.ordinal > before+1 {
		r.lost += it.ordinal - before - 1
	}
	if it.fault == damaged {
		r.lost++
		r.o.quarantine(segment, it)
		if it.tenant == "" {
			return
		}
	}
	r.number(it)
	if it.fault == intact {
		r.note(it.record)
	}
}

// number follows the numbers of the item's tenant.
func (r *recovery) number(it item) {
	next := r.o.nextSequence(it.tenant)
	if it.sequence < next {
		return
	}
	last := it.sequence
	if it.fault == intact {
		last--
	}
	if last >= next && !r.behind {
		r.found += last - next + 1
		r.o.gaps.add(gap{it.tenant, events.Range{First: next, Last: last, Reason: reasonDamaged}})
	}
	r.o.next[it.tenant] = it.sequence + 1
}

// note remembers the outbox's own records: they need not be made again.
func (r *recovery) note(rec record) {
	switch events.Kind(rec.kind) { //nolint:exhaustive // the two that the outbox makes
	case events.GapRecorded:
		if g, ok := gapOf(rec); ok {
			r.recorded = append(r.recorded, g)
		}
	case events.RunSealed:
		if t := r.c.runs[runKey{rec.tenant, rec.run}]; t != nil {
			t.Sealed = max(t.Sealed, sealedCount(rec))
		}
	}
}

// settleLosses takes the losses that were counted or owed, and frees those that
// were recorded before a crash could free them.
func (r *recovery) settleLosses() {
	o := r.o
	for i, g := range o.losses.slots {
		if g.First == 0 {
			continue
		}
		o.next[g.tenant] = max(o.nextSequence(g.tenant), g.Last+1)
		if !r.recorded.covers(g) {
			o.gaps.add(g)
		} else if err := o.losses.put(i, gap{}); err != nil {
			o.opts.Logger.Error("loss slot not freed", "error", err)
		}
	}
	for tenant, ch := range r.c.chains {
		for _, owed := range ch.Owed {
			if g := (gap{tenant, owed}); !r.recorded.covers(g) {
				o.owed = append(o.owed, g)
			}
		}
	}
}

// settleDamage sorts the holes in the numbers: those that were recorded keep
// their reason, the others are damage that has to be recorded.
func (r *recovery) settleDamage() {
	o := r.o
	holes := o.gaps
	o.gaps = r.recorded
	for _, hole := range holes {
		if hole.Reason != reasonDamaged {
			o.gaps.add(hole)
			continue
		}
		for _, part := range r.recorded.ranges(hole.tenant, hole.First, hole.Last) {
			if part.Reason == reasonUnknown {
				part.Reason = reasonDamaged
				o.gaps = append(o.gaps, gap{hole.tenant, part})
				o.owed = append(o.owed, gap{hole.tenant, part})
			}
		}
	}
	r.settleUnnumbered()
	o.tryRecordGaps()
}

// settleUnnumbered handles lost records that left no hole: they were the last
// ones of their tenant. Where there is only one tenant their numbers are known.
// Else nothing may go on under this producer id, lest a number is used twice.
func (r *recovery) settleUnnumbered() {
	o := r.o
	if r.lost > r.found {
		n := r.lost - r.found
		if len(o.next) == 1 {
			for tenant, next := range o.next {
				g := gap{tenant, events.Range{First: next, Last: next + n - 1, Reason: reasonDamaged}}
				o.next[tenant] = next + n
				o.gaps.add(g)
				o.owed = append(o.owed, g)
			}
		} else {
			r.unsure = true
			o.opts.Logger.Error("outbox lost records of unknown tenants", "records", n)
		}
	}
	o.damaged = r.lost
	if r.unsure && !o.id.Suspect {
		o.id.Suspect = true
		if err := o.id.save(o.opts.Dir); err != nil {
			o.opts.Logger.Error("identity not written", "error", err)
		}
	}
}
