package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func open(tb testing.TB) *sqlite.Conn {
	tb.Helper()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := conn.Close(); err != nil {
			tb.Error(err)
		}
	})
	if err := sqlitex.ExecuteScript(conn, Schema("").Tables, nil); err != nil {
		tb.Fatal(err)
	}
	return conn
}

// step returns an event of a run's step, s seconds after a fixed time.
func step(tb testing.TB, run string, s int, status events.StepStatus, said string) events.Event {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("%s-%d", run, s), Source: "/engine", Type: events.StepFinished.Type(), Subject: run, Run: run, Step: "s1",
		RunType: "REVIEW", Tenant: "acme", Time: time.Date(2026, 3, 1, 9, 0, s, 0, time.UTC),
	}
	d := events.StepFinishedData{AgentRole: "CODER", StepStatus: status, OutputSummary: said}
	if status == events.StepFailed {
		d.Error = &events.Failure{Message: said}
	}
	if err := e.SetData(d); err != nil {
		tb.Fatal(err)
	}
	return e
}

// history contains failures in grace periods, one of which recovers, and a follow-up.
func history(tb testing.TB) []events.Event {
	tb.Helper()
	return []events.Event{
		step(tb, "r1", 0, events.StepFailed, "disk is full"),
		step(tb, "r2", 5, events.StepFailed, "no such branch"),
		step(tb, "r2", 9, events.StepCompleted, "Done. Follow-up: pin the linter."),
		step(tb, "r3", 50, events.StepFailed, "disk is full"),
		step(tb, "r4", 90, events.StepCompleted, "Fixed."),
	}
}

func written(tb testing.TB, conn *sqlite.Conn) (all []string) {
	tb.Helper()
	for _, query := range []string{
		"SELECT tenant, kind, id, record FROM record ORDER BY 1, 2, 3",
		"SELECT tenant, id, at FROM timer ORDER BY 1, 2",
		"SELECT seq, tenant, event, kind, run, time, stored, id, record FROM decision ORDER BY 1",
		"SELECT issue, decision, occurs FROM touched ORDER BY 1, 2",
		"SELECT seq, decision, issue, record FROM effect ORDER BY 1",
	} {
		err := Each(conn, func(stmt *sqlite.Stmt) error {
			var b strings.Builder
			for i := range stmt.ColumnCount() {
				b.WriteString(stmt.ColumnText(i) + "|")
			}
			all = append(all, b.String())
			return nil
		}, query)
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

func take(tb testing.TB, f *Fold, list ...events.Event) {
	tb.Helper()
	for _, e := range list {
		if err := f.Take(e, e.Time); err != nil {
			tb.Fatal(err)
		}
	}
}

// The result does not depend on the number of flushes.
func TestFold_GoesOnFromTheDatabase(t *testing.T) {
	list := history(t)
	whole, parts := open(t), open(t)
	f := NewFold(whole, rules.DefaultConfig())
	take(t, f, list...)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		f := NewFold(parts, rules.DefaultConfig())
		take(t, f, e)
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	got := written(t, whole)
	if len(got) < 10 {
		t.Fatalf("the history comes to %d rows", len(got))
	}
	if diff := cmp.Diff(got, written(t, parts)); diff != "" {
		t.Errorf("at once and one by one differ (-at once +one by one):\n%s", diff)
	}
}

// An invalid event changes nothing, and its error does not quote it.
func TestFold_BadData(t *testing.T) {
	list := history(t)
	bad := list[1]
	bad.ID, bad.Data = "bad", []byte(`{"step_status":7}`)
	conn, clean := open(t), open(t)
	f := NewFold(conn, rules.DefaultConfig())
	take(t, f, list[0])
	err := f.Take(bad, bad.Time)
	wrong, ok := errors.AsType[*DataError](err)
	if !ok || wrong.Event.ID != "bad" || wrong.Error() != "event bad: the data of this step.finished is not of its kind" {
		t.Fatalf("got %v", err)
	}
	take(t, f, list[1:]...)
	without := NewFold(clean, rules.DefaultConfig())
	take(t, without, list...)
	if err := errors.Join(f.Flush(), without.Flush()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written(t, clean), written(t, conn)); diff != "" {
		t.Errorf("a bad event changes something (-without +with):\n%s", diff)
	}
}

// An event that is erased in its grace period gets a decision without texts.
func TestFold_WhatWasErasedHasNoTexts(t *testing.T) {
	conn := open(t)
	f := NewFold(conn, rules.DefaultConfig())
	take(t, f, step(t, "r1", 0, events.StepFailed, "disk is full"))
	if err := Run(conn, "UPDATE decision SET erased = 1"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Release(), f.Flush()); err != nil {
		t.Fatal(err)
	}
	made := 0
	err := Records(conn, func(e rules.Effect) error {
		if made++; e.Issue == nil || e.Issue.Title != Erased || e.Issue.Description != "" {
			t.Errorf("effect is %+v of %+v", e, e.Issue)
		}
		return nil
	}, "SELECT record FROM effect")
	if err != nil || made != 1 {
		t.Errorf("%d effects, %v", made, err)
	}
	err = Records(conn, func(d rules.Decision) error {
		if d.Reason != Erased || d.Flip != "" || d.Rule == "" {
			t.Errorf("decision is %+v", d)
		}
		return nil
	}, "SELECT record FROM decision")
	if err != nil {
		t.Error(err)
	}
}
