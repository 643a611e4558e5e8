package tracker

import (
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// batch folds messages within one transaction. What an event touches is read
// once; the state is folded in memory, and written at the end.
type batch struct {
	conn   *sqlite.Conn
	config issues.Config
	marks  *consume.Marks

	back      *stored
	state     *issues.State
	published [][2]string // tenants and ids of issue.decided events that came by

	orderKey  func() (note.Verifier, error)         // what orders about evidence are signed with; nil: none is known
	keyOrders func(tenant string) ([]string, error) // that changed it, and may not have come yet
	erased    bool                                  // texts were
	unchecked bool                                  // an order came that no key is there for
	tenants   map[string]bool                       // whose events came
}

// begin has the batch read the state anew.
func (b *batch) begin() {
	b.back = &stored{conn: b.conn}
	b.state, b.published = issues.NewState(b.back), nil
}

// fold takes in one message. A message that can never be folded is a
// [*consume.Poison].
func (b *batch) fold(m consume.Message) error {
	if m.Address.Manifest {
		return nil
	}
	e, err := m.Event()
	if err != nil {
		return err
	}
	b.tenants[e.Tenant] = true
	if b.marks.Repeat(e.Tenant, e.Producer, e.Sequence) {
		return nil
	}
	if e.Kind() == events.IssueDecided {
		b.published = append(b.published, [2]string{e.Tenant, e.ID})
		return nil
	}
	if e.Kind() == events.AuditAccessed {
		return b.obey(e)
	}
	return b.decide(e, m)
}

// decide folds an event, and writes what is decided on it and on what was held.
func (b *batch) decide(e events.Event, m consume.Message) error {
	decisions, err := b.state.Apply(e, b.config)
	if b.back.err != nil {
		return fmt.Errorf("load state: %w", b.back.err)
	}
	if err != nil {
		// The error may quote the event; the letter must not.
		return &consume.Poison{Sequence: m.Sequence, Reason: "the data of this " + string(e.Kind()) + " is not of its kind"}
	}
	// What time does at an event that is not considered is decided on that.
	own := func(d issues.Decision) bool { return d.Event == e.ID && d.Source == e.Source }
	if issues.Considered(e.Kind()) || slices.ContainsFunc(decisions, own) {
		err = b.arrive(e, m)
	}
	for _, d := range decisions {
		if err == nil {
			err = b.saveDecision(d)
		}
	}
	if err != nil {
		return fmt.Errorf("save decision: %w", err)
	}
	return nil
}

// arrive makes the row of an event, which waits for a decision. An event that
// came before has one.
func (b *batch) arrive(e events.Event, m consume.Message) error {
	return run(b.conn, "INSERT OR IGNORE INTO decision (tenant, source, event, kind, run, user, time, stored) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		e.Tenant, e.Source, e.ID, string(e.Kind()), e.Run, e.User, sortable(e.Time), m.Stored.UnixNano())
}

// row is a decision's place in the database.
type row struct {
	seq     int64
	decided bool
	erased  bool
}

// find returns where a decision belongs. That of an event from before there was a
// row for it, which cannot be, gets one of its own.
func (b *batch) find(d issues.Decision) (r row, err error) {
	err = each(b.conn, func(stmt *sqlite.Stmt) error {
		r = row{stmt.ColumnInt64(0), stmt.ColumnBool(1), stmt.ColumnBool(2)}
		return nil
	}, "SELECT seq, record IS NOT NULL, erased FROM decision WHERE tenant = ? AND event = ? AND source = ?", d.Tenant, d.Event, d.Source)
	if err != nil || r.seq != 0 {
		return r, err
	}
	err = run(b.conn, "INSERT INTO decision (tenant, source, event, kind, run, user, time, stored) VALUES (?, ?, ?, ?, ?, '', ?, 0)",
		d.Tenant, d.Source, d.Event, string(d.Kind), d.Run, sortable(d.Time))
	return row{seq: b.conn.LastInsertRowID()}, err
}

// saveDecision writes a decision into the row of its event, and what follows from
// it. Where an event is decided on again, what follows is added.
func (b *batch) saveDecision(d issues.Decision) error {
	r, err := b.find(d)
	if err != nil {
		return err
	}
	if r.erased {
		eraseReasons(&d)
	}
	if !r.decided {
		err := save(b.conn, d, "UPDATE decision SET id = ?2, record = ?3 WHERE seq = ?1", r.seq, d.ID())
		if err != nil {
			return err
		}
	}
	occurs := make(map[string]bool)
	for _, id := range d.Occurs {
		occurs[id] = true
	}
	for _, id := range append(slices.Clip(d.Issues), d.Occurs...) {
		err := run(b.conn, "INSERT INTO touched (issue, decision, occurs) VALUES (?1, ?2, ?3) "+
			"ON CONFLICT (issue, decision) DO UPDATE SET occurs = max(occurs, excluded.occurs)", id, r.seq, occurs[id])
		if err != nil {
			return err
		}
	}
	for _, e := range d.Effects {
		if r.erased {
			eraseEffect(&e)
		}
		err := save(b.conn, e, "INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", r.seq, d.Tenant, e.ID)
		if err != nil {
			return err
		}
	}
	return nil
}

// save writes the state, and marks what was published.
func (b *batch) save() error {
	if err := saveChanges(b.conn, b.state.Changes()); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	for _, p := range b.published {
		err := run(b.conn, "UPDATE decision SET published = 1 WHERE tenant = ? AND id = ? AND published = 0", p[0], p[1])
		if err != nil {
			return fmt.Errorf("mark decision: %w", err)
		}
	}
	b.published = nil
	return nil
}
