package verifier

import (
	"math"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

type removals struct {
	v    *verifier
	stmt *sqlite.Stmt
	row  bool

	claims map[int64]*claim
	index  multiset
}

type claim struct {
	first int64
	count int64
}

func newRemovals(v *verifier, conn *sqlite.Conn) *removals {
	return &removals{
		v: v, stmt: conn.Prep("SELECT leaf, word, ordered FROM erased NOT INDEXED ORDER BY leaf"),
		claims: make(map[int64]*claim),
	}
}

func (r *removals) next() (err error) {
	r.row, err = r.stmt.Step()
	return err
}

// Each call needs a higher leaf than the call before.
func (r *removals) of(leaf int64) (ledger.Removal, error) {
	for r.row && r.stmt.ColumnInt64(0) <= leaf {
		at := r.stmt.ColumnInt64(0)
		removal, err := ledger.ScanRemoval(r.stmt, 1)
		if err != nil || removal.Order <= at {
			r.v.report.AddProblem("leaf %d: what became of its record makes no sense", at)
		} else {
			r.claim(at, removal)
		}
		r.index.add(nil, removal.Order, at)
		if err := r.next(); err != nil {
			return ledger.Removal{}, err
		}
		if at == leaf {
			return removal, nil
		}
		r.v.report.AddProblem("leaf %d is said to have lost its record, and is not there", at)
	}
	return ledger.Removal{}, nil
}

func (r *removals) claim(leaf int64, removal ledger.Removal) {
	c, ok := r.claims[removal.Order]
	if !ok {
		c = &claim{first: leaf}
		r.claims[removal.Order] = c
	}
	c.count++
	if removal.Word == ledger.Pruned {
		r.v.report.Redacted.Pruned++
	} else {
		r.v.report.Redacted.Erased++
	}
}

func (r *removals) end(size int64) error {
	// This call reports all remaining rows, because the leaves that they name do not exist.
	if _, err := r.of(math.MaxInt64); err != nil {
		return err
	}
	for order, c := range r.claims {
		what := "which is no order that took effect"
		if order >= size {
			what = "which is not there"
		}
		r.v.report.AddProblem("%d records are missing, from that of leaf %d on: they were destroyed in the name of leaf %d, %s",
			c.count, c.first, order, what)
	}
	return nil
}
