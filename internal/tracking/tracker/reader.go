package tracker

import (
	"context"
	"errors"
	"sync/atomic"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/tracking/beads"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

const maxWaitingLogged = 20 // in one batch

type reader struct {
	db      *projection.DB
	marks   *consume.Marks
	opts    Options
	settler *settler
	ticker  *ticker // nil in a drain

	lag atomic.Uint64 // unread messages of the stream
}

// Position implements [consume.Projection].
func (r *reader) Position(ctx context.Context) (consume.Position, error) { return r.db.Position(ctx) }

// Apply implements [consume.Projection]. It returns an error while the backend of the issues is
// unavailable, so that the tracker stops reading the stream.
func (r *reader) Apply(ctx context.Context, messages []consume.Message, next consume.Position) error {
	if err := r.settler.lastError(); errors.Is(err, beads.ErrUnavailable) {
		r.settler.wakeUp()
		return err
	}
	var b *batch
	err := r.db.Commit(ctx, next, r.marks, func(conn *sqlite.Conn) error {
		b = r.batch(conn)
		for _, m := range messages {
			if err := b.fold(m); err != nil {
				return err
			}
		}
		r.opts.stage("folded")
		return b.save()
	})
	if err != nil {
		return err
	}
	r.opts.stage("committed")
	if r.ticker != nil {
		r.ticker.noteEvents(b.tenants)
	}
	r.report(ctx, b)
	r.settler.wakeUp()
	return nil
}

func (r *reader) progress(p consume.Progress) {
	r.lag.Store(p.Lag)
	r.settler.noteProgress(p)
	if p.Err == nil {
		p.Err = r.settler.lastError()
	}
	r.opts.Progress(p)
}

func (r *reader) current() bool { return r.settler.caught.Load() && r.lag.Load() == 0 }

func (r *reader) batch(conn *sqlite.Conn) *batch {
	return &batch{
		conn: conn, marks: r.marks, state: store.NewFold(conn, r.opts.Config), tenants: make(map[string]bool),
		orderKey: r.opts.orderKey, keyOrders: r.opts.keyOrders, answers: r.opts.answers(),
	}
}

func (r *reader) checkStored(ctx context.Context) error {
	var b *batch
	err := r.db.Tx(ctx, func(conn *sqlite.Conn) error {
		b = r.batch(conn)
		return b.checkStored()
	})
	if err == nil {
		r.report(ctx, b)
	}
	return err
}

func (r *reader) report(ctx context.Context, b *batch) {
	if b.erased {
		r.settler.scrub.Store(true)
		r.opts.Logger.InfoContext(ctx, "issue texts erased by order")
	}
	for i, w := range b.waiting {
		if i == maxWaitingLogged {
			r.opts.Logger.ErrorContext(ctx, "more orders wait", "orders", len(b.waiting)-i)
			break
		}
		r.opts.Logger.ErrorContext(ctx, "order waits, because the tracker has no key of the ledger that signed it: start the tracker with --order-key, the auditor's ledger.pub",
			"tenant", w.tenant, "order", w.id, "action", w.action, "signed_by", w.signer)
	}
}

func newReader(ctx context.Context, opts Options, db *projection.DB, s *settler) (*reader, error) {
	marks, err := db.LoadMarks(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{db: db, marks: marks, opts: opts, settler: s}
	return r, r.checkStored(ctx)
}
