package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

type sharing struct {
	outbox   *outbox
	lock     *disk.Mutex // held during a change of the outbox
	forwards bool        // this process forwards

	// outbox.mu guards tail and version.
	tail    *state.TailFile
	version uint64 // version last read or written
}

// The caller of refresh must hold s.lock and outbox.mu.
func (s *sharing) refresh() error {
	if s.forwards {
		return s.catchUp()
	}
	return s.load()
}

func (s *sharing) saveTail() error {
	o := s.outbox
	last, end := o.log.Last()
	t := state.Tail{
		Version: s.version + 1, Ordinal: end, Segment: last.First, Size: last.Size,
		Next: o.numbers.next, Waiting: o.backlog.bytes,
	}
	if err := s.tail.Write(t); err != nil {
		return err
	}
	s.version = t.Version
	return nil
}

func (s *sharing) catchUp() error {
	o := s.outbox
	version, err := s.tail.Version()
	if err != nil && !errors.Is(err, state.ErrNoTail) {
		return fmt.Errorf("read tail: %w", err)
	}
	before := o.log.End()
	if err := s.follow(); err != nil {
		return err
	}
	isNew := o.log.End() > before
	if err != nil || version != s.version {
		lost, err := o.losses.file.Reread()
		if err != nil {
			return err
		}
		for _, g := range lost {
			s.countLoss(g)
		}
		id, err := readIdentity(o.opts.Dir)
		if err != nil {
			return err
		}
		o.id.Suspect = o.id.Suspect || id.Suspect
		isNew = isNew || len(lost) > 0
		s.version = max(version, s.version)
	}
	if isNew {
		signal(o.wake)
	}
	return nil
}

func (s *sharing) countLoss(g state.Gap) {
	s.outbox.numbers.lose(g)
	s.outbox.shed += g.Last - g.First + 1
}

func (s *sharing) follow() error {
	isDamaged := false
	err := segment.Follow(s.outbox.log, s.visit(&isDamaged))
	if err == nil && isDamaged {
		err = s.suspectAll()
	}
	if err != nil {
		return fmt.Errorf("follow outbox: %w", err)
	}
	return nil
}

func (s *sharing) visit(isDamaged *bool) segment.Visit {
	o := s.outbox
	return func(first uint64, it segment.Item) {
		o.backlog.bytes += int64(it.Size)
		if it.Fault != segment.Intact {
			*isDamaged = true
			o.quarantine(first, it)
		}
		if it.Ordinal > 0 {
			o.backlog.records++
			o.appended++
		}
		if it.Sequence >= o.numbers.nextOf(it.Tenant) {
			o.numbers.next[it.Tenant] = it.Sequence + 1
		}
		if events.Kind(it.Kind) == events.GapRecorded {
			if g, ok := gapOf(it.Record); ok && !o.numbers.gaps.Covers(g) {
				s.countLoss(g) // another process recorded this loss
			}
		}
	}
}

func (s *sharing) suspectAll() error {
	o := s.outbox
	if o.id.Suspect {
		return nil
	}
	o.opts.Logger.Error("shared outbox is damaged, its events get new numbers", "outbox", o.opts.Dir)
	o.id.Suspect = true
	return o.id.save(o.opts.Dir)
}

func (s *sharing) load() error {
	o := s.outbox
	if err := s.unload(); err != nil {
		return err
	}
	var err error
	if o.id, err = ensureIdentity(o.opts); err != nil {
		return err
	}
	dir := o.id.dir(o.opts.Dir)
	if o.losses.file, err = state.OpenLosses(dir); err != nil {
		return err
	}
	if s.tail, err = state.OpenTail(dir); err != nil {
		return err
	}
	t, err := s.tail.Read()
	if err == nil {
		o.log = segment.OpenAt(dir, o.opts.segments(), segment.Segment{First: t.Segment, Size: t.Size}, t.Ordinal)
		o.numbers.next, o.backlog.bytes, s.version = t.Next, t.Waiting, t.Version
		err = s.follow()
	}
	if errors.Is(err, state.ErrNoTail) || errors.Is(err, segment.ErrShrunk) || errors.Is(err, os.ErrNotExist) {
		err = s.rebuild(dir)
	}
	for _, g := range o.losses.file.List() {
		o.numbers.advance(g.Tenant, g.Last+1)
	}
	return err
}

func (s *sharing) unload() error {
	o := s.outbox
	var err error
	if o.log != nil {
		err = o.log.Release()
	}
	if o.losses.file != nil {
		err = errors.Join(err, o.losses.file.Close())
	}
	if s.tail != nil {
		err = errors.Join(err, s.tail.Close())
	}
	o.log, o.losses.file, s.tail = nil, nil, nil
	return err
}

func (s *sharing) rebuild(dir string) error {
	o := s.outbox
	c, err := cursor.Open(dir)
	if err != nil {
		return err
	}
	o.numbers.next, o.backlog.bytes = map[string]uint64{}, 0
	for tenant, ch := range c.Chains() {
		o.numbers.next[tenant] = ch.Last + 1
	}
	isDamaged := false
	if o.log, err = segment.FollowAll(dir, o.opts.segments(), c.Next-1, s.visit(&isDamaged)); err != nil {
		return fmt.Errorf("follow outbox: %w", err)
	}
	if isDamaged {
		return s.suspectAll()
	}
	return nil
}

func (s *sharing) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.tail.Close(), s.lock.Close())
}

const watchInterval = 50 * time.Millisecond

func (s *sharing) watch(ctx context.Context) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	hasFailed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !s.isBehind() {
			continue
		}
		err := s.takeIn(ctx)
		if err != nil && ctx.Err() == nil && !hasFailed {
			s.outbox.opts.Logger.Error("shared outbox not read, retrying", "error", err)
		}
		hasFailed = err != nil
	}
}

func (s *sharing) isBehind() bool {
	s.outbox.mu.Lock()
	defer s.outbox.mu.Unlock()
	version, err := s.tail.Version()
	return err != nil || version != s.version
}

// takeIn calls begin, which reads the changes of other processes.
func (s *sharing) takeIn(ctx context.Context) error {
	if s == nil {
		return nil
	}
	if err := s.outbox.begin(ctx); err != nil {
		return err
	}
	s.outbox.end()
	return nil
}
