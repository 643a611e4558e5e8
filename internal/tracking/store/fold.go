package store

import (
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Fold applies the rules to events and writes the decisions to a database, in a transaction of
// the caller. It keeps the state in memory until Flush. A Fold is not safe for concurrent use.
type Fold struct {
	conn   *sqlite.Conn
	config rules.Config

	back  *stored
	state *rules.State
}

// NewFold returns a Fold that continues with the state in the database.
func NewFold(conn *sqlite.Conn, config rules.Config) *Fold {
	f := &Fold{conn: conn, config: config}
	f.begin()
	return f
}

func (f *Fold) begin() {
	f.back = &stored{conn: f.conn}
	f.state = rules.NewState(f.back)
}

// DataError means that the data of an event is invalid, so a retry cannot succeed.
type DataError struct {
	Event events.Event
	Cause error // may quote the event
}

// Error returns a text with the id and the kind of the event. It does not quote the data of the
// event.
func (e *DataError) Error() string {
	return fmt.Sprintf("event %s: the data of this %s is not of its kind", e.Event.ID, e.Event.Kind())
}

// Unwrap returns the cause.
func (e *DataError) Unwrap() error { return e.Cause }

// Take applies the rules to an event and writes the new decisions. The parameter at is the time
// when the tracker received the event. If the data of the event is invalid, Take returns a
// [*DataError] and changes nothing. The caller can then continue.
func (f *Fold) Take(e events.Event, at time.Time) error {
	decisions, err := f.state.Apply(e, f.config)
	if f.back.err != nil {
		return fmt.Errorf("load state: %w", f.back.err)
	}
	if err != nil {
		return &DataError{e, err}
	}
	own := func(d rules.Decision) bool { return d.Event == e.ID && d.Source == e.Source }
	if rules.Considered(e.Kind()) || slices.ContainsFunc(decisions, own) {
		if err := f.arrive(e, at); err != nil {
			return fmt.Errorf("save event: %w", err)
		}
	}
	return f.save(decisions)
}

// Release decides about all failures that still wait for a success. Call it after the last event.
func (f *Fold) Release() error {
	decisions, err := f.state.Release(f.config)
	if f.back.err != nil {
		return fmt.Errorf("load state: %w", f.back.err)
	}
	if err != nil {
		return err
	}
	return f.save(decisions)
}

// Flush writes the state to the database and removes it from memory.
func (f *Fold) Flush() error {
	if err := SaveChanges(f.conn, f.state.Changes()); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	f.begin()
	return nil
}

func (f *Fold) arrive(e events.Event, at time.Time) error {
	return Run(f.conn, "INSERT OR IGNORE INTO decision (tenant, source, event, kind, run, user, time, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Tenant, e.Source, e.ID, string(e.Kind()), e.Run, e.User, Sortable(e.Time), at.UnixNano())
}

func (f *Fold) save(decisions []rules.Decision) error {
	for _, d := range decisions {
		if err := f.saveDecision(d); err != nil {
			return fmt.Errorf("save decision: %w", err)
		}
	}
	return nil
}

type row struct {
	seq     int64
	decided bool
	erased  bool
}

func (f *Fold) find(d rules.Decision) (r row, err error) {
	err = Each(f.conn, func(stmt *sqlite.Stmt) error {
		r = row{stmt.ColumnInt64(0), stmt.ColumnBool(1), stmt.ColumnBool(2)}
		return nil
	}, "SELECT seq, record IS NOT NULL, erased FROM decision WHERE tenant = ? AND event = ? AND source = ?", d.Tenant, d.Event, d.Source)
	if err != nil || r.seq != 0 {
		return r, err
	}
	err = Run(f.conn, "INSERT INTO decision (tenant, source, event, kind, run, user, time, stored) VALUES (?, ?, ?, ?, ?, '', ?, 0)",
		d.Tenant, d.Source, d.Event, string(d.Kind), d.Run, Sortable(d.Time))
	return row{seq: f.conn.LastInsertRowID()}, err
}

func (f *Fold) saveDecision(d rules.Decision) error {
	r, err := f.find(d)
	if err != nil {
		return err
	}
	if r.erased {
		EraseReasons(&d)
	}
	if !r.decided {
		err := Save(f.conn, d, "UPDATE decision SET id = ?2, record = ?3 WHERE seq = ?1", r.seq, d.ID())
		if err != nil {
			return err
		}
	}
	occurs := make(map[string]bool)
	for _, id := range d.Occurs {
		occurs[id] = true
	}
	for _, id := range append(slices.Clip(d.Issues), d.Occurs...) {
		err := Run(f.conn, "INSERT INTO touched (issue, decision, occurs) VALUES (?1, ?2, ?3) "+
			"ON CONFLICT (issue, decision) DO UPDATE SET occurs = max(occurs, excluded.occurs)", id, r.seq, occurs[id])
		if err != nil {
			return err
		}
	}
	for _, e := range d.Effects {
		if r.erased {
			EraseEffect(&e)
		}
		err := Save(f.conn, e, "INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", r.seq, d.Tenant, e.ID)
		if err != nil {
			return err
		}
	}
	return nil
}
