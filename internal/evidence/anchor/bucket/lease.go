package bucket

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nuid"
)

const (
	// Patience is how long a holder of the lease has to answer who asks for it.
	Patience = 2 * time.Second
	// StepEvery is how often [Lease.Step] is to be called.
	StepEvery = 250 * time.Millisecond
	// Trust is how long after a step that found the lease ours [Lease.Held] says so.
	// Nobody else can hold it before Patience is over.
	Trust = Patience - 2*StepEvery

	// A contender asks a holder that was quiet for so long.
	askAfter = 3 * StepEvery
)

// Contender says who wants a lease, and how much.
type Contender struct {
	Durable string // of the auditors that take turns, see [subjects.Space.LeaseKey]
	Standby bool   // takes a lease that nobody has after Patience, not at once

	now func() time.Time // tests
}

// Lease is one process's part in the turns that auditors take.
type Lease struct {
	bucket       *Bucket
	key, subject string
	id           string
	standby      bool
	now          func() time.Time

	turn     sync.Mutex // guards what follows; held while the broker is asked: writes come one after the other
	record   record     // as it was seen last
	revision uint64
	seen     time.Time // when this revision was seen first; zero: not seen since a failure
	asked    bool      // nobody has to be quiet before they are asked the first time
	taken    int       // how often it became ours

	mu      sync.Mutex // guards what follows, within turn or without
	held    bool
	checked time.Time // when it was known to be held, or not
}

// Lease returns c's part in a lease. It holds nothing before it is stepped.
func (b *Bucket) Lease(c Contender) *Lease {
	if c.now == nil {
		c.now = time.Now
	}
	host, err := os.Hostname()
	if err != nil || len(host) > maxName/2 {
		host = "auditor"
	}
	l := &Lease{bucket: b, id: host + "-" + nuid.Next(), standby: c.Standby, now: c.now}
	l.key, l.subject = b.space.LeaseKey(c.Durable)
	return l
}

// Held reports whether nobody else can be putting checkpoints now. A process that
// was stopped finds it false when it goes on, until it has stepped.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && l.now().Sub(l.checked) < Trust
}

// Holder names who has the lease as far as known, and whether that is another
// process than ours.
func (l *Lease) Holder() (name string, other bool) {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.record.Holder, l.record.Holder != "" && l.record.Holder != l.id
}

// Answered reports whether another process has the lease and is alive: it has
// answered since it was asked.
func (l *Lease) Answered() bool {
	l.turn.Lock()
	defer l.turn.Unlock()
	r := l.record
	return r.Holder != "" && r.Holder != l.id && l.asked && r.Writer == r.Holder
}

// Taken is how often the lease became ours: once more than before also when it was
// gone, with all that is in the bucket, from under us.
func (l *Lease) Taken() int {
	l.turn.Lock()
	defer l.turn.Unlock()
	return l.taken
}

// Step looks at the lease and does what is due: answers who asks, asks a holder
// that is quiet, takes the lease of one that does not answer. It returns an error
// only if the bucket could not be read or written.
func (l *Lease) Step(ctx context.Context) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	began := l.now()
	entry, err := l.bucket.read(ctx, l.key, l.subject)
	if err != nil {
		// While we cannot ask, nobody can answer: patience begins again.
		l.seen = time.Time{}
		return err
	}
	l.see(entry)
	next, due := l.due()
	if due {
		err = l.write(ctx, next)
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		l.seen = time.Time{}
		return err
	}
	if err == nil { // after a conflict the next step tells
		l.note(l.record.Holder == l.id, began)
	}
	return nil
}

// see takes in what lies there.
func (l *Lease) see(e Entry) {
	var r record
	if e.Data != nil {
		var err error
		if r, err = parseRecord(e.Data); err != nil {
			r = record{Holder: "unreadable"} // who wrote that will not answer
		}
	}
	// In a bucket that was made anew somebody else's may have the same revision.
	if e.Revision == l.revision && r == l.record && !l.seen.IsZero() {
		return
	}
	l.revision, l.seen, l.record = e.Revision, l.now(), r
}

// due returns what is to be written now, if anything is.
func (l *Lease) due() (record, bool) {
	quiet := l.now().Sub(l.seen)
	ours := record{Holder: l.id, Writer: l.id}
	switch r := l.record; {
	case r.Holder == l.id:
		return ours, r.Writer != l.id
	case r.Holder == "":
		return ours, !l.standby || quiet >= Patience
	case r.Writer == r.Holder:
		return record{Holder: r.Holder, Writer: l.id}, !l.asked || quiet >= askAfter
	default:
		return ours, quiet >= Patience
	}
}

// write replaces the lease that was seen.
func (l *Lease) write(ctx context.Context, r record) error {
	revision, err := l.bucket.put(ctx, write{subject: l.subject, data: r.encode(), revision: l.revision})
	if err != nil {
		return fmt.Errorf("%s: %w", l.key, err)
	}
	if r.Holder == l.id && l.record.Holder != l.id {
		l.taken++
	}
	l.record, l.revision, l.seen, l.asked = r, revision, l.now(), true
	return nil
}

// note remembers whether the lease was ours at a time.
func (l *Lease) note(held bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.checked = held, at
}

// Placed is a checkpoint on its way into the bucket, and what it replaces.
type Placed struct {
	Tenant   string
	Signed   []byte
	Revision uint64 // of what it replaces; of itself, once it is stored
}

// MaxPlaced is how many checkpoints [Lease.Put] takes at a time.
const MaxPlaced = 256

// Put stores checkpoints, all or none, provided that nobody has written the lease
// since it was stepped, nor any of what they replace: else the error wraps
// [ErrConflict]. When it returns nil they are on the broker's disk. After any other
// error they may be there.
func (l *Lease) Put(ctx context.Context, all []Placed) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	if l.record.Holder != l.id {
		return fmt.Errorf("%s is held by %s: %w", l.key, l.record.Holder, ErrConflict)
	}
	writes := make([]write, 0, 1+len(all))
	writes = append(writes, write{subject: l.subject, data: l.record.encode(), revision: l.revision})
	for _, p := range all {
		_, subject, err := l.bucket.space.CheckpointKey(p.Tenant)
		if err != nil {
			return err
		}
		writes = append(writes, write{subject: subject, data: p.Signed, revision: p.Revision})
	}
	began := l.now()
	last, err := l.bucket.putAll(ctx, writes)
	if err != nil {
		return err
	}
	first := last - uint64(len(all))
	l.revision, l.seen = first, l.now()
	for i := range all {
		all[i].Revision = first + 1 + uint64(i)
	}
	l.note(true, began)
	return nil
}

// Release gives the lease back, if it is held: the next one who wants it has it at
// once.
func (l *Lease) Release(ctx context.Context) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	l.note(false, l.now())
	if l.record.Holder != l.id {
		return nil
	}
	if err := l.write(ctx, record{Writer: l.id}); err != nil && !errors.Is(err, ErrConflict) {
		return fmt.Errorf("give back %w", err)
	}
	return nil
}
