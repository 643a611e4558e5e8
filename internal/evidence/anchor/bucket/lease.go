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
	// TakeoverAfter is the time in which the holder of the lease must answer a challenge.
	TakeoverAfter = 2 * time.Second
	// RefreshInterval is the interval at which [Lease.Refresh] should be called.
	RefreshInterval = 250 * time.Millisecond
	// HeldFor is the time for which [Lease.Held] trusts the last successful refresh. It is shorter
	// than TakeoverAfter, so that two processes never believe that they hold the lease at the same
	// time.
	HeldFor = TakeoverAfter - 2*RefreshInterval

	// If the holder has not written for challengeAfter, other processes challenge it.
	challengeAfter = 3 * RefreshInterval
)

// A Candidate describes a process that competes for a lease.
type Candidate struct {
	Durable string // durable name of the auditors that share the lease, see [subjects.Space.LeaseKey]
	Standby bool   // wait TakeoverAfter before taking a free lease

	now func() time.Time // for tests
}

// A Lease is one process's view of a lease in the bucket. The process uses it to take and keep the
// lease.
type Lease struct {
	bucket       *Bucket
	key, subject string
	id           string
	standby      bool
	now          func() time.Time

	// op guards record, revision, seen, challenged and taken. It is locked during requests to the
	// broker, so that this process sends one request at a time. If a goroutine needs both mutexes,
	// it locks op before mu.
	op       sync.Mutex
	record   record // the lease as it was last read or written
	revision uint64
	seen     time.Time // time at which this revision was first read; zero after an error
	// true after the first write; until then a challenge need not wait for challengeAfter.
	challenged bool
	taken      int // number of times that this process took the lease

	mu      sync.Mutex // guards held and checked
	held    bool
	checked time.Time
}

// Lease returns a Lease for the candidate c. It sends no request, and the process holds the lease
// at the earliest after the first Refresh.
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

// Held reports whether this process holds the lease, so that no other process can store
// checkpoints. If the process was suspended, Held returns false until the next Refresh.
func (l *Lease) Held() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held && l.now().Sub(l.checked) < HeldFor
}

// Holder returns the last known holder of the lease and whether that is another process.
func (l *Lease) Holder() (name string, other bool) {
	l.op.Lock()
	defer l.op.Unlock()
	return l.record.Holder, l.record.Holder != "" && l.record.Holder != l.id
}

// Answered reports whether another process holds the lease and has answered a challenge of this
// process.
func (l *Lease) Answered() bool {
	l.op.Lock()
	defer l.op.Unlock()
	r := l.record
	return r.Holder != "" && r.Holder != l.id && l.challenged && r.Writer == r.Holder
}

// Taken returns the number of times that this process took the lease. It increases even if this
// process was the last holder and takes the lease again because the bucket was emptied.
func (l *Lease) Taken() int {
	l.op.Lock()
	defer l.op.Unlock()
	return l.taken
}

// Refresh reads the lease. If necessary, it answers a challenge, challenges the holder, or takes a
// lease that is free or expired. It returns an error only if the bucket cannot be read or written.
func (l *Lease) Refresh(ctx context.Context) error {
	l.op.Lock()
	defer l.op.Unlock()
	ctx, cancel := context.WithTimeout(ctx, TakeoverAfter)
	defer cancel()
	began := l.now()
	entry, err := l.bucket.read(ctx, l.key, l.subject)
	if err != nil {
		// The holder may be unable to reach the bucket too, so its time to answer starts again.
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
	if err == nil { // after a conflict, the next Refresh reads the new holder
		l.setHeld(l.record.Holder == l.id, began)
	}
	return nil
}

func (l *Lease) observe(e Entry) {
	var r record
	if e.Data != nil {
		var err error
		if r, err = parseRecord(e.Data); err != nil {
			r = record{Holder: "unreadable"} // a holder with this name never answers
		}
	}
	// If the bucket was deleted and created again, a different record can have the same revision.
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
	Revision uint64 // revision of the checkpoint to replace; Put sets the new revision
}

// MaxUploads is the maximum number of uploads in one call of [Lease.Put].
const MaxUploads = 256

// Put stores all checkpoints or none. When it returns nil, they are on the broker's disk. The error
// wraps [ErrConflict] if another process has written the lease since the last Refresh or has
// replaced one of the checkpoints. After any other error it is unknown whether the checkpoints are
// stored.
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

// Release gives up the lease so that another process can take it at once.
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
