package ledger

import (
	"context"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Word says what became of the bytes of a record whose leaf is there. What is
// missing, and what is held, is neither.
type Word string

// The words.
const (
	Erased Word = "erased" // by an order to erase
	Pruned Word = "pruned" // by retention
)

// Removal tells of a record whose bytes were destroyed. Its leaf, and all proofs
// of it, are as they were.
type Removal struct {
	Word  Word
	Order int64 // the leaf of the audit.accessed event with the order
}

// Done reports whether the bytes are gone.
func (r Removal) Done() bool { return r.Word != "" }

// Event returns the event of a record. Of one whose bytes were destroyed it has
// what the leaf tells, and no data.
func (e Entry) Event() (events.Event, error) {
	if !e.Removal.Done() {
		return events.Decode(e.Bytes)
	}
	return events.Event{
		ID: e.ID, Type: e.Kind.Type(), Time: e.Time, Producer: e.Producer, Sequence: e.Sequence,
		Run: e.Run, Subject: e.Run,
	}, nil
}

// WordOf returns what an order of that action makes of a record.
func WordOf(action events.AuditAction) Word {
	if action == events.AuditPrune {
		return Pruned
	}
	return Erased
}

// ScanRemoval reads the columns word and ordered of the table erased.
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

// Removed is a leaf whose record's bytes were destroyed.
type Removed struct {
	Leaf int64
	Removal
}

// Removed yields the leaves whose bytes the orders behind the leaf order
// destroyed, order by order; behind -1 are all orders. Projections of the ledger
// that keep what records say follow it: what is yielded has to go from them too.
func (r *Reader) Removed(ctx context.Context, order int64) iter.Seq2[Removed, error] {
	return func(yield func(Removed, error) bool) {
		after := Removed{Leaf: -1, Removal: Removal{Order: order + 1}}
		for {
			page, err := r.removedPage(ctx, after)
			if err != nil {
				yield(Removed{}, err)
				return
			}
			for _, x := range page {
				if !yield(x, nil) {
					return
				}
				after = x
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

func (r *Reader) removedPage(ctx context.Context, after Removed) (page []Removed, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT leaf, word, ordered FROM erased
			WHERE (ordered, leaf) > (?, ?) ORDER BY ordered, leaf LIMIT ?`, &sqlitex.ExecOptions{
			Args: []any{after.Order, after.Leaf, removedPerPage},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				removal, err := ScanRemoval(stmt, 1)
				page = append(page, Removed{Leaf: stmt.ColumnInt64(0), Removal: removal})
				return err
			},
		})
	})
	return page, err
}

const removedPerPage = 4096
