package tracker

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// batch folds messages within one transaction. It reads what an event can touch
// once, folds in memory, and writes all of it at the end.
type batch struct {
	conn   *sqlite.Conn
	config issues.Config
	marks  *consume.Marks

	state     issues.State
	loaded    map[[3]string]bool // runs and steps that are in state, steps with their id
	decisions []decided
	published [][2]string // tenants and ids of issue.decided events that came by

	orderKey  func() (note.Verifier, error)         // what orders about evidence are signed with; nil: none is known
	keyOrders func(tenant string) ([]string, error) // that changed it, and may not have come yet
	erased    bool                                  // texts were
	unchecked bool                                  // an order came that no key is there for
}

// decided is a decision, who its event was about, and when the server stored that.
type decided struct {
	issues.Decision
	user   string
	stored time.Time
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
	again, err := b.load(e)
	if err != nil || again {
		return err
	}
	decisions, err := b.state.Apply(e, b.config)
	if err != nil {
		// The error may quote the event; the letter must not.
		return &consume.Poison{Sequence: m.Sequence, Reason: "the data of this " + string(e.Kind()) + " is not of its kind"}
	}
	for _, d := range decisions {
		b.decisions = append(b.decisions, decided{d, e.User, m.Stored})
	}
	return nil
}

// load has in state what e can touch, and reports whether e was decided on in
// an earlier batch.
func (b *batch) load(e events.Event) (decided bool, err error) {
	considered := issues.Considered(e.Kind())
	if considered {
		decided, err = exists(b.conn, "SELECT 1 FROM decision WHERE tenant = ? AND event = ? AND source = ?", e.Tenant, e.ID, e.Source)
		if err != nil || decided {
			return decided, err
		}
	}
	var v issues.View
	err = b.once([3]string{e.Tenant}, func() error {
		return one(b.conn, &v.Tenant, "SELECT record FROM tenant WHERE tenant = ?", e.Tenant)
	})
	if err == nil && considered {
		err = b.loadRun(e, &v)
	}
	if err != nil {
		return false, fmt.Errorf("load state: %w", err)
	}
	b.state.Load(v)
	return false, nil
}

func (b *batch) loadRun(e events.Event, v *issues.View) error {
	err := b.once([3]string{e.Tenant, "run:" + e.Run}, func() error {
		return errors.Join(
			one(b.conn, &v.Run, "SELECT record FROM run WHERE tenant = ? AND run = ?", e.Tenant, e.Run),
			record(b.conn, func(issue issues.Issue) { v.Issues = append(v.Issues, issue) },
				"SELECT record FROM issue WHERE tenant = ? AND run = ?", e.Tenant, e.Run))
	})
	step := issues.StepKey(e)
	if err != nil || step == "" {
		return err
	}
	return b.once([3]string{e.Tenant, "run:" + e.Run, step}, func() error {
		return one(b.conn, &v.Step, "SELECT record FROM step WHERE tenant = ? AND run = ? AND step = ?", e.Tenant, e.Run, step)
	})
}

// once calls load unless what key names is in state already.
func (b *batch) once(key [3]string, load func() error) error {
	if b.loaded[key] {
		return nil
	}
	b.loaded[key] = true
	return load()
}

// save writes the state and the decisions.
func (b *batch) save() error {
	if err := b.saveState(); err != nil {
		return fmt.Errorf("save state: %w", err)
	}
	for _, d := range b.decisions {
		if err := b.saveDecision(d); err != nil {
			return fmt.Errorf("save decision: %w", err)
		}
	}
	for _, p := range b.published {
		err := run(b.conn, "UPDATE decision SET published = 1 WHERE tenant = ? AND id = ? AND published = 0", p[0], p[1])
		if err != nil {
			return fmt.Errorf("mark decision: %w", err)
		}
	}
	return nil
}

func (b *batch) saveState() error {
	for _, t := range b.state.Tenants() {
		if err := save(b.conn, t, "INSERT OR REPLACE INTO tenant (tenant, record) VALUES (?, ?)", t.ID); err != nil {
			return err
		}
	}
	for _, r := range b.state.Runs() {
		if err := save(b.conn, r, "INSERT OR REPLACE INTO run (tenant, run, record) VALUES (?, ?, ?)", r.Tenant, r.ID); err != nil {
			return err
		}
	}
	for _, s := range b.state.Steps() {
		err := save(b.conn, s, "INSERT OR REPLACE INTO step (tenant, run, step, record) VALUES (?, ?, ?, ?)", s.Tenant, s.Run, s.ID)
		if err != nil {
			return err
		}
	}
	for _, i := range b.state.Issues() {
		err := save(b.conn, i, "INSERT OR REPLACE INTO issue (id, tenant, run, record) VALUES (?, ?, ?, ?)", i.ID, i.Tenant, i.Run)
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) saveDecision(d decided) error {
	err := save(b.conn, d.Decision, "INSERT INTO decision (tenant, source, event, user, stored, id, record) VALUES (?, ?, ?, ?, ?, ?, ?)",
		d.Tenant, d.Source, d.Event, d.user, d.stored.UnixNano(), d.ID())
	if err != nil {
		return err
	}
	seq := b.conn.LastInsertRowID()
	for _, id := range d.Issues {
		if err := run(b.conn, "INSERT INTO touched (issue, decision) VALUES (?, ?)", id, seq); err != nil {
			return err
		}
	}
	for _, e := range d.Effects {
		err := save(b.conn, e, "INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", seq, d.Tenant, e.ID)
		if err != nil {
			return err
		}
	}
	return nil
}
