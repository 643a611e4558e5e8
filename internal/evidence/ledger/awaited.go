package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// SilentIntervals is the number of intervals between manifests after which an open producer that
// sends none counts as silent.
const SilentIntervals = 3

// AwaitedUntil returns when the last of the producers that promised regular manifests will count as
// silent, if none of them sends another manifest. It returns the zero time if there is no such
// producer. It checks no signatures.
func (a Activity) AwaitedUntil(ctx context.Context) (until time.Time, err error) {
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT (SELECT leaf FROM leaves l WHERE l.producer = p.producer AND class = 'manifest'
			ORDER BY sequence DESC, leaf DESC LIMIT 1) AS last, (SELECT stored FROM leaves WHERE leaf =
			(SELECT leaf FROM leaves l WHERE l.producer = p.producer AND class = 'manifest' ORDER BY sequence DESC, leaf DESC LIMIT 1))
			FROM producers p WHERE last NOT NULL`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				data, err := ReadPayload(conn, stmt.ColumnInt64(0))
				if errors.Is(err, ErrNoPayload) {
					return nil
				}
				if err != nil {
					return err
				}
				m, err := events.DecodeManifest(data)
				if err == nil && m.State == events.StateOpen {
					wait := SilentIntervals * time.Duration(min(m.Interval, events.MaxInterval)) * time.Second
					if at := time.Unix(0, stmt.ColumnInt64(1)).Add(wait); at.After(until) {
						until = at.UTC()
					}
				}
				return nil // the verifier reports unreadable manifests
			}})
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("awaited producers: %w", err)
	}
	return until, nil
}
