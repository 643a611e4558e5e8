package ledger

import (
	"context"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Repetition is an event that a producer sent again under another sequence number. It has no leaf
// in the tree, but the signed [Arrivals] of a checkpoint include it.
type Repetition struct {
	Leaf     int64 // Leaf, Run and Kind describe the first event
	Run      string
	Kind     events.Kind
	Producer string // sender of the repetition
	Sequence uint64
	Hash     events.Hash // hash of the repetition
	Epoch    uint64
	Stream   uint64 // stream sequence of the repetition
	Stored   time.Time
}

// Repetitions yields the repeated events of a run in the order of their arrival, up to the stream
// position in checkpoint c. If run is empty, it yields the repeated events of all runs.
func (r *Reader) Repetitions(ctx context.Context, run string, c Checkpoint) iter.Seq2[Repetition, error] {
	return func(yield func(Repetition, error) bool) {
		after := int64(0)
		for {
			page, last, err := r.source.repeats(ctx, run, c.Position, after)
			if err != nil {
				yield(Repetition{}, err)
				return
			}
			for _, a := range page {
				if !yield(a, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
			after = last
		}
	}
}

func (src *source) repeats(ctx context.Context, run string, p Position, after int64) (page []Repetition, last int64, err error) {
	query := `SELECT s.seen, s.leaf, coalesce(r.name, ''), l.kind, pr.name, s.sequence, s.hash, s.epoch, s.stream, s.stored
		FROM seen s JOIN leaves l ON l.leaf = s.leaf JOIN producers pr ON pr.producer = s.producer
		LEFT JOIN runs r ON r.run = l.run
		WHERE s.seen > ?1 AND (s.epoch < ?2 OR s.epoch = ?2 AND s.stream <= ?3) AND (?4 = '' OR r.name = ?4)
		ORDER BY s.seen LIMIT ?5`
	err = src.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args: []any{after, int64(p.Epoch), int64(p.Sequence), run, entriesPerPage},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				a := Repetition{
					Leaf: stmt.ColumnInt64(1), Run: stmt.ColumnText(2), Kind: events.Kind(stmt.ColumnText(3)),
					Producer: stmt.ColumnText(4), Sequence: uint64(stmt.ColumnInt64(5)),
					Epoch: uint64(stmt.ColumnInt64(7)), Stream: uint64(stmt.ColumnInt64(8)),
				}
				if stored := stmt.ColumnInt64(9); stored != 0 {
					a.Stored = time.Unix(0, stored).UTC()
				}
				last = stmt.ColumnInt64(0)
				if stmt.ColumnLen(6) != len(a.Hash) {
					return fmt.Errorf("seen again: row %d has no hash", last)
				}
				stmt.ColumnBytes(6, a.Hash[:])
				page = append(page, a)
				return nil
			},
		})
	})
	return page, last, err
}
