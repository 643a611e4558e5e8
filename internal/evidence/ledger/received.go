package ledger

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// LastNumber returns the highest sequence number among a producer's events and manifests in the
// ledger, or 0 if there are none.
func (a Activity) LastNumber(ctx context.Context, producer string) (last uint64, err error) {
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT max(coalesce((SELECT max(sequence) FROM leaves WHERE leaves.producer = p.producer), 0),
				coalesce((SELECT max(sequence) FROM seen WHERE seen.producer = p.producer), 0))
			FROM producers p WHERE name = ?1`, &sqlitex.ExecOptions{
			Args:       []any{producer},
			ResultFunc: func(stmt *sqlite.Stmt) error { last = uint64(stmt.ColumnInt64(0)); return nil },
		})
	})
	return last, err
}

// Received reports whether the ledger has an event or a manifest with this hash. For an event,
// sequence is its number. For a manifest, sequence is the last event number that the manifest
// lists.
func (r *Reader) Received(ctx context.Context, producer string, sequence uint64, hash events.Hash) (ok bool, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `WITH sender (number) AS (
				SELECT producer FROM producers WHERE name = ?1 UNION ALL SELECT 0 WHERE ?1 = ''
			)
			SELECT 1 FROM leaves, sender WHERE producer = number AND sequence = ?2 AND hash = ?3
			UNION ALL
			SELECT 1 FROM seen, sender WHERE producer = number AND sequence = ?2 AND hash = ?3 LIMIT 1`,
			&sqlitex.ExecOptions{
				Args:       []any{producer, int64(sequence), hash[:]},
				ResultFunc: func(*sqlite.Stmt) error { ok = true; return nil },
			})
	})
	return ok, err
}
