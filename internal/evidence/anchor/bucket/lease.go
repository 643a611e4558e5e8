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
	// TakeoverAfter is how long the holder of the lease has to answer a challenge.
	TakeoverAfter = 2 * time.Second
	// RefreshInterval is how often to call [Lease.Refresh].
	RefreshInterval = 250 * time.Millisecond
	// HeldFor is how long [Lease.Held] trusts a refresh. It is shorter than TakeoverAfter, so that
	// two processes never hold the lease.
	HeldFor = TakeoverAfter - 2*RefreshInterval

	// challengeAfter is how long the lease holder may write nothing before other processes
	// challenge the holder.
	challengeAfter = 3 * RefreshInterval
)

// A Candidate is a process that competes for a lease.
type Candidate struct {
	Durable string // name of the lease, see [subjects.Space.LeaseKey]
	Standby bool   // wait TakeoverAfter before taking a free lease

	now func() time.Time // for tests
}

// A Lease is a process's view of a lease in the bucket.
type Lease struct {
	bucket       *Bucket
	key, subject string
	id           string
	standby      bool
	now          func() time.Time

	// op guards the fields from record to taken, and stays locked during requests to the broker.
	// Lock op before mu.
	op       sync.Mutex
	record   record // as last read or written
	revision uint64
	seen     time.Time // when this revision was first read; zero after an error
	// challenged is true after the first challenge. The first challenge is sent at once, so that a
	// new process soon knows whether the holder is alive.
	challenged bool
	taken      int // how often this process took the lease

	mu      sync.Mutex // guards the fields held and checked
	held    bool
	checked time.Time
}

// Lease returns a Lease for the candidate. It sends no request, and [Lease.Refresh] takes the
// lease.
func (b *Bucket) Lease(c Candidate) *Lease {
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

// Held reports whether this process holds the lease. It needs a recent Refresh, because a suspended
// process may lose the lease.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && l.now().Sub(l.checked) < HeldFor
}

// Holder returns the last known holder, and whether it is another process.
func (l *Lease) Holder() (name string, other bool) {
	l.op.Lock()
	defer l.op.Unlock()
	return l.record.Holder, l.record.Holder != "" && l.record.Holder != l.id
}

// Answered reports whether the other holder of the lease has reacted to a challenge of this
// process, which shows that the holder is alive.
func (l *Lease) Answered() bool {
	l.op.Lock()
	defer l.op.Unlock()
	r := l.record
	return r.Holder != "" && r.Holder != l.id && l.challenged && r.Writer == r.Holder
}

// Taken returns how often this process has taken the lease. It includes takes after the bucket was
// emptied.
func (l *Lease) Taken() int {
	l.op.Lock()
	defer l.op.Unlock()
	return l.taken
}

// Refresh reads the lease from the bucket. If this process holds the lease, it answers a challenge
// of another auditor. Otherwise it challenges the holder, or takes the lease if the lease is free
// or expired.
func (l *Lease) Refresh(ctx context.Context) error {
	l.op.Lock()
	defer l.op.Unlock()
	ctx, cancel := context.WithTimeout(ctx, TakeoverAfter)
	defer cancel()
	began := l.now()
	entry, err := l.bucket.read(ctx, l.key, l.subject)
	if err != nil {
		// The holder may also be cut off from the bucket, so give the holder the full time to
		// answer again.
		l.seen = time.Time{}
		return err
	}
	l.observe(entry)
	next, ok := l.next()
	if ok {
		err = l.write(ctx, next)
	}
	if err != nil && !errors.Is(err, ErrConflict) {
		l.seen = time.Time{}
		return err
	}
	if err == nil { // after a conflict, the next Refresh reads the holder
		l.setHeld(l.record.Holder == l.id, began)
	}
	return nil
}

func (l *Lease) observe(e Entry) {
	var r record
	if e.Data != nil {
		var err error
		if r, err = parseRecord(e.Data); err != nil {
			r = record{Holder: "unreadable"} // never answers
		}
	}
	// A bucket that was deleted and created again can have a different record at the same
	// revision.
	if e.Revision == l.revision && r == l.record && !l.seen.IsZero() {
		return
	}
	l.revision, l.seen, l.record = e.Revision, l.now(), r
}

func (l *Lease) next() (record, bool) {
	quiet := l.now().Sub(l.seen)
	ours := record{Holder: l.id, Writer: l.id}
	switch r := l.record; {
	case r.Holder == l.id:
		return ours, r.Writer != l.id
	case r.Holder == "":
		return ours, !l.standby || quiet >= TakeoverAfter
	case r.Writer == r.Holder:
		return record{Holder: r.Holder, Writer: l.id}, !l.challenged || quiet >= challengeAfter
	default:
		return ours, quiet >= TakeoverAfter
	}
}

func (l *Lease) write(ctx context.Context, r record) error {
	revision, err := l.bucket.put(ctx, write{subject: l.subject, data: r.encode(), revision: l.revision})
	if err != nil {
		return fmt.Errorf("%s: %w", l.key, err)
	}
	if r.Holder == l.id && l.record.Holder != l.id {
		l.taken++
	}
	l.record, l.revision, l.seen, l.challenged = r, revision, l.now(), true
	return nil
}

func (l *Lease) setHeld(held bool, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.checked = held, at
}

// An Upload is a checkpoint that [Lease.Put] stores.
type Upload struct {
	Tenant   string
	Signed   []byte
	Revision uint64 // revision to replace; Put updates it
}

// MaxUploads limits the uploads of one [Lease.Put].
const MaxUploads = 256

// Put stores all checkpoints on the broker's disk, or none. Errors wrap [ErrConflict] if another
// process wrote meanwhile. After any other error, they may or may not be stored.
func (l *Lease) Put(ctx context.Context, all []Upload) error {
	l.op.Lock()
	defer l.op.Unlock()
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
	l.setHeld(true, began)
	return nil
}

// Release gives up the lease at once.
func (l *Lease) Release(ctx context.Context) error {
	l.op.Lock()
	defer l.op.Unlock()
	l.setHeld(false, l.now())
	if l.record.Holder != l.id {
		return nil
	}
	if err := l.write(ctx, record{Writer: l.id}); err != nil && !errors.Is(err, ErrConflict) {
		return fmt.Errorf("release %w", err)
	}
	return nil
}
