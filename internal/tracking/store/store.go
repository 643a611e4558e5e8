package store

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// Sorting is the layout of times in the database, as in [time.Time.Format]. Texts with this layout
// sort in the order of time.
const Sorting = "2006-01-02T15:04:05.000000000Z"

// Sortable formats t in UTC in the layout [Sorting], so that texts sort in the order of time.
func Sortable(t time.Time) string { return t.UTC().Format(Sorting) }

type stored struct {
	conn *sqlite.Conn
	err  error
}

// Load implements [rules.Store].
func (s *stored) Load(k rules.Key) (data []byte, err error) {
	err = Each(s.conn, func(stmt *sqlite.Stmt) error {
		data = []byte(stmt.ColumnText(0))
		return nil
	}, "SELECT record FROM record WHERE tenant = ? AND kind = ? AND id = ?", k.Tenant, k.Kind, k.ID)
	return data, s.note(err)
}

// Timers implements [rules.Store].
func (s *stored) Timers(tenant string, at time.Time, limit int) (list []rules.Timer, err error) {
	err = Each(s.conn, func(stmt *sqlite.Stmt) error {
		t, err := time.Parse(Sorting, stmt.ColumnText(1))
		list = append(list, rules.Timer{Tenant: tenant, ID: stmt.ColumnText(0), At: t})
		return err
	}, "SELECT id, at FROM timer WHERE tenant = ? AND at <= ? ORDER BY at, id LIMIT ?", tenant, Sortable(at), limit)
	return list, s.note(err)
}

func (s *stored) note(err error) error {
	if s.err == nil {
		s.err = err
	}
	return err
}

// SaveChanges writes the records and timers that have changed in a [rules.State] to the database.
func SaveChanges(conn *sqlite.Conn, c rules.Changes) error {
	for _, r := range c.Records {
		query, args := "DELETE FROM record WHERE tenant = ? AND kind = ? AND id = ?", []any{r.Tenant, r.Kind, r.ID}
		if r.JSON != nil {
			query, args = "INSERT OR REPLACE INTO record (tenant, kind, id, record) VALUES (?, ?, ?, ?)", append(args, string(r.JSON))
		}
		if err := Run(conn, query, args...); err != nil {
			return fmt.Errorf("%s: %w", r.Kind, err)
		}
	}
	for _, t := range c.Set {
		if err := Run(conn, "INSERT OR REPLACE INTO timer (tenant, id, at) VALUES (?, ?, ?)", t.Tenant, t.ID, Sortable(t.At)); err != nil {
			return fmt.Errorf("timer: %w", err)
		}
	}
	for _, t := range c.Cleared {
		if err := Run(conn, "DELETE FROM timer WHERE tenant = ? AND id = ?", t.Tenant, t.ID); err != nil {
			return fmt.Errorf("timer: %w", err)
		}
	}
	return nil
}
