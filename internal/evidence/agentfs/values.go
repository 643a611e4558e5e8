package agentfs

import (
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// parts are the two halves of a value that several events add to. A value that
// one event makes whole has only who finished it.
type parts struct {
	started, finished     []byte
	startedBy, finishedBy origin
}

// origin is which of a producer's events something comes from.
type origin struct {
	producer string
	sequence uint64
}

func originOf(e events.Event) origin { return origin{e.Producer, e.Sequence} }

// isNewer reports whether o comes behind other at the producer, as far as one can
// tell: the order of the ledger counts between producers.
func (o origin) isNewer(other origin) bool {
	return o.producer == other.producer && o.sequence > other.sequence
}

// String writes the number first: a producer may be called anything.
func (o origin) String() string { return strconv.FormatUint(o.sequence, 10) + " " + o.producer }

func parseOrigin(s string) origin {
	number, producer, _ := strings.Cut(s, " ")
	sequence, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return origin{}
	}
	return origin{producer, sequence}
}

func (f *file) loadParts(key string) (parts, error) {
	var p parts
	err := sqlitex.Execute(f.conn, `SELECT started, finished, started_by, finished_by FROM hooktrail_keys WHERE key = ?`, &sqlitex.ExecOptions{
		Args: []any{key},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			p = parts{
				[]byte(stmt.ColumnText(0)), []byte(stmt.ColumnText(1)),
				parseOrigin(stmt.ColumnText(2)), parseOrigin(stmt.ColumnText(3)),
			}
			return nil
		},
	})
	if err != nil {
		return parts{}, fmt.Errorf("read value: %w", err)
	}
	return p, nil
}

func (f *file) saveParts(key string, p parts) error {
	err := sqlitex.Execute(f.conn, `INSERT OR REPLACE INTO hooktrail_keys (key, started, finished, started_by, finished_by) VALUES (?, ?, ?, ?, ?)`,
		&sqlitex.ExecOptions{Args: []any{key, string(p.started), string(p.finished), text(p.startedBy.String()), text(p.finishedBy.String())}})
	if err != nil {
		return fmt.Errorf("remember value: %w", err)
	}
	return nil
}
