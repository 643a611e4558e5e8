package tracker

import (
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

type erasure struct {
	conn   *sqlite.Conn
	tenant string
	run    string // run that the order erases as a whole, or empty
	events []string
	runs   map[string]bool
	issues map[string]bool
}

func (e *erasure) event(t target) error {
	e.events = append(e.events, t.event)
	e.runs[t.run] = true
	if err := store.Run(e.conn, "UPDATE decision SET user = '', erased = 1 WHERE seq = ?", t.seq); err != nil {
		return err
	}
	if t.record == nil {
		return nil
	}
	store.EraseReasons(t.record)
	if err := store.Save(e.conn, t.record, "UPDATE decision SET record = ?2 WHERE seq = ?1", t.seq); err != nil {
		return err
	}
	for _, id := range t.record.Issues {
		if err := e.issue(t.seq, id); err != nil {
			return fmt.Errorf("issue %s: %w", id, err)
		}
	}
	return nil
}

// issue erases all texts of an issue, because it is unknown from which event each text came.
func (e *erasure) issue(seq int64, id string) error {
	if e.issues[id] {
		return nil
	}
	e.issues[id] = true
	issue, err := store.Find(e.conn, e.tenant, id)
	if err != nil || issue.ID == "" {
		return err
	}
	effects := make(map[int64]rules.Effect)
	err = store.Each(e.conn, func(stmt *sqlite.Stmt) error {
		var f rules.Effect
		if err := json.Unmarshal([]byte(stmt.ColumnText(1)), &f); err != nil {
			return err
		}
		effects[stmt.ColumnInt64(0)] = f
		return nil
	}, "SELECT seq, record FROM effect WHERE issue = ? AND tenant = ?", id, e.tenant)
	for seq, f := range effects {
		if err != nil {
			return err
		}
		store.EraseEffect(&f)
		err = store.Save(e.conn, f, "UPDATE effect SET outcome = '', record = ?2 WHERE seq = ?1", seq)
	}
	if err != nil {
		return err
	}
	return store.Save(e.conn, rules.Effect{Op: rules.OpErase, ID: id, At: issue.Updated, Text: store.Erased},
		"INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", seq, e.tenant, id)
}

func (e *erasure) records() error {
	scope := rules.Erasure{Run: e.run, Events: e.events, Runs: e.runs, Issues: e.issues, Text: store.Erased}
	var changes rules.Changes
	err := store.Each(e.conn, func(stmt *sqlite.Stmt) error {
		key := rules.Key{Tenant: e.tenant, Kind: stmt.ColumnText(0), ID: stmt.ColumnText(1)}
		data, changed, err := scope.Record(key, []byte(stmt.ColumnText(2)))
		if changed {
			changes.Records = append(changes.Records, rules.Stored{Key: key, JSON: data})
		}
		return err
	}, "SELECT kind, id, record FROM record WHERE tenant = ? ORDER BY kind, id", e.tenant)
	if err != nil {
		return err
	}
	return store.SaveChanges(e.conn, changes)
}
