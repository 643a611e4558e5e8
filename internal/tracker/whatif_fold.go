package tracker

import (
	"errors"
	"fmt"
	"iter"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	// foldBatch is how many events are folded before what they changed is written
	// and forgotten: it bounds the memory of a fold.
	foldBatch = 1000
	// scratchCache is how many KiB of a scratch database stay in memory: what is
	// smaller never sees a disk.
	scratchCache = 64 << 10
)

// folding folds a history under one configuration, in a database of its own with
// the tables of the tracker's.
type folding struct {
	batch
	pending int // events since the last flush
	events  int // in all

	asked string      // an event's id
	kind  events.Kind // of that event, once it came
}

// newFolding returns a fold of nothing yet. The caller closes it.
func newFolding(config issues.Config) (*folding, error) {
	conn, err := openScratch()
	if err != nil {
		return nil, fmt.Errorf("scratch database: %w", err)
	}
	f := &folding{batch: batch{conn: conn, config: config}}
	f.begin()
	return f, nil
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
	if err := sqlitex.ExecuteScript(conn, tables, nil); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, sqlitex.ExecuteTransient(conn, "BEGIN", nil) // nobody else reads it, and nothing is undone
}

func (f *folding) close() error { return f.conn.Close() }

// take folds one event. The tracker's own decisions, and orders about evidence,
// say nothing of work.
func (f *folding) take(e events.Event) error {
	if f.events++; e.ID == f.asked {
		f.kind = e.Kind()
	}
	if k := e.Kind(); k == events.IssueDecided || k == events.AuditAccessed {
		return nil
	}
	decisions, err := f.state.Apply(e, f.config)
	if f.back.err != nil {
		return f.back.err
	}
	if err != nil {
		return &foldError{e, err}
	}
	if issues.Considered(e.Kind()) {
		if err := f.arrive(e, consume.Message{}); err != nil {
			return err
		}
	}
	if err := f.decided(decisions); err != nil {
		return err
	}
	if f.pending++; f.pending < foldBatch {
		return nil
	}
	return f.flush()
}

func (f *folding) decided(decisions []issues.Decision) error {
	for _, d := range decisions {
		if err := f.saveDecision(d); err != nil {
			return fmt.Errorf("save decision: %w", err)
		}
	}
	return nil
}

// flush writes what changed, and forgets it.
func (f *folding) flush() error {
	f.pending = 0
	err := f.save()
	f.begin()
	return err
}

// end releases what is held: there will be no more events.
func (f *folding) end() error {
	decisions, err := f.state.Release(f.config)
	if err == nil {
		err = f.decided(decisions)
	}
	return errors.Join(err, f.flush())
}

// foldError is an event that can never be folded.
type foldError struct {
	event events.Event
	cause error
}

// Error says which event it is, and quotes nothing of it.
func (e *foldError) Error() string {
	return fmt.Sprintf("event %s: the data of this %s is not of its kind", oneLine(e.event.ID), e.event.Kind())
}

// Unwrap returns what was wrong.
func (e *foldError) Unwrap() error { return e.cause }

// fold folds a history with each of several configurations at once, and returns
// the lines that were no events. What is held at its end is released if the
// history has one: an input does, a stream goes on.
func fold(h history, release bool, name string, folds ...*folding) (bad faults, err error) {
	for e, err := range iter.Seq2[events.Event, error](h) {
		if err != nil {
			if !bad.add(err) {
				return bad, err
			}
			continue
		}
		for _, f := range folds {
			err := f.take(e)
			if wrong, ok := errors.AsType[*foldError](err); ok {
				bad.note(name + ": " + wrong.Error())
				break // it is so for all of them
			}
			if err != nil {
				return bad, err
			}
		}
	}
	for _, f := range folds {
		end := f.flush
		if release {
			end = f.end
		}
		if err := end(); err != nil {
			return bad, err
		}
	}
	return bad, nil
}
