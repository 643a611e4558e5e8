package ledger

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Word says how the payload of a record was destroyed. It is [Erased] or [Pruned].
type Word string

// The values of [Word], as stored in ledgers.
const (
	Erased Word = "erased" // by an order to erase
	Pruned Word = "pruned" // after its retention time
)

// Removal describes how the payload of a record was destroyed. The leaf remains, so proofs stay
// valid.
type Removal struct {
	Word  Word
	Order int64 // leaf of the event with the order
}

// Done reports whether an order has destroyed the payload of the record.
func (r Removal) Done() bool { return r.Word != "" }

// Event decodes the event in a record. If the payload was destroyed, the event has only the fields
// that the leaf contains.
func (e Entry) Event() (events.Event, error) {
	if !e.Removal.Done() {
		return events.Decode(e.Bytes)
	}
	return events.Event{
		ID: e.ID, Type: e.Kind.Type(), Time: e.Time, Producer: e.Producer, Sequence: e.Sequence,
		Run: e.Run, Subject: e.Run,
	}, nil
}

// WordOf returns [Pruned] for an order to prune, and [Erased] for any other order.
func WordOf(action events.AuditAction) Word {
	if action == events.AuditPrune {
		return Pruned
	}
	return Erased
}

// ScanRemoval reads a Removal from a query result. The query must return the column "word" at the
// given index, followed by the column "ordered".
func ScanRemoval(stmt *sqlite.Stmt, column int) (Removal, error) {
	if stmt.ColumnIsNull(column) {
		return Removal{}, nil
	}
	r := Removal{Word: Word(stmt.ColumnText(column)), Order: stmt.ColumnInt64(column + 1)}
	if r.Word != Erased && r.Word != Pruned {
		return Removal{}, fmt.Errorf("%w: what became of its record is said in no known word", ErrDamaged)
	}
	return r, nil
}

// RemovedRun is a run that has events whose payloads an order destroyed.
type RemovedRun struct {
	Order int64 // leaf of the event with the order
	Run   string
}

// RemovedRuns yields the runs with events whose payloads an order destroyed. It skips the orders up
// to the given leaf number. No transaction is open while the caller handles a run.
func (r *Reader) RemovedRuns(ctx context.Context, order int64) iter.Seq2[RemovedRun, error] {
	return func(yield func(RemovedRun, error) bool) {
		for {
			runs, err := r.source.runsOfNext(ctx, order)
			if err != nil {
				yield(RemovedRun{}, err)
				return
			}
			if len(runs) == 0 {
				return
			}
			for _, x := range runs {
				if x.Run != "" && !yield(x, nil) {
					return
				}
				order = x.Order
			}
		}
	}
}

func (s *source) runsOfNext(ctx context.Context, order int64) (runs []RemovedRun, err error) {
	err = s.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT DISTINCT x.ordered, coalesce(r.name, '') FROM erased x
			LEFT JOIN leaves l ON l.leaf = x.leaf AND l.class = 'event' LEFT JOIN runs r ON r.run = l.run
			WHERE x.ordered = (SELECT min(ordered) FROM erased WHERE ordered > ?) ORDER BY 2`, &sqlitex.ExecOptions{
			Args: []any{order},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				runs = append(runs, RemovedRun{Order: stmt.ColumnInt64(0), Run: stmt.ColumnText(1)})
				return nil
			},
		})
	})
	return runs, err
}
