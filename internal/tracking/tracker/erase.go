package tracker

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

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
	upto, err := sqlitetx.Int(b.conn, "SELECT coalesce(max(seq), 0) FROM decision")
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
	next, err := sqlitetx.Int(b.conn, "SELECT coalesce(max(seq), 0) + 1 FROM demand")
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
	if had, err := store.Exists(b.conn, "SELECT 1 FROM demand WHERE tenant = ? AND id = ?", tenant, o.ID); had || err != nil {
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
		if err := store.Run(b.conn, "UPDATE demand SET state = 'done', note = '' WHERE tenant = ? AND id = ? AND state = 'hold'", tenant, o.Hold); err != nil {
			return true, err
		}
	case events.AuditErase, events.AuditPrune:
		if err := b.erase(order{o, upto}); err != nil {
			return true, fmt.Errorf("order %s: %w", o.ID, err)
		}
	}
	return true, store.Run(b.conn, "INSERT INTO demand (tenant, id, state, upto, note) VALUES (?, ?, ?, ?, ?)", tenant, o.ID, state, upto, kept)
}

// checkKept takes in the orders that no key was there for, as far as one is now.
func (b *batch) checkKept() error {
	type kept struct {
		tenant, id, signed string
		upto, seq          int64
	}
	var list []kept
	err := store.Each(b.conn, func(stmt *sqlite.Stmt) error {
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
			err = store.Run(b.conn, "DELETE FROM demand WHERE tenant = ? AND id = ?", k.tenant, k.id)
		}
	}
	return err
}

// target is an event whose texts go: one that was decided on, or is held.
type target struct {
	seq    int64
	event  string
	source string
	kind   string
	run    string
	user   string
	time   time.Time
	stored time.Time       // by the server
	record *rules.Decision // nil: it is held
}

// fits reports whether the event that was decided on, at a time, is one of a
// selection.
func (t target) fits(s ledger.OrderSelection, at time.Time) bool {
	for _, f := range [...]struct{ want, have string }{{s.Run, t.run}, {s.Event, t.event}, {s.User, t.user}} {
		if f.want != "" && f.want != f.have {
			return false
		}
	}
	if s.Kind != "" {
		if ok, err := path.Match(s.Kind, t.kind); err != nil || !ok {
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
		return slices.ContainsFunc(holds, func(s ledger.OrderSelection) bool { return t.fits(s, t.time) })
	}
	if o.Action == events.AuditPrune {
		targets = slices.DeleteFunc(targets, isHeld)
	} else if slices.ContainsFunc(targets, isHeld) {
		return nil
	}
	b.erased = true
	e := eraser{batch: b, tenant: o.Tenant, runs: make(map[string]bool), issues: make(map[string]bool)}
	for _, t := range targets {
		if err := e.event(t); err != nil {
			return fmt.Errorf("decision on %s: %w", t.event, err)
		}
	}
	if s := o.Selection; s == (ledger.OrderSelection{Run: s.Run}) && s.Run != "" {
		e.run = s.Run
	}
	return e.records()
}

func (b *batch) targets(o order) (list []target, err error) {
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		t := target{
			seq: stmt.ColumnInt64(0), event: stmt.ColumnText(1), source: stmt.ColumnText(2), kind: stmt.ColumnText(3),
			run: stmt.ColumnText(4), user: stmt.ColumnText(5), stored: time.Unix(0, stmt.ColumnInt64(7)),
		}
		var err error
		if t.time, err = time.Parse(store.Sorting, stmt.ColumnText(6)); err != nil {
			return fmt.Errorf("time of decision %d: %w", t.seq, err)
		}
		if text := stmt.ColumnText(8); text != "" {
			t.record = new(rules.Decision)
			if err := json.Unmarshal([]byte(text), t.record); err != nil {
				return fmt.Errorf("decode decision %d: %w", t.seq, err)
			}
		}
		at := t.time
		if o.Action == events.AuditPrune {
			at = t.stored
		}
		if t.fits(o.Selection, at) {
			list = append(list, t)
		}
		return nil
	}, "SELECT seq, event, source, kind, run, user, time, stored, record FROM decision WHERE tenant = ? AND seq <= ? ORDER BY seq", o.Tenant, o.upto)
	return list, err
}

// holds returns what the holds in force keep.
func (b *batch) holds(tenant string) (list []ledger.OrderSelection, err error) {
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		var s ledger.OrderSelection
		err := json.Unmarshal([]byte(stmt.ColumnText(0)), &s)
		list = append(list, s)
		return err
	}, "SELECT note FROM demand WHERE tenant = ? AND state = 'hold'", tenant)
	return list, err
}
