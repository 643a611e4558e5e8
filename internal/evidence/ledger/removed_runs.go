package ledger

import (
	"context"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// RemovedRun is a run of which an order destroyed events.
type RemovedRun struct {
	Order int64 // the leaf of the audit.accessed event with the order
	Run   string
}

// RemovedRuns yields of which runs the orders behind the leaf order destroyed
// events, order by order; behind -1 are all orders. All runs of one order are in
// memory at a time. No transaction is open while the caller has one.
func (r *Reader) RemovedRuns(ctx context.Context, order int64) iter.Seq2[RemovedRun, error] {
	return func(yield func(RemovedRun, error) bool) {
		for {
			runs, err := r.runsOfNext(ctx, order)
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

// runsOfNext returns the runs of the first order behind a leaf, one without a
// name where it destroyed no event of a run.
func (r *Reader) runsOfNext(ctx context.Context, order int64) (runs []RemovedRun, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
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
