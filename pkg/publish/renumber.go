package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// startOver gives what waits new numbers under a new producer id. The old
// records go once the new ones are on disk; a crash before that leaves the old
// outbox, which starts over when it is opened again. Append waits meanwhile.
func (f *forwarder) startOver(ctx context.Context) error {
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	o := f.outbox
	if err := o.begin(ctx); err != nil {
		return fmt.Errorf("start over: %w", err)
	}
	defer o.end()
	n, err := newRenumbering(o, f.cursor)
	if err != nil {
		return fmt.Errorf("start over: %w", err)
	}
	if err := n.run(); err != nil {
		return fmt.Errorf("start over: %w", errors.Join(err, n.abandon()))
	}
	old := o.id
	o.opts.Logger.Warn("outbox took a new producer id", "old", old.Producer, "new", n.id.Producer, "waiting", n.count)
	n.adopt()
	f.cursor.reset(n.id.dir(o.opts.Dir), n.finished)
	f.restart(o.id.Producer, o.spool)
	if err := os.RemoveAll(old.dir(o.opts.Dir)); err != nil {
		o.opts.Logger.Warn("old records not removed", "error", err)
	}
	return nil
}

// renumbering copies what waits to a new folder.
type renumbering struct {
	o      *outbox
	c      *cursor
	id     identity
	spool  *spool
	losses *lossFile
	tail   *tailFile // of a shared outbox
	buf    []byte

	old      map[string]uint64 // next old number, per tenant
	next     map[string]uint64 // next new number
	gaps     gaps
	moved    []move
	finished map[runKey]*tally // runs whose end the old producer sent
	count    uint64
	bytes    int64
}

// move is where lost numbers went.
type move struct{ from, to gap }

func newRenumbering(o *outbox, c *cursor) (*renumbering, error) {
	n := &renumbering{
		o: o, c: c, id: identity{Producer: newProducerID(o.opts.Name), Boot: o.id.Boot, Open: true},
		old: map[string]uint64{}, next: map[string]uint64{}, finished: map[runKey]*tally{},
	}
	dir := n.id.dir(o.opts.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if n.spool, err = openSpool(dir, o.opts); err != nil {
		return nil, err
	}
	n.spool.durable = true
	if n.losses, err = openLosses(dir); err != nil || o.shared == nil {
		return n, err
	}
	n.tail, err = openTail(dir)
	return n, err
}

// run copies what waits, and puts the copies and the new identity on disk.
func (n *renumbering) run() error {
	for tenant, ch := range n.c.chains {
		n.old[tenant] = ch.Last + 1
	}
	if err := n.copyRecords(); err != nil {
		return err
	}
	for tenant, next := range n.o.next {
		if n.oldNext(tenant) < next { // counted as lost, behind the last record
			n.skip(tenant, next-1)
		}
	}
	if err := n.recordMoved(); err != nil {
		return err
	}
	if err := errors.Join(n.spool.sync(n.spool.end()), syncDir(n.spool.dir)); err != nil {
		return err
	}
	return n.id.save(n.o.opts.Dir)
}

func (n *renumbering) copyRecords() error {
	rd := n.o.spool.reader(n.c.next)
	defer rd.close()
	for {
		it, err := rd.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && it.fault == intact && it.ordinal >= n.c.next && it.sequence >= n.oldNext(it.tenant) {
			err = n.copy(it.record)
		}
		if err != nil {
			return err
		}
	}
}

func (n *renumbering) oldNext(tenant string) uint64 { return max(n.old[tenant], 1) }
func (n *renumbering) newNext(tenant string) uint64 { return max(n.next[tenant], 1) }

// skip gives the lost numbers up to last their place in the new numbers.
func (n *renumbering) skip(tenant string, last uint64) {
	for _, r := range n.o.gaps.ranges(tenant, n.oldNext(tenant), last) {
		first := n.newNext(tenant)
		to := gap{tenant, events.Range{First: first, Last: first + r.Last - r.First, Reason: r.Reason}}
		n.moved = append(n.moved, move{gap{tenant, r}, to})
		n.gaps.add(to)
		n.next[tenant] = to.Last + 1
	}
	n.old[tenant] = last + 1
}

// copy writes a record under its new number. Seals are left out: what they
// count was sent by the old producer.
func (n *renumbering) copy(r record) error {
	if r.sequence > n.oldNext(r.tenant) {
		n.skip(r.tenant, r.sequence-1)
	}
	n.old[r.tenant] = r.sequence + 1
	key := runKey{r.tenant, r.run}
	if t := n.c.runs[key]; t != nil && t.Finished {
		n.finished[key] = &tally{Finished: true}
	}
	switch events.Kind(r.kind) { //nolint:exhaustive // the two that the outbox makes
	case events.RunSealed:
		return nil
	case events.GapRecorded:
		g, ok := gapOf(r)
		if !ok {
			return nil
		}
		return n.moveGap(g)
	}
	e, err := events.Decode(r.event)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.ordinal, err)
	}
	return n.append(e)
}

// append writes an event under the next number of its tenant.
func (n *renumbering) append(e events.Event) error {
	e.Producer, e.Sequence = n.id.Producer, n.newNext(e.Tenant)
	r := record{
		ordinal: n.spool.end() + 1, sequence: e.Sequence, id: hashEvent(&e),
		tenant: e.Tenant, run: e.Run, kind: string(e.Kind()),
	}
	buf, start := beginRecord(n.buf[:0], &r)
	buf = e.Append(buf)
	endRecord(buf, start, &r)
	n.buf = buf
	if err := n.spool.append(buf, r.ordinal); err != nil {
		return err
	}
	n.next[e.Tenant] = e.Sequence + 1
	n.count++
	n.bytes += int64(len(buf))
	return nil
}

// moveGap records under its new numbers a gap that was recorded under its old
// ones. One that the old producer's manifests list is left to them.
func (n *renumbering) moveGap(g gap) error {
	for i, m := range n.moved {
		if m.from.tenant == g.tenant && g.First <= m.from.First && m.from.Last <= g.Last {
			e, err := newGapEvent(n.id.Producer, m.to)
			if err != nil {
				return err
			}
			n.moved[i].from.Last = 0 // recorded
			if err := n.append(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordMoved records the losses that were not recorded yet.
func (n *renumbering) recordMoved() error {
	for _, m := range n.moved {
		if m.from.Last == 0 {
			continue
		}
		e, err := newGapEvent(n.id.Producer, m.to)
		if err == nil {
			err = n.append(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// adopt makes the copies the outbox. o.mu is held.
func (n *renumbering) adopt() {
	o := n.o
	if o.shared != nil {
		_ = o.shared.tail.close()
		o.shared.tail = n.tail
	}
	_ = o.spool.close() // on its way out
	_ = o.losses.close()
	n.spool.durable = o.opts.Durability == DiskDurability
	o.id, o.spool, o.losses, o.next = n.id, n.spool, n.losses, n.next
	o.gaps, o.owed = n.gaps, nil
	o.own, o.low, o.waiting, o.pending = 0, 1, n.bytes, n.count
	o.generation++
	o.broadcast()
}

// abandon removes the copies.
func (n *renumbering) abandon() error {
	err := errors.Join(n.spool.close(), n.losses.close())
	if n.tail != nil {
		err = errors.Join(err, n.tail.close())
	}
	return errors.Join(err, os.RemoveAll(n.spool.dir))
}
