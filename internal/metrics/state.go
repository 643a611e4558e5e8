package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// ErrTenant means that the counts in the data directory belong to other tenants than this service
// counts.
var ErrTenant = errors.New("the metrics stored here count other tenants")

type state struct {
	db *projection.DB

	// Only the goroutine that calls Apply uses working and numbers.
	working *seriesSet
	numbers *numbers

	mu     sync.RWMutex // guards series and last; never lock another mutex with it
	series map[string]*series
	last   time.Time
}

func statePath(dataDir string) string { return filepath.Join(dataDir, "metrics", "metrics.db") }

func openState(ctx context.Context, dataDir, tenant string, limit int, logger *slog.Logger) (_ *state, err error) {
	db, err := projection.Open(ctx, statePath(dataDir), schema, logger)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	s := &state{db: db, working: newSeriesSet(limit), numbers: newNumbers(), series: map[string]*series{}}
	err = db.Tx(ctx, func(conn *sqlite.Conn) error {
		if err := bindTenant(conn, tenant); err != nil {
			return err
		}
		if s.last, err = lastStored(conn); err != nil {
			return err
		}
		return s.working.load(conn)
	})
	if err != nil {
		return nil, fmt.Errorf("metrics %s: %w", db.Path(), err)
	}
	maps.Copy(s.series, s.working.committed)
	return s, nil
}

func bindTenant(conn *sqlite.Conn, tenant string) error {
	if err := set(conn, `INSERT OR IGNORE INTO about (name, value) VALUES (?, ?)`, "tenant", tenant); err != nil {
		return err
	}
	have, err := about(conn, "tenant")
	if err == nil && have != tenant {
		err = fmt.Errorf("%w: --tenant was %q, now it is %q; delete the file to count again from the stream", ErrTenant, have, tenant)
	}
	return err
}

func about(conn *sqlite.Conn, name string) (value string, err error) {
	err = sqlitex.Execute(conn, `SELECT value FROM about WHERE name = ?`, &sqlitex.ExecOptions{
		Args:       []any{name},
		ResultFunc: func(stmt *sqlite.Stmt) error { value = stmt.ColumnText(0); return nil },
	})
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return value, nil
}

func set(conn *sqlite.Conn, query, name, value string) error {
	if err := sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: []any{name, value}}); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func lastStored(conn *sqlite.Conn) (time.Time, error) {
	value, err := about(conn, "last_stored")
	if err != nil || value == "" {
		return time.Time{}, err
	}
	return time.Parse(time.RFC3339Nano, value)
}

// Position implements [consume.Projection].
func (s *state) Position(ctx context.Context) (consume.Position, error) { return s.db.Position(ctx) }

// Apply implements [consume.Projection].
func (s *state) Apply(ctx context.Context, batch []consume.Message, next consume.Position) error {
	s.working.rollback()
	last := s.last
	err := s.db.Commit(ctx, next, nil, func(conn *sqlite.Conn) error {
		f := &fold{conn: conn, series: s.working}
		for _, m := range batch {
			if err := s.apply(f, m); err != nil {
				return err
			}
			last = m.Stored
		}
		if err := s.working.save(conn); err != nil {
			return err
		}
		return set(conn, `INSERT OR REPLACE INTO about (name, value) VALUES (?, ?)`, "last_stored", last.Format(time.RFC3339Nano))
	})
	if err != nil {
		s.working.rollback()
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.series, s.working.commit())
	s.last = last
	return nil
}

func (s *state) apply(f *fold, m consume.Message) error {
	if m.Address.Manifest {
		return nil
	}
	e, err := m.Event()
	if err != nil {
		return err
	}
	if s.numbers.isReused(e, m.Data) {
		f.series.add(numbersReused, 1, e.Tenant)
	}
	err = f.apply(e)
	if bad, ok := errors.AsType[*payloadError](err); ok {
		return &consume.Poison{Sequence: m.Sequence, Reason: bad.Error()}
	}
	return err
}

func (s *state) close() error { return s.db.Close() }
