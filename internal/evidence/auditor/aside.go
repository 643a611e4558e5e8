package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const (
	// maxAside is how many bytes of messages wait for all ledgers that are set aside,
	// before everything waits: for a batch, and for what comes behind it.
	maxAside = batchBytes + 16<<20

	mostAside = 16               // that many are set aside at a time; each has descriptors and a goroutine
	patience  = time.Second      // a ledger that takes longer for its part of a batch is set aside
	busyPause = time.Second / 10 // behind a write to a file that was busy
	longAside = 10 * time.Second // readiness tells of a ledger that is waited for longer
)

// aside is a ledger that is scrubbed, or written to, beside the loop. What comes of
// its tenant meanwhile waits, so that the ledgers of all others go on. As with one
// that is held back it is noted as if it were there: should the auditor end before it
// is, the next start finds the ledger behind that and reads the stream again.
type aside struct {
	ledger *writer.Ledger
	since  time.Time
	scrub  bool          // it is scrubbed, of which scrubs tell
	done   chan struct{} // closed when nobody works on it any more
	err    error         // why it was not scrubbed; to be read when done is closed

	mu    sync.Mutex // guards what follows
	late  []late     // that wait
	bytes int
	busy  error // why it takes so long, as far as is known
}

// late are messages of one batch.
type late struct {
	stream   ledger.Stream
	messages []ledger.Message
	bytes    int
}

// errAside has whoever scrubs come again.
var errAside = fmt.Errorf("the ledger is set aside already: %w", writer.ErrScrubLater)

func newAside(l *writer.Ledger, first ...late) *aside {
	a := &aside{ledger: l, since: time.Now(), done: make(chan struct{}), late: first}
	for _, what := range first {
		a.bytes += what.bytes
	}
	return a
}

func newLate(stream ledger.Stream, messages []ledger.Message) late {
	what := late{stream: stream, messages: messages}
	for _, m := range messages {
		what.bytes += len(m.Data)
	}
	return what
}

// setAside takes a ledger that is to be scrubbed out of those that batches are
// written to. It returns nil for one that is held back.
func (p *projected) setAside(ctx context.Context, tenant string) (*aside, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.comeBack(ctx); err != nil {
		return nil, err
	}
	if p.asides[tenant] != nil {
		return nil, errAside
	}
	if p.held[tenant] != nil {
		p.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // whoever restores that ledger decides about its files
	}
	l, err := p.set.Lend(ctx, tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		p.hold(ctx, tenant, err)
		p.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // the same
	}
	if err != nil {
		return nil, err
	}
	a := newAside(l)
	a.scrub = true
	p.asides[tenant] = a
	return a, nil
}

// putOff takes the messages for ledgers that are set aside out of a batch and has
// them wait. Where too many do, or a ledger is done, it waits for that instead.
// p.mu is held.
func (p *projected) putOff(
	ctx context.Context, stream ledger.Stream, batch map[string][]ledger.Message, reached map[string]known,
) error {
	if err := p.comeBack(ctx); err != nil {
		return err
	}
	for tenant, a := range p.asides {
		messages := batch[tenant]
		if len(messages) == 0 {
			continue
		}
		what := newLate(stream, messages)
		if p.waiting()+what.bytes > maxAside || !a.add(what) {
			if err := p.await(ctx, a); err != nil {
				return err
			}
			continue
		}
		reached[tenant] = due(tenant, what)
		delete(batch, tenant)
	}
	return nil
}

// due is how far a ledger is to be when it has what waits for it.
func due(tenant string, what late) known {
	return known{tenant: tenant, epoch: what.stream.Epoch, sequence: what.messages[len(what.messages)-1].Sequence}
}

// waiting returns how many bytes wait for all ledgers that are set aside.
func (p *projected) waiting() (bytes int) {
	for _, a := range p.asides {
		a.mu.Lock()
		bytes += a.bytes
		a.mu.Unlock()
	}
	return bytes
}

// add has what wait for a ledger, unless nobody works on that any more.
func (a *aside) add(what late) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.isDone() {
		return false
	}
	a.late, a.bytes = append(a.late, what), a.bytes+what.bytes
	return true
}

// next returns what waits in front. When nothing does, the ledger is done.
func (a *aside) next() (late, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.late) == 0 {
		close(a.done)
		return late{}, false
	}
	return a.late[0], true
}

// took takes out what waited in front.
func (a *aside) took() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes -= a.late[0].bytes
	a.late = a.late[1:]
}

func (a *aside) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// awaitAside waits until no ledger is set aside. p.mu is held.
func (p *projected) awaitAside(ctx context.Context) error {
	for _, a := range p.asides {
		if err := p.await(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

// await waits until a ledger is set aside no more. p.mu is held.
func (p *projected) await(ctx context.Context, a *aside) error {
	select {
	case <-a.done:
		return p.takeBack(ctx, a)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *projected) comeBackNow(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.comeBack(ctx)
}

// comeBack puts the ledgers that are done among the others again. After an error it
// is to be called again. p.mu is held.
func (p *projected) comeBack(ctx context.Context) error {
	var errs error
	for _, a := range p.asides {
		if a.isDone() {
			errs = errors.Join(errs, p.takeBack(ctx, a))
		}
	}
	return errs
}

// takeBack gives a ledger that is done what still waits for it, and puts it among
// the others again. p.mu is held.
func (p *projected) takeBack(ctx context.Context, a *aside) error {
	tenant := a.ledger.Tenant()
	for ; len(a.late) > 0; a.took() {
		err := p.appendLate(ctx, a.ledger, a.late[0])
		if errors.Is(err, ledger.ErrDamaged) {
			p.hold(ctx, tenant, err)
			break
		}
		if err != nil {
			return err
		}
	}
	if p.held[tenant] == nil {
		if err := p.noteReached(ctx, knownOf(a.ledger)); err != nil {
			return err
		}
	}
	switch {
	case a.ledger.Unclean():
		p.scrubs.add(tenant, a.err)
	case a.scrub:
		p.scrubs.done(tenant)
	}
	p.set.TakeBack(a.ledger)
	delete(p.asides, tenant)
	p.appended(tenant)
	return nil
}

func (p *projected) appendLate(ctx context.Context, l *writer.Ledger, what late) error {
	for part := range slices.Chunk(what.messages, signEvents) {
		done, err := l.Append(ctx, what.stream, part)
		if err != nil {
			return err
		}
		p.report(ctx, l.Tenant(), done)
	}
	return nil
}

// noteReached notes how far a ledger is that was said to be further.
func (p *projected) noteReached(ctx context.Context, k known) error {
	return p.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "UPDATE ledger SET epoch = ?2, sequence = ?3 WHERE tenant = ?1",
			&sqlitex.ExecOptions{Args: []any{k.tenant, int64(k.epoch), int64(k.sequence)}})
	})
}

// closeAside closes the ledgers to which what waits could not be given. Nobody
// works on them any more.
func (p *projected) closeAside() error {
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(p.asides)) {
		a := p.asides[tenant]
		errs = errors.Join(errs, a.ledger.Close())
		if len(a.late) > 0 {
			errs = errors.Join(errs, fmt.Errorf("ledger of tenant %q lacks messages that waited for it: the next start reads them again", tenant))
		}
	}
	clear(p.asides)
	return errs
}
