package asof

import (
	"context"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

type sent struct {
	outbox, producer string
	publish.Settled
	uses bool
}

func (o *outboxes) noteSent(b outbox, s publish.State) {
	if end, ok := s.Settled[o.tenant]; ok {
		o.sent = append(o.sent, sent{filepath.Base(b.dir), s.Producer, end, b.now.Uses})
	}
}

// Both the stream position and the number of an event must be unknown to the ledger, because a new
// stream has new positions.
func (o *outboxes) unwritten(ctx context.Context, r *ledger.Reader, at ledger.Position) (list []verifier.Waiting, err error) {
	for _, s := range o.sent {
		if s.Position <= at.Sequence {
			continue
		}
		last, err := r.Activity().LastNumber(ctx, s.producer)
		if err != nil {
			return nil, err
		}
		if s.Last > last {
			list = append(list, verifier.Waiting{Outbox: s.outbox, Events: s.Last - last, Uses: s.uses})
		}
	}
	return list, nil
}

func (q *Question) awaitWritten(ctx context.Context, deadline time.Time) {
	for q.opts.Written {
		c, err := q.opts.Ledger.Newest(ctx)
		if err != nil {
			return
		}
		list, err := q.outboxes.unwritten(ctx, q.opts.Ledger, c.Position)
		if err != nil || len(list) == 0 || !pause(ctx, deadline) {
			return
		}
	}
}
