package ledger

import (
	"context"
	"errors"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Sent identifies an event by its place in the ledger, and by its producer and sequence number.
type Sent struct {
	Leaf     int64
	Producer string
	Sequence uint64
}

const newestOfKind = `SELECT p.name, l.leaf, l.sequence FROM producers p JOIN leaves l ON l.leaf = (SELECT max(m.leaf) FROM leaves m
	WHERE m.producer = p.producer AND m.kind = ?2 AND m.class = 'event' AND m.leaf < ?3)
	WHERE substr(p.name, 1, length(?1)) = ?1 ORDER BY l.leaf DESC`

// Senders returns the producers that have sent an event of the given kind before the given leaf,
// and whose names begin with prefix. The producer of the newest event comes first.
func (r Activity) Senders(ctx context.Context, prefix string, kind events.Kind, before int64) (names []string, err error) {
	err = r.each(ctx, newestOfKind, prefix, kind, before, func(s Sent) error {
		names = append(names, s.Producer)
		return nil
	})
	return names, err
}

const newestFirst = `SELECT p.name, l.leaf, l.sequence FROM leaves l JOIN producers p ON p.producer = l.producer
	WHERE l.leaf < ?3 AND l.kind = ?2 AND l.class = 'event' AND substr(p.name, 1, length(?1)) = ?1 ORDER BY l.leaf DESC`

// errFound ends a query early.
var errFound = errors.New("found")

// LastSender returns the producer of the newest event for which counts returns true, or "" if there
// is none. It looks at events of the given kind before the given leaf, from producers whose names
// begin with prefix.
func (r Activity) LastSender(ctx context.Context, prefix string, kind events.Kind, before int64, counts func(Sent) bool) (name string, err error) {
	err = r.each(ctx, newestFirst, prefix, kind, before, func(s Sent) error {
		if !counts(s) {
			return nil
		}
		name = s.Producer
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return name, err
}

func (r Activity) each(ctx context.Context, query, prefix string, kind events.Kind, before int64, do func(Sent) error) error {
	return r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args: []any{prefix, string(kind), before},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				return do(Sent{Producer: stmt.ColumnText(0), Leaf: stmt.ColumnInt64(1), Sequence: uint64(stmt.ColumnInt64(2))})
			},
		})
	})
}
