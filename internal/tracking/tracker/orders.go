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

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type order struct {
	ledger.Order
	upto  int64 // number of the last affected decision
	rules ledger.Rules
	at    time.Time // when the server stored the order, or zero
}

func (b *batch) handleOrder(e events.Event, stored time.Time) error {
	text := ledger.OrderIn(e)
	if text == "" {
		return nil
	}
	// Save the decisions of this batch first, because the queries below must include them.
	if err := b.save(); err != nil {
		return err
	}
	upto, err := sqlitetx.Int(b.conn, "SELECT coalesce(max(seq), 0) FROM decision")
	if err != nil {
		return err
	}
	if ledger.IsKeyOrder(text, e.Tenant) {
		return b.changeKey(e.Tenant, e.ID, text, upto)
	}
	keys, err := b.keys(e.Tenant)
	if err != nil {
		return err
	}
	if o, _, err := ledger.PeekOrder(text); err != nil || !changesTexts(o.Action) {
		return nil //nolint:nilerr // any producer can publish a text that is not an order
	}
	if keys == nil {
		return errors.Join(b.noteWaiting(e.Tenant, text), b.storeOrder(e.Tenant, e.ID, text, "unchecked", upto))
	}
	next, err := sqlitetx.Int(b.conn, "SELECT coalesce(max(seq), 0) + 1 FROM demand")
	if err != nil {
		return err
	}
	signed, err := b.carryOut(e.Tenant, text, upto, keys.At(next), stored)
	if err != nil || signed {
		return err
	}
	return b.storeUnsigned(e.Tenant, e.ID, text, upto)
}

func (b *batch) carryOut(tenant, text string, upto int64, known note.Verifiers, at time.Time) (signed bool, err error) {
	rules, err := b.rules(tenant)
	if err != nil {
		return false, err
	}
	o, _, effect, err := rules.Open([]byte(text), known, at)
	if err != nil || o.Tenant != tenant {
		return false, nil //nolint:nilerr // any producer can publish an order that another key signed
	}
	if effect != "" {
		return true, nil
	}
	if had, err := store.Exists(b.conn, "SELECT 1 FROM demand WHERE tenant = ? AND id = ?", tenant, o.ID); had || err != nil {
		return true, err
	}
	state, selection, err := b.apply(order{o, upto, rules, at})
	if err != nil {
		return true, fmt.Errorf("order %s: %w", o.ID, err)
	}
	return true, store.Run(b.conn, "INSERT INTO demand (tenant, id, state, upto, note) VALUES (?, ?, ?, ?, ?)", tenant, o.ID, state, upto, selection)
}

func (b *batch) apply(o order) (state, note string, err error) {
	switch o.Action { //nolint:exhaustive // the other actions do not affect texts
	case events.AuditHold:
		data, err := json.Marshal(o.Selection)
		return "hold", string(data), err
	case events.AuditLift:
		err = store.Run(b.conn, "UPDATE demand SET state = 'done', note = '' WHERE tenant = ? AND id = ? AND state = 'hold'", o.Tenant, o.Hold)
	case events.AuditFloor, events.AuditApprovers:
		text, err := o.Text()
		return "rule", text, err
	case events.AuditErase, events.AuditPrune:
		err = b.erase(o)
	}
	return "done", "", err
}

func (b *batch) checkStored() error {
	type storedOrder struct {
		tenant, id, text string
		upto, seq        int64
	}
	var list []storedOrder
	err := store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		list = append(list, storedOrder{stmt.ColumnText(0), stmt.ColumnText(1), stmt.ColumnText(2), stmt.ColumnInt64(3), stmt.ColumnInt64(4)})
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
		var signed bool
		if keys != nil {
			signed, err = b.carryOut(k.tenant, k.text, k.upto, keys.At(k.seq), time.Time{})
		}
		if err == nil && signed {
			err = store.Run(b.conn, "DELETE FROM demand WHERE tenant = ? AND id = ?", k.tenant, k.id)
		} else if err == nil {
			err = b.noteWaiting(k.tenant, k.text)
		}
	}
	return err
}

type target struct {
	seq    int64
	event  string
	source string
	kind   string
	run    string
	user   string
	time   time.Time
	stored time.Time       // when the server stored the event
	record *rules.Decision // nil during the grace period of the event
}

func (t target) matches(s ledger.OrderSelection, at time.Time) bool {
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

func (b *batch) erase(o order) error {
	targets, err := b.targets(o)
	if err != nil {
		return err
	}
	holds, err := b.holds(o.Tenant)
	if err != nil {
		return err
	}
	isProtected := func(t target) bool {
		return slices.ContainsFunc(holds, func(s ledger.OrderSelection) bool { return t.matches(s, t.time) })
	}
	if o.Action == events.AuditPrune {
		targets = slices.DeleteFunc(targets, func(t target) bool {
			return isProtected(t) || o.rules.Protects(t.stored.UnixNano(), o.Order, o.at)
		})
	} else if slices.ContainsFunc(targets, isProtected) {
		return b.answer(o.Order, events.RuleHeld)
	}
	b.erased = true
	e := erasure{conn: b.conn, tenant: o.Tenant, runs: make(map[string]bool), issues: make(map[string]bool)}
	for _, t := range targets {
		if err := e.event(t); err != nil {
			return fmt.Errorf("decision on %s: %w", t.event, err)
		}
	}
	if s := o.Selection; s == (ledger.OrderSelection{Run: s.Run}) && s.Run != "" {
		e.run = s.Run
	}
	return errors.Join(e.records(), b.answer(o.Order, events.RuleErased))
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
		if t.matches(o.Selection, at) {
			list = append(list, t)
		}
		return nil
	}, "SELECT seq, event, source, kind, run, user, time, stored, record FROM decision WHERE tenant = ? AND seq <= ? ORDER BY seq", o.Tenant, o.upto)
	return list, err
}

func (b *batch) holds(tenant string) (list []ledger.OrderSelection, err error) {
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		var s ledger.OrderSelection
		err := json.Unmarshal([]byte(stmt.ColumnText(0)), &s)
		list = append(list, s)
		return err
	}, "SELECT note FROM demand WHERE tenant = ? AND state = 'hold'", tenant)
	return list, err
}
