package ledger

import (
	"context"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Sent is the place of an event in the ledger and among the events of its producer.
type Sent struct {
	Leaf     int64
	Producer string
	Sequence uint64
}

const newestOfKind = `SELECT p.name, l.leaf, l.sequence FROM producers p JOIN leaves l ON l.leaf = (SELECT max(m.leaf) FROM leaves m
	WHERE m.producer = p.producer AND m.kind = ?2 AND m.class = 'event' AND m.leaf < ?3)
	WHERE substr(p.name, 1, length(?1)) = ?1 ORDER BY l.leaf DESC`

// Senders returns the producers with the name prefix that have sent an event of a kind before a
// leaf, the newest first.
func (r Activity) Senders(ctx context.Context, prefix string, kind events.Kind, before int64) (names []string, err error) {
	newest, err := r.newestOf(ctx, newestOfKind, prefix, kind, before)
	for _, s := range newest {
		names = append(names, s.Producer)
	}
	return names, err
}

// LastSender returns the producer of the newest event of a kind before a leaf that counts, among
// producers with the name prefix, or "".
func (r Activity) LastSender(ctx context.Context, prefix string, kind events.Kind, before int64, counts func(Sent) bool) (string, error) {
	for {
		newest, err := r.newestOf(ctx, newestOfKind+" LIMIT 1", prefix, kind, before)
		if err != nil || len(newest) == 0 {
			return "", err
		}
		if counts(newest[0]) {
			return newest[0].Producer, nil
		}
		before = newest[0].Leaf
	}
}

func (r Activity) newestOf(ctx context.Context, query, prefix string, kind events.Kind, before int64) (list []Sent, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args: []any{prefix, string(kind), before},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				list = append(list, Sent{Producer: stmt.ColumnText(0), Leaf: stmt.ColumnInt64(1), Sequence: uint64(stmt.ColumnInt64(2))})
				return nil
			},
		})
	})
	return list, err
}
