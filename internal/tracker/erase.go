package tracker

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// erasedText stands in the place of a text that was erased.
const erasedText = "erased"

// Issues quote what events say. When the ledger's key orders that events are
// erased or pruned, what was decided on them loses its texts, and so do the issues
// that they belong to: ids, times, statuses and links stay.

// order is an order about evidence, as it came.
type order struct {
	ledger.Order
	upto int64 // what was decided later it does not concern
}

// obey takes in an order about evidence. One that no key is there for is kept
// until there is one; what that key has not signed orders nothing.
func (b *batch) obey(e events.Event) error {
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil || d.Order == "" {
		return nil //nolint:nilerr // a record of something that cannot be read orders nothing
	}
	// What was decided before has to be where it is looked for.
	if err := b.save(); err != nil {
		return err
	}
	b.state, b.decisions, b.published = issues.State{}, nil, nil
	clear(b.loaded)
	upto, err := number(b.conn, "SELECT coalesce(max(seq), 0) FROM decision")
	if err != nil {
		return err
	}
	if ledger.IsKeyOrder(d.Order, e.Tenant) {
		return b.changeKey(e.Tenant, e.ID, d.Order, upto)
	}
	keys, err := b.keys(e.Tenant)
	if err != nil {
		return err
	}
	if keys == nil {
		b.unchecked = true
		return b.keep(e.Tenant, e.ID, d.Order, "unchecked", upto)
	}
	next, err := number(b.conn, "SELECT coalesce(max(seq), 0) + 1 FROM demand")
	if err != nil {
		return err
	}
	counts, err := b.check(e.Tenant, d.Order, upto, keys.At(next))
	if err != nil || counts {
		return err
	}
	return b.refuse(e.Tenant, e.ID, d.Order, upto)
}

// check carries out an order if it is new. It returns false if none of known has
// signed it.
func (b *batch) check(tenant, signed string, upto int64, known note.Verifiers) (counts bool, err error) {
	o, err := ledger.OpenOrder([]byte(signed), known)
	if err != nil || o.Tenant != tenant {
		return false, nil //nolint:nilerr // anybody may publish what somebody else signed
	}
	if had, err := exists(b.conn, "SELECT 1 FROM demand WHERE tenant = ? AND id = ?", tenant, o.ID); had || err != nil {
		return true, err
	}
	state, kept := "done", ""
	switch o.Action { //nolint:exhaustive // those of orders that concern texts
	case events.AuditHold:
		text, err := json.Marshal(o.Selection)
		if err != nil {
			return true, err
		}
		state, kept = "hold", string(text)
	case events.AuditLift:
		if err := run(b.conn, "UPDATE demand SET state = 'done', note = '' WHERE tenant = ? AND id = ? AND state = 'hold'", tenant, o.Hold); err != nil {
			return true, err
		}
	case events.AuditErase, events.AuditPrune:
		if err := b.erase(order{o, upto}); err != nil {
			return true, fmt.Errorf("order %s: %w", o.ID, err)
		}
	}
	return true, run(b.conn, "INSERT INTO demand (tenant, id, state, upto, note) VALUES (?, ?, ?, ?, ?)", tenant, o.ID, state, upto, kept)
}

// checkKept takes in the orders that no key was there for, as far as one is now.
func (b *batch) checkKept() error {
	type kept struct {
		tenant, id, signed string
		upto, seq          int64
	}
	var list []kept
	err := each(b.conn, func(stmt *sqlite.Stmt) error {
		list = append(list, kept{stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt64(3), stmt.ColumnInt64(4)})
		return nil
	}, "SELECT tenant, id, note, upto, seq FROM demand WHERE state = 'unchecked' ORDER BY seq")
	known := make(map[string]*ledger.Keys)
	for _, k := range list {
		if err != nil {
			break
		}
		keys, ok := known[k.tenant]
		if !ok {
			if keys, err = b.keys(k.tenant); err != nil {
				break
			}
			known[k.tenant] = keys
		}
		if keys == nil {
			return nil
		}
		var counts bool
		if counts, err = b.check(k.tenant, k.signed, k.upto, keys.At(k.seq)); err == nil && counts {
			err = run(b.conn, "DELETE FROM demand WHERE tenant = ? AND id = ?", k.tenant, k.id)
		}
	}
	return err
}

// target is a decision whose texts go.
type target struct {
	seq    int64
	user   string
	stored time.Time // its event, by the server
	issues.Decision
}

// fits reports whether the event that was decided on, at a time, is one of a
// selection.
func (t target) fits(s ledger.OrderSelection, at time.Time) bool {
	for _, f := range [...]struct{ want, have string }{{s.Run, t.Run}, {s.Event, t.Event}, {s.User, t.user}} {
		if f.want != "" && f.want != f.have {
			return false
		}
	}
	if s.Kind != "" {
		if ok, err := path.Match(s.Kind, string(t.Kind)); err != nil || !ok {
			return false
		}
	}
	return (s.From.IsZero() || !at.Before(s.From)) && (s.To.IsZero() || at.Before(s.To))
}

// erase takes the texts of what an order concerns away, unless a hold stands in
// its way: then none of them. Retention goes around what is held: its order has the
// leaves of the rest.
func (b *batch) erase(o order) error {
	targets, err := b.targets(o)
	if err != nil {
		return err
	}
	holds, err := b.holds(o.Tenant)
	if err != nil {
		return err
	}
	isHeld := func(t target) bool {
		return slices.ContainsFunc(holds, func(s ledger.OrderSelection) bool { return t.fits(s, t.Time) })
	}
	if o.Action == events.AuditPrune {
		targets = slices.DeleteFunc(targets, isHeld)
	} else if slices.ContainsFunc(targets, isHeld) {
		return nil
	}
	b.erased = true
	for _, t := range targets {
		if err := b.eraseDecision(t); err != nil {
			return fmt.Errorf("decision on %s: %w", t.Event, err)
		}
	}
	if s := o.Selection; s == (ledger.OrderSelection{Run: s.Run}) && s.Run != "" {
		return b.eraseRun(o.Tenant, s.Run)
	}
	return nil
}

func (b *batch) targets(o order) (list []target, err error) {
	err = each(b.conn, func(stmt *sqlite.Stmt) error {
		t := target{seq: stmt.ColumnInt64(0), user: stmt.ColumnText(1), stored: time.Unix(0, stmt.ColumnInt64(3))}
		if err := json.Unmarshal([]byte(stmt.ColumnText(2)), &t.Decision); err != nil {
			return fmt.Errorf("decode decision %d: %w", t.seq, err)
		}
		at := t.Time
		if o.Action == events.AuditPrune {
			at = t.stored
		}
		if t.fits(o.Selection, at) {
			list = append(list, t)
		}
		return nil
	}, "SELECT seq, user, record, stored FROM decision WHERE tenant = ? AND seq <= ? ORDER BY seq", o.Tenant, o.upto)
	return list, err
}

// holds returns what the holds in force keep.
func (b *batch) holds(tenant string) (list []ledger.OrderSelection, err error) {
	err = each(b.conn, func(stmt *sqlite.Stmt) error {
		var s ledger.OrderSelection
		err := json.Unmarshal([]byte(stmt.ColumnText(0)), &s)
		list = append(list, s)
		return err
	}, "SELECT note FROM demand WHERE tenant = ? AND state = 'hold'", tenant)
	return list, err
}

// eraseDecision takes the texts out of a decision, its effects and its issues, and
// has the backend do the same.
func (b *batch) eraseDecision(t target) error {
	t.Reason, t.Flip = erasedText, ""
	if err := save(b.conn, t.Decision, "UPDATE decision SET user = '', record = ?2 WHERE seq = ?1", t.seq); err != nil {
		return err
	}
	for _, id := range t.Issues {
		if err := b.eraseIssue(t, id); err != nil {
			return fmt.Errorf("issue %s: %w", id, err)
		}
	}
	return nil
}

// eraseIssue takes all texts out of an issue: which of them came from which event
// nobody can tell any more.
func (b *batch) eraseIssue(t target, id string) error {
	var issue issues.Issue
	if err := one(b.conn, &issue, "SELECT record FROM issue WHERE id = ?", id); err != nil || issue.ID == "" {
		return err
	}
	eraseTexts(&issue)
	if err := save(b.conn, issue, "UPDATE issue SET record = ?2 WHERE id = ?1", id); err != nil {
		return err
	}
	effects := make(map[int64]issues.Effect)
	err := each(b.conn, func(stmt *sqlite.Stmt) error {
		var e issues.Effect
		if err := json.Unmarshal([]byte(stmt.ColumnText(1)), &e); err != nil {
			return err
		}
		effects[stmt.ColumnInt64(0)] = e
		return nil
	}, "SELECT seq, record FROM effect WHERE issue = ?", id)
	for seq, e := range effects {
		if err != nil {
			return err
		}
		if e.Issue != nil {
			eraseTexts(e.Issue)
		}
		e.Reason, e.Text = erasedIf(e.Reason), erasedIf(e.Text)
		err = save(b.conn, e, "UPDATE effect SET outcome = '', record = ?2 WHERE seq = ?1", seq)
	}
	if err != nil {
		return err
	}
	return save(b.conn, issues.Effect{Op: issues.OpErase, ID: id, At: issue.Updated, Text: erasedText},
		"INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", t.seq, t.Tenant, id)
}

func eraseTexts(i *issues.Issue) {
	i.Title, i.Description, i.Reason, i.Sources = erasedText, "", erasedIf(i.Reason), nil
}

func erasedIf(text string) string {
	if text == "" {
		return ""
	}
	return erasedText
}

// eraseRun forgets the names that a run gave to its steps and roles.
func (b *batch) eraseRun(tenant, id string) error {
	var r issues.Run
	if err := one(b.conn, &r, "SELECT record FROM run WHERE tenant = ? AND run = ?", tenant, id); err != nil || r.ID == "" {
		return err
	}
	r.Type, r.Roles, r.Bundled = "", nil, nil
	return errors.Join(
		save(b.conn, r, "UPDATE run SET record = ?3 WHERE tenant = ?1 AND run = ?2", tenant, id),
		run(b.conn, "DELETE FROM step WHERE tenant = ? AND run = ?", tenant, id))
}
