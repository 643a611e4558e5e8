package replay

import (
	"errors"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	replayBatch = 1000
	// scratchCache is the size of the page cache in KiB. A scratch database that fits into the
	// cache stays in memory.
	scratchCache = 64 << 10
)

// A Replay applies the events of a history to a temporary database, under one configuration. It is
// not safe for concurrent use.
type Replay struct {
	conn    *sqlite.Conn
	config  rules.Config
	fold    *store.Fold
	pending int // since the last flush
	events  int
}

// New returns a Replay that has applied no events yet. The caller must close it.
func New(config rules.Config) (*Replay, error) {
	conn, err := openScratch()
	if err != nil {
		return nil, fmt.Errorf("scratch database: %w", err)
	}
	return &Replay{conn: conn, config: config, fold: store.NewFold(conn, config)}, nil
}

// openScratch opens a temporary database. SQLite moves it from memory to a file if it grows large.
func openScratch() (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn("", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	for _, pragma := range []string{
		"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", fmt.Sprintf("PRAGMA cache_size = -%d", scratchCache),
	} {
		if err := sqlitex.ExecuteTransient(conn, pragma, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if err := sqlitex.ExecuteScript(conn, store.Schema("").Tables, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, sqlitex.ExecuteTransient(conn, "BEGIN", nil) // one transaction, because only this connection uses the database
}

// Conn returns the database with the issues and decisions of the replay. The functions of package
// store read it.
func (r *Replay) Conn() *sqlite.Conn { return r.conn }

// Config returns the configuration of the replay.
func (r *Replay) Config() rules.Config { return r.config }

// Events returns how many events the replay has applied.
func (r *Replay) Events() int { return r.events }

// Close closes and deletes the database.
func (r *Replay) Close() error { return r.conn.Close() }

func (r *Replay) take(e events.Event) error {
	r.events++
	if k := e.Kind(); k == events.IssueDecided || k == events.AuditAccessed {
		return nil
	}
	if err := r.fold.Take(e, time.Time{}); err != nil {
		return err
	}
	if r.pending++; r.pending < replayBatch {
		return nil
	}
	return r.flush()
}

func (r *Replay) flush() error {
	r.pending = 0
	return r.fold.Flush()
}

func (r *Replay) end() error { return errors.Join(r.fold.Release(), r.flush()) }

func fold(h history, release bool, name string, replays ...*Replay) (bad Faults, err error) {
	for e, err := range h {
		if err != nil {
			if !bad.add(err) {
				return bad, err
			}
			continue
		}
		for _, r := range replays {
			err := r.take(e)
			if wrong, ok := errors.AsType[*store.DataError](err); ok {
				bad.note(name + ": " + termtext.OneLine(wrong.Error()))
				break // the other replays would fail in the same way
			}
			if err != nil {
				return bad, err
			}
		}
	}
	for _, r := range replays {
		end := r.flush
		if release {
			end = r.end
		}
		if err := end(); err != nil {
			return bad, err
		}
	}
	return bad, nil
}
