package store

import (
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// An Order is an SQL expression that sorts issues.
type Order string

// The orders of issues.
const (
	ByID Order = "tenant, id"
	// ByMaking sorts issues by creation time. Issues with the same time are in the order in which
	// the tracker created them.
	ByMaking Order = "julianday(json_extract(record, '$.created')), (SELECT min(e.seq) FROM effect e WHERE e.issue = record.id), id"
)

// EachIssue calls do for each issue of a tenant. If the tenant is empty, it does so for the issues
// of all tenants. It stops at the first error.
func EachIssue(conn *sqlite.Conn, tenant string, order Order, do func(rules.Issue) error) error {
	return Records(conn, do, "SELECT record FROM record WHERE kind = 'issue' AND (?1 = '' OR tenant = ?1) ORDER BY "+string(order), tenant)
}

// Find returns the issue with the given id. If there is none, it returns the zero Issue.
func Find(conn *sqlite.Conn, tenant, id string) (found rules.Issue, err error) {
	err = one(conn, &found, "SELECT record FROM record WHERE kind = 'issue' AND tenant = ? AND id = ?", tenant, id)
	return found, err
}

// EachOccurrence calls do with the id of each event that an issue is about, in the order of event
// times. It stops at the first error.
func EachOccurrence(conn *sqlite.Conn, tenant, id string, do func(event string) error) error {
	return Each(conn, func(stmt *sqlite.Stmt) error { return do(stmt.ColumnText(0)) },
		"SELECT d.event FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND t.occurs = 1 ORDER BY d.time, d.event", id, tenant)
}

// Effect is a change of an issue, as the database stores it.
type Effect struct {
	rules.Effect
	Event   string // id of the event that caused the effect
	Refused string // why the backend refused the effect, or empty
}

// EachEffect calls do for each change of an issue, in the order of creation. It stops at the first
// error.
func EachEffect(conn *sqlite.Conn, tenant, id string, do func(Effect) error) error {
	return Each(conn, func(stmt *sqlite.Stmt) error {
		e := Effect{Event: stmt.ColumnText(1), Refused: stmt.ColumnText(2)}
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &e.Effect); err != nil {
			return fmt.Errorf("decode effect: %w", err)
		}
		return do(e)
	}, "SELECT e.record, d.event, e.outcome FROM effect e JOIN decision d ON d.seq = e.decision "+
		"WHERE e.issue = ? AND e.tenant = ? ORDER BY e.seq", id, tenant)
}

// Tenants returns the tenants that have decisions in the database, sorted by name.
func Tenants(conn *sqlite.Conn) (list []string, err error) {
	err = Each(conn, func(stmt *sqlite.Stmt) error {
		list = append(list, stmt.ColumnText(0))
		return nil
	}, "SELECT DISTINCT tenant FROM decision ORDER BY tenant")
	return list, err
}
