package writer

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Break notes that reading goes on behind at, and not where the ledger has got
// to: it signs a checkpoint with that position, which no message brought. At is
// a message that the ledger and the stream have in common, or the last one that
// is gone, then without its hash. [verifier.Verify] tells of it from then on.
//
// A ledger that holds nothing yet, or has got there already, stays as it is:
// calling Break again changes nothing. When it returns nil the checkpoint is on
// disk; after an error it is not.
func (l *Ledger) Break(ctx context.Context, at ledger.Position) error {
	err := sqlitetx.Within(ctx, l.conn, sqlitetx.BeginWrite, func() error {
		if err := l.refresh(); err != nil {
			return err
		}
		if l.newest.Arrivals == 0 || !at.Behind(l.newest.Position) {
			return nil
		}
		_, err := l.seal(at)
		return err
	})
	if err != nil {
		l.stale = true
		return fmt.Errorf("note a break of the stream in the ledger of tenant %q: %w", l.tenant, ledger.Refusal(err))
	}
	return nil
}
