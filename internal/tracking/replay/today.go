package replay

import (
	"context"
	"errors"
	"io/fs"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

type today struct {
	conn     *sqlite.Conn // its table today contains the imprints
	position uint64       // position of the tracker in the stream
	issues   int
	found    bool // the data directory has a tracker database
}

const todayTable = `CREATE TABLE today (
	tenant TEXT NOT NULL,
	id     TEXT NOT NULL,
	digest BLOB NOT NULL,
	title  TEXT NOT NULL,
	PRIMARY KEY (tenant, id)
) STRICT, WITHOUT ROWID`

func takeToday(ctx context.Context, dataDir, tenant string, conn *sqlite.Conn) (today, error) {
	t := today{conn: conn}
	if err := store.Run(conn, todayTable); err != nil {
		return t, err
	}
	err := store.Read(ctx, dataDir, func(from *sqlite.Conn) error {
		t.found = true
		position, err := sqlitetx.Int(from, "SELECT coalesce(max(sequence), 0) FROM projection_position")
		if err != nil {
			return err
		}
		t.position = uint64(position)
		for p, err := range imprints(from, tenant) {
			if err != nil {
				return err
			}
			t.issues++
			if err := store.Run(conn, "INSERT INTO today (tenant, id, digest, title) VALUES (?, ?, ?, ?)", p.Tenant, p.ID, p.digest[:], p.Title); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	return t, err
}

// Reproduction says whether a replay of the stream creates the same issues as the tracker has.
type Reproduction struct {
	Exact    bool     `json:"exact"`
	Issues   int      `json:"issues"`
	Missing  int      `json:"missing"` // issues that only the tracker has
	Extra    int      `json:"extra"`   // issues that only the fold has
	Differ   int      `json:"differ"`  // issues that both have, with different content
	Examples []string `json:"examples"`
	// Reason explains why a replay of the stream cannot create the tracker's issues. It is empty if
	// a replay can.
	Reason string `json:"reason,omitempty"`
}

func (t today) reproduced(by *Replay, examples int) (Reproduction, error) {
	r := Reproduction{Issues: t.issues, Examples: []string{}}
	err := merge(t.imprints(), imprints(by.conn, ""), imprint.compare, func(a, b *imprint) error {
		var id string
		switch {
		case b == nil:
			r.Missing++
			id = a.ID
		case a == nil:
			r.Extra++
			id = b.ID
		case !a.same(*b):
			r.Differ++
			id = a.ID
		default:
			return nil
		}
		if len(r.Examples) < examples {
			r.Examples = append(r.Examples, id)
		}
		return nil
	})
	r.Exact = r.Missing+r.Extra+r.Differ == 0
	return r, err
}

func (t today) imprints() func(func(imprint, error) bool) {
	return sequence(func(do func(imprint) error) error {
		return store.Each(t.conn, func(stmt *sqlite.Stmt) error {
			var p imprint
			p.Tenant, p.ID, p.Title = stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(3)
			stmt.ColumnBytes(2, p.digest[:])
			return do(p)
		}, "SELECT tenant, id, digest, title FROM today ORDER BY tenant, id")
	})
}
