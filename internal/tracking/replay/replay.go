package replay

import (
	"errors"
	"fmt"
	"iter"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	// replayBatch is how many events are folded before what they changed is written
	// and forgotten: it bounds the memory of a fold.
	replayBatch = 1000
	// scratchCache is how many KiB of a scratch database stay in memory: what is
	// smaller never sees a disk.
	scratchCache = 64 << 10
)

// Replay is a history folded under one configuration, in a database of its own with
// the tables of the tracker's. It belongs to one goroutine.
type Replay struct {
	conn    *sqlite.Conn
	config  rules.Config
	fold    *store.Fold
	pending int // events since the last flush
	events  int // in all
}

// New returns a replay of nothing yet. The caller closes it.
func New(config rules.Config) (*Replay, error) {
	conn, err := openScratch()
	if err != nil {
		return nil, fmt.Errorf("scratch database: %w", err)
	}
	return &Replay{conn: conn, config: config, fold: store.NewFold(conn, config)}, nil
}

// openScratch returns an empty database with the tracker's tables: in memory as
// far as it is small, beyond that in a temporary file that is gone when the
// database is closed or the process ends.
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
	return conn, sqlitex.ExecuteTransient(conn, "BEGIN", nil) // nobody else reads it, and nothing is undone
}

// Conn returns the database with what the history came to, once it was folded.
func (r *Replay) Conn() *sqlite.Conn { return r.conn }

// Close ends the replay, and its database with it.
func (r *Replay) Close() error { return r.conn.Close() }

// take folds one event. The tracker's own decisions, and orders about evidence,
// say nothing of work.
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

// flush writes what changed, and forgets it.
func (r *Replay) flush() error {
	r.pending = 0
	return r.fold.Flush()
}

// end releases what is held: there will be no more events.
func (r *Replay) end() error { return errors.Join(r.fold.Release(), r.flush()) }

// fold folds a history with each of several replays at once, and returns the lines
// that were no events. What is held at its end is released if the history has one:
// an input does, a stream goes on.
func fold(h history, release bool, name string, replays ...*Replay) (bad Faults, err error) {
	for e, err := range iter.Seq2[events.Event, error](h) {
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
				break // it is so for all of them
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
