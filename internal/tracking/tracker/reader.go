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

// reader is the tracker's projection of the stream: the state and what was
// decided.
type reader struct {
	db      *projection.DB
	marks   *consume.Marks
	opts    Options
	settler *settler
	ticker  *ticker // nil: nobody moves the clocks of quiet tenants

	lag atomic.Uint64 // messages of the stream that were not read
}

// Position implements [consume.Projection].
func (r *reader) Position(ctx context.Context) (consume.Position, error) { return r.db.Position(ctx) }

// Apply implements [consume.Projection]. While the backend takes nothing, it
// takes nothing either.
func (r *reader) Apply(ctx context.Context, messages []consume.Message, next consume.Position) error {
	if err := r.settler.trouble(); errors.Is(err, beads.ErrUnavailable) {
		r.settler.hurry()
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
		r.ticker.hear(b.tenants)
	}
	r.note(ctx, b)
	r.settler.hurry()
	return nil
}

// progress takes in how the reading stands, and adds what keeps issues from being
// settled.
func (r *reader) progress(p consume.Progress) {
	r.lag.Store(p.Lag)
	r.settler.reached(p)
	if p.Err == nil {
		p.Err = r.settler.trouble()
	}
	r.opts.Progress(p)
}

// current reports whether all was read that is in the stream.
func (r *reader) current() bool { return r.settler.caught.Load() && r.lag.Load() == 0 }

func (r *reader) batch(conn *sqlite.Conn) *batch {
	return &batch{
		conn: conn, marks: r.marks, state: store.NewFold(conn, r.opts.Config), tenants: make(map[string]bool),
		orderKey: r.opts.orderKey, keyOrders: r.opts.keyOrders,
	}
}

// checkKept carries out what was ordered while no key was there, if one is.
func (r *reader) checkKept(ctx context.Context) error {
	var b *batch
	err := r.db.Tx(ctx, func(conn *sqlite.Conn) error {
		b = r.batch(conn)
		return b.checkKept()
	})
	if err == nil {
		r.note(ctx, b)
	}
	return err
}

// note passes on what a batch did about orders, now that it is committed.
func (r *reader) note(ctx context.Context, b *batch) {
	if b.erased {
		r.settler.scrub.Store(true)
		r.opts.Logger.InfoContext(ctx, "texts of issues were erased by order")
	}
	if b.unchecked {
		r.opts.Logger.ErrorContext(ctx, "an order about evidence came that no key is there to check: it waits; "+
			"start the tracker with --order-key, the auditor's ledger.pub")
	}
}

func newReader(ctx context.Context, opts Options, db *projection.DB, s *settler) (*reader, error) {
	marks, err := db.LoadMarks(ctx)
	if err != nil {
		return nil, err
	}
	r := &reader{db: db, marks: marks, opts: opts, settler: s}
	return r, r.checkKept(ctx)
}
