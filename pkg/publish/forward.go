package publish

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// forwarder sends what is in the outbox to the stream. It runs in one
// goroutine; the cursor, which others look at, has a lock.
type forwarder struct {
	opts    Options
	nc      *nats.Conn
	outbox  *outbox
	link    *link
	batcher *batcher
	now     chan struct{} // has room for one: do not wait for more events

	cursor    *cursor
	due       map[runKey]time.Time // when finished runs are sealed; guarded by cursor.mu
	producer  string               // whose records are read
	reader    *reader
	most      int    // events per batch: fewer where the server takes no more
	read      uint64 // ordinal of the last record read
	held      map[string]*hold
	sentSince time.Time // when it was noticed that all there is was sent; zero: not, or removed
	peak      uint64    // ordinal up to which all that is of tenants that are not held is released
	missing   []gap     // that manifests listed and that have to be recorded; guarded by cursor.mu

	mu      sync.Mutex // guards what follows
	acked   uint64
	refused uint64
	lastAck time.Time
	err     error
	holds   int   // tenants that are held
	holdErr error // why one of them is
}

func newForwarder(nc *nats.Conn, box *outbox, cur *cursor) (*forwarder, error) {
	l := newLink(nc)
	b, err := newBatcher(nc, l, box.opts.AckWait)
	if err != nil {
		l.close()
		return nil, err
	}
	f := &forwarder{
		opts: box.opts, nc: nc, outbox: box, link: l, batcher: b, cursor: cur,
		now: make(chan struct{}, 1), most: box.opts.BatchEvents,
	}
	f.restart(box.id.Producer, box.spool)
	return f, nil
}

// restart begins with the first record of s that waits.
func (f *forwarder) restart(producer string, s *spool) {
	if f.reader != nil {
		f.reader.close()
	}
	f.producer, f.held, f.peak = producer, map[string]*hold{}, 0
	f.noteHeld()
	f.reader, f.read = s.reader(f.cursor.next), f.cursor.next-1
	f.due = map[runKey]time.Time{}
	for key, t := range f.cursor.runs {
		if t.Finished && !t.Lost && t.Count > t.Sealed {
			f.due[key] = time.Now()
			if t.Sealed > 0 {
				f.due[key] = time.Now().Add(f.opts.SealDelay)
			}
		}
	}
}

// run forwards until ctx ends.
func (f *forwarder) run(ctx context.Context) {
	var pause backoff
	for ctx.Err() == nil {
		err := f.step(ctx)
		if errors.Is(err, errDiverged) {
			err = f.clear(ctx)
		}
		if errors.Is(err, errConnectionClosed) {
			f.note(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			f.note(err)
			pause.pause(ctx, nil)
			continue
		}
		pause = backoff{}
	}
}

// step forwards one batch.
func (f *forwarder) step(ctx context.Context) error {
	if f.outbox.suspect() {
		if err := f.clear(ctx); err != nil {
			return err
		}
	}
	b, err := f.collect(ctx)
	if err == nil {
		err = f.deliverAll(ctx, b.groups)
	}
	if err != nil {
		f.rewind()
		return err
	}
	f.release(ctx, b)
	return nil
}

// rewind makes the next batch begin with the first record that waits.
func (f *forwarder) rewind() {
	f.reader.close()
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	f.reader = f.outbox.currentSpool().reader(f.cursor.next)
	f.read = f.cursor.next - 1
}

// batch is what is forwarded at once.
type batch struct {
	groups []*group
	count  int // of events to send
	sized  int // bytes of them
	begun  bool
	shares map[string]*share // all that was read, by tenant
}

// collect reads the next batch: it waits for the first record, and a little for
// more.
func (f *forwarder) collect(ctx context.Context) (*batch, error) {
	f.retry(time.Now())
	b := &batch{shares: map[string]*share{}}
	byTenant := map[string]*group{}
	var linger <-chan time.Time
	for b.count < f.most && len(b.groups) < maxGroups && b.sized < f.opts.BatchBytes {
		it, err := f.reader.next()
		if err == nil {
			f.take(b, byTenant, it)
			continue
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if b.begun && linger == nil {
			timer := time.NewTimer(f.opts.Linger)
			defer timer.Stop()
			linger = timer.C
		}
		if done, err := f.await(ctx, linger, b.begun); done || err != nil {
			return b, err
		}
	}
	return b, nil
}

// maxGroups keeps events and manifests of a batch below the server's limit.
const maxGroups = 999 - maxBatchEvents

// await waits for records, and seals runs that are due meanwhile. It is done
// when a batch that has begun should not wait any longer.
func (f *forwarder) await(ctx context.Context, linger <-chan time.Time, begun bool) (done bool, err error) {
	f.cursor.mu.Lock()
	next, err := f.seal(ctx, time.Now())
	f.cursor.mu.Unlock()
	if err != nil {
		f.note(err)
	}
	due, stop := alarm(next)
	defer stop()
	retry, stop := alarm(f.nextRetry())
	defer stop()
	now := f.now
	var wipe <-chan time.Time
	if !begun {
		now = nil
		wipe, stop = alarm(f.nextWipe())
		defer stop()
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-f.outbox.wake:
	case <-due:
	case <-wipe:
		if err := f.wipe(ctx); err != nil {
			f.note(err)
		}
	case <-retry:
		return true, nil
	case <-linger:
		return true, nil
	case <-now:
		return true, nil
	}
	return false, nil
}

// alarm returns a channel that tells when it is time; one that never does where
// that is zero.
func alarm(at time.Time) (due <-chan time.Time, stop func()) {
	if at.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(at))
	return timer.C, func() { timer.Stop() }
}

// take adds an item to the batch.
func (f *forwarder) take(b *batch, byTenant map[string]*group, it item) {
	switch {
	case it.ordinal > f.read:
		f.read = it.ordinal
	case it.ordinal > 0 || !b.begun && f.read < f.cursor.next:
		return // in front of where reading began
	}
	b.begun = true
	f.add(b, it)
	ch := f.chainOf(it.tenant)
	if it.fault != intact || it.sequence <= ch.Last || f.isHeld(it.tenant) {
		return
	}
	g := byTenant[it.tenant]
	if g == nil {
		g = &group{tenant: it.tenant}
		byTenant[it.tenant] = g
		b.groups = append(b.groups, g)
	}
	if n := len(g.entries); n > 0 && it.sequence <= g.entries[n-1].sequence {
		return // what was carried is there twice
	}
	e := newEntry(it)
	e.event = append(make([]byte, 0, len(it.event)), it.event...)
	g.entries = append(g.entries, e)
	b.count++
	b.sized += len(it.event)
}

// chainOf returns what is known of a tenant's chain.
func (f *forwarder) chainOf(tenant string) chain {
	f.cursor.mu.Lock()
	defer f.cursor.mu.Unlock()
	if ch := f.cursor.chains[tenant]; ch != nil {
		return *ch
	}
	return chain{}
}

// note keeps why forwarding waits.
func (f *forwarder) note(err error) {
	f.mu.Lock()
	first := f.err == nil || errors.Is(err, ErrPermission) && !errors.Is(f.err, ErrPermission)
	f.err = err
	f.mu.Unlock()
	if first {
		f.opts.Logger.Warn("forwarding waits", "error", err)
	}
}

func (f *forwarder) lastError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *forwarder) addStats(s *Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Acked, s.Refused, s.LastError, s.LastAck, s.Held = f.acked, f.refused, f.err, f.lastAck, f.holds
	if s.LastError == nil {
		s.LastError = f.holdErr
	}
}

// hurry makes the forwarder send what it has.
func (f *forwarder) hurry() {
	select {
	case f.now <- struct{}{}:
	default:
	}
}
