package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/journal"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

func (f *forwarder) renumberUnsent(ctx context.Context) error {
	if err := f.link.Wait(ctx); err != nil {
		return err
	}
	tenants := map[string]bool{}
	for it, err := range f.backlog.records() {
		if err != nil {
			return err
		}
		tenants[it.Tenant] = true
	}
	var denied []error
	for tenant := range tenants {
		err := f.chains.lookUp(ctx, tenant)
		switch {
		case err == nil, errors.Is(err, errDiverged):
		case errors.Is(err, ErrPermission):
			denied = append(denied, fmt.Errorf("look up chain: %w", err))
		default:
			return fmt.Errorf("look up chain: %w", err)
		}
	}
	if len(denied) > 0 && len(denied) == len(tenants) {
		return denied[0]
	}
	if err := f.retire(ctx); err != nil {
		return err
	}
	return f.renumber(ctx)
}

// The old records stay until the copies are complete, so that a crash loses nothing.
func (f *forwarder) renumber(ctx context.Context) error {
	f.seals.mu.Lock()
	defer f.seals.mu.Unlock()
	o := f.outbox
	if err := o.begin(ctx); err != nil {
		return fmt.Errorf("renumber events: %w", err)
	}
	defer o.end()
	n, err := newRenumbering(o, f.backlog)
	if err != nil {
		return fmt.Errorf("renumber events: %w", err)
	}
	if err := n.run(); err != nil {
		return fmt.Errorf("renumber events: %w", errors.Join(err, n.abandon()))
	}
	old := o.id
	if o.opts.Journal != "" {
		note(o, journal.File.Add, journal.Moved, nil)
	}
	o.opts.Logger.Warn("outbox renumbered under a new producer id", "old", old.Producer, "new", n.id.Producer, "waiting", n.count)
	n.adopt()
	if o.id.next != nil { // the new producer id begins with the next key
		err = o.id.installNext(o.opts.Dir)
		f.answerKeyChange(err)
	}
	_ = f.backlog.cursor.Close() // the file is removed below, so an error does not matter
	f.restart(o.id, o.log, cursor.New(n.id.dir(o.opts.Dir), n.finished))
	if err := os.RemoveAll(old.dir(o.opts.Dir)); err != nil {
		o.opts.Logger.Warn("old records not removed", "error", err)
	}
	return err
}

type renumbering struct {
	o       *outbox
	backlog *waiting
	id      identity
	log     *segment.Log
	losses  *state.Losses
	tail    *state.TailFile
	encoder encoder

	old      map[string]uint64 // next number under the old producer id, by tenant
	numbers  numbering
	moved    []move
	finished map[cursor.RunKey]*cursor.Tally // runs that were finished under the old producer id
	count    uint64
	bytes    int64
}

type move struct {
	from, to   state.Gap
	isRecorded bool
}

func newRenumbering(o *outbox, backlog *waiting) (*renumbering, error) {
	n := &renumbering{
		o: o, backlog: backlog, id: identity{
			Producer: newProducerID(o.opts.Name), Boot: o.id.Boot, Open: true, Key: o.id.signer.public,
			signer: o.id.signer, next: o.id.next,
		},
		old: map[string]uint64{}, numbers: numbering{next: map[string]uint64{}},
		finished: map[cursor.RunKey]*cursor.Tally{}, encoder: encoder{hash: o.hash},
	}
	if n.id.next != nil {
		n.id.Key = n.id.next.public
	}
	dir := n.id.dir(o.opts.Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if n.log, err = segment.Open(dir, o.opts.segments()); err != nil {
		return nil, err
	}
	n.log.SetSync(true)
	if n.losses, err = state.OpenLosses(dir); err != nil || o.shared == nil {
		return n, err
	}
	n.tail, err = state.OpenTail(dir)
	return n, err
}

func (n *renumbering) run() error {
	for tenant, ch := range n.backlog.cursor.Chains() {
		n.old[tenant] = ch.Last + 1
	}
	if err := n.copyRecords(); err != nil {
		return err
	}
	for tenant, next := range n.o.numbers.next {
		if n.oldNext(tenant) < next { // numbers were lost after the last record
			n.skip(tenant, next-1)
		}
	}
	for _, m := range n.moved {
		if m.isRecorded {
			continue
		}
		if err := n.appendGap(m.to); err != nil {
			return err
		}
	}
	if err := errors.Join(n.log.Sync(n.log.End()), n.log.Dir.Sync()); err != nil {
		return err
	}
	noteMove(n.o, n.id, n.numbers.next)
	return n.id.save(n.o.opts.Dir)
}

func (n *renumbering) copyRecords() error {
	for it, err := range n.backlog.records() {
		if err == nil && it.Sequence >= n.oldNext(it.Tenant) {
			err = n.copy(it.Record)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *renumbering) oldNext(tenant string) uint64 { return max(n.old[tenant], 1) }

func (n *renumbering) skip(tenant string, last uint64) {
	for _, r := range n.o.numbers.gaps.Ranges(tenant, n.oldNext(tenant), last) {
		first := n.numbers.nextOf(tenant)
		to := state.Gap{Tenant: tenant, Range: events.Range{First: first, Last: first + r.Last - r.First, Reason: r.Reason}}
		n.moved = append(n.moved, move{from: state.Gap{Tenant: tenant, Range: r}, to: to})
		n.numbers.lose(to)
	}
	n.old[tenant] = last + 1
}

// copy leaves out seals, because they count the events of the old producer id.
func (n *renumbering) copy(r segment.Record) error {
	if r.Sequence > n.oldNext(r.Tenant) {
		n.skip(r.Tenant, r.Sequence-1)
	}
	n.old[r.Tenant] = r.Sequence + 1
	key := cursor.RunKey{Tenant: r.Tenant, Run: r.Run}
	if t := n.backlog.cursor.Runs.InMemory()[key]; t != nil && t.Finished {
		n.finished[key] = &cursor.Tally{Finished: true}
	}
	switch events.Kind(r.Kind) { //nolint:exhaustive // the two that the outbox makes
	case events.RunSealed:
		return nil
	case events.GapRecorded:
		g, ok := gapOf(r)
		if !ok {
			return nil
		}
		return n.moveGap(g)
	}
	e, err := events.Decode(r.Event)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Ordinal, err)
	}
	return n.append(e)
}

func (n *renumbering) append(e events.Event) error {
	ordinal := n.log.End() + 1
	buf, err := n.encoder.encode([]*events.Event{&e}, n.id.Producer, ordinal, n.numbers.nextOf(e.Tenant))
	if err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	if err := n.log.Append(buf, ordinal); err != nil {
		return err
	}
	n.numbers.next[e.Tenant] = e.Sequence + 1
	n.count++
	n.bytes += int64(len(buf))
	return nil
}

func (n *renumbering) moveGap(g state.Gap) error {
	for i, m := range n.moved {
		if m.isRecorded || m.from.Tenant != g.Tenant || m.from.First < g.First || g.Last < m.from.Last {
			continue
		}
		n.moved[i].isRecorded = true
		if err := n.appendGap(m.to); err != nil {
			return err
		}
	}
	return nil
}

func (n *renumbering) appendGap(g state.Gap) error {
	e, err := newGapEvent(n.id.Producer, g)
	if err != nil {
		return err
	}
	return n.append(e)
}

// The caller of adopt must hold o.mu.
func (n *renumbering) adopt() {
	o := n.o
	if o.shared != nil {
		_ = o.shared.tail.Close()
		o.shared.tail = n.tail
	}
	_ = o.log.Close() // its folder is removed afterwards
	_ = o.losses.file.Close()
	n.log.SetSync(o.opts.Durability == DiskDurability)
	o.id, o.log, o.numbers = n.id, n.log, n.numbers
	o.losses = lossLog{file: n.losses}
	o.backlog.first, o.backlog.own, o.backlog.records, o.backlog.bytes = 1, 0, n.count, n.bytes
	o.backlog.generation++
	o.backlog.broadcast()
}

func (n *renumbering) abandon() error {
	err := errors.Join(n.log.Close(), n.losses.Close())
	if n.tail != nil {
		err = errors.Join(err, n.tail.Close())
	}
	return errors.Join(err, os.RemoveAll(string(n.log.Dir)))
}
