package auditor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

// maxAside is how many bytes of messages wait for a ledger that is set aside,
// before everything waits for it.
const maxAside = 16 << 20

// aside is a ledger whose file is written anew beside the loop. What comes of its
// tenant meanwhile waits, so that the ledgers of all others go on. As with one that
// is held back it is noted as if it were there: should the auditor end before it
// is, the next start finds the ledger behind that and reads the stream again.
type aside struct {
	ledger *ledger.Ledger
	done   chan struct{} // closed when the file is written, or was not
	err    error         // why it was not; to be read when done is closed

	late  []late // that wait; guarded by projected.mu
	bytes int
}

// late are messages of one batch.
type late struct {
	stream   ledger.Stream
	messages []ledger.Message
}

var errScrubbing = errors.New("the file of another ledger is written anew just now")

// setAside takes a ledger out of those that batches are written to. It returns nil
// for one that is held back.
func (p *projected) setAside(ctx context.Context, tenant string) (*aside, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.comeBack(ctx); err != nil {
		return nil, err
	}
	if p.aside != nil {
		return nil, errScrubbing
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
	p.aside = &aside{ledger: l, done: make(chan struct{})}
	return p.aside, nil
}

// isAside reports whether the ledger of a tenant is set aside. p.mu is held.
func (p *projected) isAside(tenant string) bool {
	return p.aside != nil && p.aside.ledger.Tenant() == tenant
}

// putOff takes the messages for the ledger that is set aside out of a batch and has
// them wait. Where too many do, or that ledger is done, it waits for it instead.
// p.mu is held.
func (p *projected) putOff(
	ctx context.Context, stream ledger.Stream, batch map[string][]ledger.Message, reached map[string]known,
) error {
	a := p.aside
	if a == nil {
		return nil
	}
	tenant, size := a.ledger.Tenant(), 0
	messages := batch[tenant]
	for _, m := range messages {
		size += len(m.Data)
	}
	if a.isDone() || a.bytes+size > maxAside {
		return p.awaitAside(ctx)
	}
	if len(messages) == 0 {
		return nil
	}
	a.late, a.bytes = append(a.late, late{stream, messages}), a.bytes+size
	reached[tenant] = known{tenant: tenant, epoch: stream.Epoch, sequence: messages[len(messages)-1].Sequence}
	delete(batch, tenant)
	return nil
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
	if p.aside == nil {
		return nil
	}
	select {
	case <-p.aside.done:
		return p.comeBack(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// comeBack gives a ledger that is done what has waited for it, and puts it among
// the others again. After an error it is to be called again. p.mu is held.
func (p *projected) comeBack(ctx context.Context) error {
	a := p.aside
	if a == nil || !a.isDone() {
		return nil
	}
	tenant := a.ledger.Tenant()
	for ; len(a.late) > 0; a.late = a.late[1:] {
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
	if a.ledger.Unclean() {
		p.scrubs.add(tenant, a.err)
	} else {
		p.scrubs.done(tenant)
	}
	p.set.TakeBack(a.ledger)
	p.aside = nil
	p.appended(tenant)
	return nil
}

func (p *projected) appendLate(ctx context.Context, l *ledger.Ledger, what late) error {
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

// closeAside closes a ledger to which what waits could not be given.
func (p *projected) closeAside() error {
	if p.aside == nil {
		return nil
	}
	l := p.aside.ledger
	p.aside = nil
	return errors.Join(l.Close(), fmt.Errorf("ledger of tenant %q lacks messages that waited for it: the next start reads them again", l.Tenant()))
}
