package ledger

import (
	"context"
	"iter"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Accesses yields the records of uses of evidence, in the order of the tree:
// events of kind audit.accessed, whoever published them.
func (r *Reader) Accesses(ctx context.Context) iter.Seq2[Entry, error] {
	return r.pages(ctx, -1, ` AND l.kind = ?4 AND l.class = 'event'`, string(events.AuditAccessed))
}
