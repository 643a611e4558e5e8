package writer

import (
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type place struct {
	producer, sequence int64
	isManifest         bool
}

type records map[events.Hash]int64

type crowds struct {
	conn  *sqlite.Conn
	all   map[place]records
	count int // records in all
}

const (
	minCrowd  = 32
	maxCrowds = 1 << 19 // maximum count, except for a single larger place
)

func (c *crowds) at(p place) (records, error) {
	if r, ok := c.all[p]; ok {
		return r, nil
	}
	query := `SELECT hash, epoch FROM leaves WHERE producer = ?1 AND sequence = ?2 AND class <> 'manifest'
		UNION ALL SELECT hash, epoch FROM seen WHERE producer = ?1 AND sequence = ?2`
	if p.isManifest {
		query = "SELECT hash, epoch FROM leaves WHERE producer = ?1 AND sequence = ?2 AND class = 'manifest'"
	}
	r := make(records)
	err := sqlitex.Execute(c.conn, query, &sqlitex.ExecOptions{
		Args: []any{p.producer, p.sequence},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			var hash events.Hash
			stmt.ColumnBytes(0, hash[:])
			r.add(hash, stmt.ColumnInt64(1))
			return nil
		},
	})
	if err == nil && len(r) >= minCrowd {
		c.keep(p, r)
	}
	return r, err
}

func (c *crowds) keep(p place, r records) {
	if c.count+len(r) > maxCrowds || c.all == nil {
		c.all, c.count = make(map[place]records), 0
	}
	c.all[p] = r
	c.count += len(r)
}

func (c *crowds) added(p place, hash events.Hash, epoch int64) {
	if r, ok := c.all[p]; ok {
		before := len(r)
		r.add(hash, epoch)
		c.count += len(r) - before
	}
}

func (r records) add(hash events.Hash, epoch int64) {
	if lowest, ok := r[hash]; !ok || epoch < lowest {
		r[hash] = epoch
	}
}

func placeOf(l ledger.Leaf, producer int64) place {
	return place{producer, int64(l.Sequence), l.Class == ledger.ClassManifest}
}
