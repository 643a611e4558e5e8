package outbox

import (
	"errors"
	"fmt"
	"io"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

type recovery struct {
	o        *outbox
	c        *cursor.Cursor
	recorded state.Gaps // covered by a gap.recorded event in the outbox
	ordinal  uint64     // highest ordinal so far
	lost     uint64     // unsent records that are damaged or missing
	found    uint64     // lost records whose numbers are missing between other records
	isBehind bool       // the cursor is older than the oldest segment
	isUnsure bool       // the numbers of some lost records are unknown
}

func openOutbox(opts Options, id identity) (*outbox, *cursor.Cursor, error) {
	dir := id.dir(opts.Dir)
	c, err := cursor.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	o := newOutbox(opts)
	o.id = id
	_ = o.reserve.Refill() // on a full disk, the outbox has no reserve
	if o.log, err = segment.Open(dir, opts.segments()); err != nil {
		return nil, nil, err
	}
	if o.losses.file, err = state.OpenLosses(dir); err != nil {
		return nil, nil, err
	}
	if opts.Unique {
		if o.ids, err = state.OpenIDs(opts.Dir, opts.UniqueLast); err != nil {
			return nil, nil, errors.Join(err, o.losses.file.Close())
		}
	}
	r := recovery{o: o, c: c}
	if err := r.run(); err != nil {
		return nil, nil, errors.Join(err, o.losses.file.Close(), o.ids.Close())
	}
	return o, c, nil
}

func (r *recovery) run() error {
	for tenant, ch := range r.c.Chains() {
		r.o.numbers.next[tenant] = ch.Last + 1
	}
	if first := r.o.log.First(); first > r.c.Next {
		// Segments are removed only after the cursor is on disk. A cursor before the first segment
		// is therefore an old copy.
		r.c.Next, r.isBehind, r.isUnsure = first, true, true
	}
	r.o.backlog.first = r.c.Next
	if err := r.read(); err != nil {
		return fmt.Errorf("recover outbox: %w", err)
	}
	r.o.log.SetEnd(max(r.ordinal, r.c.Next-1))
	r.restoreLosses()
	r.settleHoles()
	return nil
}

func (r *recovery) read() error {
	rd := r.o.log.Reader(0)
	defer rd.Close()
	for {
		it, err := rd.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		first, end := rd.Position()
		if it.Fault == segment.Torn {
			if err := r.cut(first, end-int64(it.Size), it); err != nil {
				return err
			}
			continue
		}
		r.item(first, it)
	}
}

func (r *recovery) cut(first uint64, at int64, it segment.Item) error {
	r.o.opts.Logger.Warn("torn end of segment cut off", "segment", first, "offset", at, "bytes", it.Size)
	last, _ := r.o.log.Last()
	switch {
	case first != last.First:
		// A crash leaves an incomplete record only in the last segment. In any other segment, the
		// record is damaged.
		r.o.quarantine(first, segment.Item{Size: it.Size})
	case it.Size >= segment.HeaderBytes && !it.HasHeader && r.ordinal+1 >= r.c.Next:
		// A crash would have left an intact header, so the record was damaged later.
		r.o.quarantine(first, segment.Item{Size: it.Size})
		r.lost++
		r.isUnsure = true
	}
	return r.o.log.Truncate(first, at)
}

func (r *recovery) item(first uint64, it segment.Item) {
	if it.Fault == segment.Unreadable {
		r.o.quarantine(first, it)
		if r.ordinal+1 >= r.c.Next {
			r.o.backlog.bytes += int64(it.Size)
		}
		return // the ordinal of the next record shows how many were lost
	}
	if it.Fault == segment.Intact {
		r.o.ids.Add(it.ID)
	}
	before := max(r.ordinal, r.c.Next-1)
	r.ordinal = max(r.ordinal, it.Ordinal)
	if it.Ordinal < r.c.Next {
		return
	}
	r.o.backlog.add(1, int64(it.Size))
	if it.Ordinal > before+1 {
		r.lost += it.Ordinal - before - 1
	}
	if it.Fault == segment.Damaged {
		r.lost++
		r.o.quarantine(first, it)
		if it.Tenant == "" {
			return
		}
	}
	r.number(it)
	if it.Fault == segment.Intact {
		r.note(it.Record)
	}
}

func (r *recovery) number(it segment.Item) {
	next := r.o.numbers.nextOf(it.Tenant)
	if it.Sequence < next {
		return
	}
	last := it.Sequence
	if it.Fault == segment.Intact {
		last--
	}
	if last >= next && !r.isBehind {
		r.found += last - next + 1
		r.o.numbers.gaps.Add(state.Gap{Tenant: it.Tenant, Range: events.Range{First: next, Last: last, Reason: state.ReasonDamaged}})
	}
	r.o.numbers.next[it.Tenant] = it.Sequence + 1
}

func (r *recovery) note(rec segment.Record) {
	switch events.Kind(rec.Kind) { //nolint:exhaustive // the two that the outbox makes
	case events.GapRecorded:
		if g, ok := gapOf(rec); ok {
			r.recorded = append(r.recorded, g)
		}
	case events.RunSealed:
		if t := r.c.Runs.InMemory()[cursor.RunKey{Tenant: rec.Tenant, Run: rec.Run}]; t != nil {
			t.Sealed = max(t.Sealed, sealedCount(rec))
		}
	}
}

func (r *recovery) restoreLosses() {
	o := r.o
	for _, g := range o.losses.file.List() {
		o.numbers.advance(g.Tenant, g.Last+1)
		if !r.recorded.Covers(g) {
			o.numbers.gaps.Add(g)
		}
	}
	err := o.losses.file.Take(func(g state.Gap) (bool, error) { return r.recorded.Covers(g), nil })
	if err != nil {
		o.opts.Logger.Error("loss slot not freed", "error", err)
	}
	for tenant, ch := range r.c.Chains() {
		for _, owed := range ch.Owed {
			if g := (state.Gap{Tenant: tenant, Range: owed}); !r.recorded.Covers(g) {
				o.losses.others = append(o.losses.others, g)
			}
		}
	}
}

func (r *recovery) settleHoles() {
	o := r.o
	holes := o.numbers.gaps
	o.numbers.gaps = r.recorded
	for _, hole := range holes {
		if hole.Reason != state.ReasonDamaged {
			o.numbers.gaps.Add(hole)
			continue
		}
		for _, piece := range r.recorded.Ranges(hole.Tenant, hole.First, hole.Last) {
			if piece.Reason == state.ReasonUnknown {
				piece.Reason = state.ReasonDamaged
				g := state.Gap{Tenant: hole.Tenant, Range: piece}
				o.numbers.gaps = append(o.numbers.gaps, g)
				o.losses.others = append(o.losses.others, g)
			}
		}
	}
	r.settleUnnumbered()
	o.tryRecordLosses()
}

// If the tenant of a lost record is unknown, the outbox gets a new producer id, so that no number
// is used twice.
func (r *recovery) settleUnnumbered() {
	o := r.o
	if r.lost > r.found {
		n := r.lost - r.found
		if len(o.numbers.next) == 1 {
			for tenant, next := range o.numbers.next {
				g := state.Gap{Tenant: tenant, Range: events.Range{First: next, Last: next + n - 1, Reason: state.ReasonDamaged}}
				o.numbers.lose(g)
				o.losses.others = append(o.losses.others, g)
			}
		} else {
			r.isUnsure = true
			o.opts.Logger.Error("outbox lost records of unknown tenants", "records", n)
		}
	}
	o.damaged = r.lost
	if r.isUnsure && !o.id.Suspect {
		o.id.Suspect = true
		if err := o.id.save(o.opts.Dir); err != nil {
			o.opts.Logger.Error("identity not written", "error", err)
		}
	}
}
