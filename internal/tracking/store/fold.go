package store

import (
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Fold folds events into a database, within a transaction of the caller's. What
// an event touches is read once; the state is folded in memory, and written by
// Flush. Decisions and their effects are written at once. It belongs to one
// goroutine.
type Fold struct {
	conn   *sqlite.Conn
	config rules.Config

	back  *stored
	state *rules.State
}

// NewFold returns a fold that goes on from what the database has.
func NewFold(conn *sqlite.Conn, config rules.Config) *Fold {
	f := &Fold{conn: conn, config: config}
	f.begin()
	return f
}

// begin has the fold read the state anew.
func (f *Fold) begin() {
	f.back = &stored{conn: f.conn}
	f.state = rules.NewState(f.back)
}

// DataError is an event that can never be folded: its data is not of its kind.
type DataError struct {
	Event events.Event
	Cause error // it may quote the event
}

// Error says which event it is, and quotes nothing of its data.
func (e *DataError) Error() string {
	return fmt.Sprintf("event %s: the data of this %s is not of its kind", e.Event.ID, e.Event.Kind())
}

// Unwrap returns what was wrong.
func (e *DataError) Unwrap() error { return e.Cause }

// Take folds an event that the server stored at a time, and writes what is decided
// on it and on what was held. The error is a [*DataError] where the event is at
// fault: then the fold is as it was, and the next event may come.
func (f *Fold) Take(e events.Event, at time.Time) error {
	decisions, err := f.state.Apply(e, f.config)
	if f.back.err != nil {
		return fmt.Errorf("load state: %w", f.back.err)
	}
	if err != nil {
		return &DataError{e, err}
	}
	// What time does at an event that is not considered is decided on that.
	own := func(d rules.Decision) bool { return d.Event == e.ID && d.Source == e.Source }
	if rules.Considered(e.Kind()) || slices.ContainsFunc(decisions, own) {
		if err := f.arrive(e, at); err != nil {
			return fmt.Errorf("save event: %w", err)
		}
	}
	return f.save(decisions)
}

// Release decides on what is held, as if its time were over: there will be no
// more events.
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

// Flush writes the state, and forgets what is in memory of it.
func (f *Fold) Flush() error {
	if err := SaveChanges(f.conn, f.state.Changes()); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	f.begin()
	return nil
}

// arrive makes the row of an event, which waits for a decision. An event that
// came before has one.
func (f *Fold) arrive(e events.Event, at time.Time) error {
	return Run(f.conn, "INSERT OR IGNORE INTO decision (tenant, source, event, kind, run, user, time, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Tenant, e.Source, e.ID, string(e.Kind()), e.Run, e.User, Sortable(e.Time), at.UnixNano())
}

// save writes decisions, each into the row of its event.
func (f *Fold) save(decisions []rules.Decision) error {
	for _, d := range decisions {
		if err := f.decide(d); err != nil {
			return fmt.Errorf("save decision: %w", err)
		}
	}
	return nil
}

// row is a decision's place in the database.
type row struct {
	seq     int64
	decided bool
	erased  bool
}

// find returns where a decision belongs. That of an event from before there was a
// row for it, which cannot be, gets one of its own.
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

// decide writes a decision into the row of its event, and what follows from it.
// Where an event is decided on again, what follows is added.
func (f *Fold) decide(d rules.Decision) error {
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
