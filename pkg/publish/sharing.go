package publish

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// sharing is what an outbox has that many processes append to. One of them
// forwards: it has read all of the outbox and follows what the others append.
// The others know what the tail says.
type sharing struct {
	turn     *turn
	forwards bool

	tail    *tailFile // of the present producer id
	version uint64    // of the tail when it was last read or written
}

// close lets go of the files; there is nothing to do without.
func (s *sharing) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.tail.close(), s.turn.close())
}

// begin takes the outbox for a change, and makes known what other processes have
// changed; end must follow. Where it returns an error, nothing is held.
func (o *outbox) begin(ctx context.Context) error {
	if o.shared == nil {
		o.mu.Lock()
		return nil
	}
	if err := o.shared.turn.take(ctx); err != nil {
		return err
	}
	o.mu.Lock()
	err := o.refresh()
	if err != nil {
		o.mu.Unlock()
		o.shared.turn.give()
	}
	return err
}

// end lets go of the outbox.
func (o *outbox) end() {
	if o.shared == nil {
		o.mu.Unlock()
		return
	}
	if err := o.saveTail(); err != nil {
		// The segments tell what it lacks.
		o.opts.Logger.Warn("tail of the outbox is behind", "error", err)
	}
	o.mu.Unlock()
	o.shared.turn.give()
}

func (o *outbox) refresh() error {
	if o.shared.forwards {
		return o.catchUp()
	}
	return o.load()
}

// saveTail writes where the outbox ends.
func (o *outbox) saveTail() error {
	t := tail{Version: o.shared.version + 1, Next: o.next, Waiting: o.waiting}
	var last segment
	last, t.Ordinal = o.spool.last()
	t.Segment, t.Size = last.first, last.size
	if err := o.shared.tail.write(t); err != nil {
		return err
	}
	o.shared.version = t.Version
	return nil
}

// catchUp takes in what other processes appended and lost since the last time.
// The turn and o.mu are held.
func (o *outbox) catchUp() error {
	version, err := o.shared.tail.version()
	if err != nil && !errors.Is(err, errNoTail) {
		return fmt.Errorf("read tail: %w", err)
	}
	before := o.spool.end()
	if err := o.follow(); err != nil {
		return err
	}
	isNew := o.spool.end() > before
	if err != nil || version != o.shared.version {
		lost, err := o.losses.reread()
		if err != nil {
			return err
		}
		for _, g := range lost {
			o.countLoss(g)
		}
		id, err := readIdentity(o.opts.Dir)
		if err != nil {
			return err
		}
		o.id.Suspect = o.id.Suspect || id.Suspect
		isNew = isNew || len(lost) > 0
		o.shared.version = max(version, o.shared.version)
	}
	if isNew {
		o.poke()
	}
	return nil
}

// countLoss takes in numbers that another process lost.
func (o *outbox) countLoss(g gap) {
	o.next[g.tenant] = max(o.nextSequence(g.tenant), g.Last+1)
	o.gaps.add(g)
	o.shed += g.Last - g.First + 1
}

// follow takes in the records behind the end that is known.
func (o *outbox) follow() error {
	whole := true
	err := o.spool.follow(func(it item) {
		o.waiting += int64(it.size)
		if it.fault != intact {
			whole = false
			last, _ := o.spool.last()
			o.quarantine(last.first, it)
		}
		if it.ordinal > 0 {
			o.pending++
			o.appended++
		}
		if it.sequence >= o.nextSequence(it.tenant) {
			o.next[it.tenant] = it.sequence + 1
		}
		if events.Kind(it.kind) == events.GapRecorded {
			if g, ok := gapOf(it.record); ok && !o.gaps.covers(g) {
				o.countLoss(g) // recorded by who appended next
			}
		}
	})
	if err == nil && !whole {
		err = o.suspectAll()
	}
	if err != nil {
		return fmt.Errorf("follow outbox: %w", err)
	}
	return nil
}

// suspectAll makes the forwarder give what waits new numbers: of some records it
// cannot be told which they had.
func (o *outbox) suspectAll() error {
	if o.id.Suspect {
		return nil
	}
	o.opts.Logger.Error("outbox is damaged, it takes new numbers", "outbox", o.opts.Dir)
	o.id.Suspect = true
	return o.id.save(o.opts.Dir)
}

// load makes known an outbox that another process may have changed since, from
// its tail. The turn and o.mu are held.
func (o *outbox) load() error {
	if err := o.unload(); err != nil {
		return err
	}
	var err error
	if o.id, err = ensureIdentity(o.opts); err != nil {
		return err
	}
	dir := o.id.dir(o.opts.Dir)
	if o.losses, err = openLosses(dir); err != nil {
		return err
	}
	if o.shared.tail, err = openTail(dir); err != nil {
		return err
	}
	t, err := o.shared.tail.read()
	if err == nil {
		o.spool = newSpool(dir, o.opts)
		o.spool.appended = t.Ordinal
		if t.Segment > 0 {
			o.spool.segments = []segment{{first: t.Segment, size: t.Size}}
		}
		o.next, o.waiting, o.shared.version = t.Next, t.Waiting, t.Version
		err = o.follow()
	}
	if errors.Is(err, errNoTail) || errors.Is(err, errShrunk) || errors.Is(err, os.ErrNotExist) {
		err = o.rebuild(dir)
	}
	for _, g := range o.losses.slots {
		if g.First > 0 {
			o.next[g.tenant] = max(o.nextSequence(g.tenant), g.Last+1)
		}
	}
	return err
}

// unload lets go of the files that load opened.
func (o *outbox) unload() error {
	var err error
	if o.spool != nil {
		err = o.spool.letGo()
	}
	if o.losses != nil {
		err = errors.Join(err, o.losses.close())
	}
	if o.shared.tail != nil {
		err = errors.Join(err, o.shared.tail.close())
	}
	o.spool, o.losses, o.shared.tail = nil, nil, nil
	return err
}

// rebuild makes known an outbox whose tail is of no use, by reading all of it.
func (o *outbox) rebuild(dir string) error {
	c, err := openCursor(dir)
	if err != nil {
		return err
	}
	o.next, o.waiting = map[string]uint64{}, 0
	for tenant, ch := range c.chains {
		o.next[tenant] = ch.Last + 1
	}
	if o.spool, err = openSpool(dir, o.opts); err != nil {
		return err
	}
	list := o.spool.segments
	o.spool.segments, o.spool.appended = nil, c.next-1
	for _, seg := range list {
		if last, _ := o.spool.last(); last.first >= seg.first {
			continue // follow went on to it
		}
		o.spool.segments = append(o.spool.segments, segment{first: seg.first})
		o.spool.appended = max(o.spool.appended, seg.first-1)
		if err := o.follow(); err != nil && !errors.Is(err, os.ErrNotExist) { // it was sent meanwhile
			return err
		}
	}
	return nil
}
