package tracker

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/issues"
)

// WhatifIssue is an issue as whatif prints it. Fields may be added, never renamed.
type WhatifIssue struct {
	ID          string             `json:"id"`
	Tenant      string             `json:"tenant"`
	Kind        issues.Kind        `json:"kind"`
	Title       string             `json:"title"`
	Status      issues.Status      `json:"status"`
	Labels      []string           `json:"labels"`      // that were given to it
	Events      []string           `json:"events"`      // ids of its occurrences, by event time
	Transitions []WhatifTransition `json:"transitions"` // its making included
	Links       []issues.Link      `json:"links"`
}

// WhatifTransition is a change of an issue's status.
type WhatifTransition struct {
	To    issues.Status `json:"to"`
	At    time.Time     `json:"at"`
	Event string        `json:"event"`
}

// WhatifDecision is a decision as whatif prints it.
type WhatifDecision struct {
	Event  string        `json:"event"`
	Action issues.Action `json:"action"`
	Rule   string        `json:"rule"`
	Reason string        `json:"reason"`
	Issues []string      `json:"issues"`
}

func whatifDecision(d issues.Decision) WhatifDecision {
	return WhatifDecision{Event: d.Event, Action: d.Action, Rule: d.Rule, Reason: d.Reason, Issues: orEmpty(d.Issues)}
}

// The orders in which issues are read.
const (
	byID = "tenant, id"
	// byMaking is by time, and then by what was made first: an id, and the name of a
	// tenant, say nothing of that.
	byMaking = "julianday(json_extract(record, '$.created')), (SELECT min(e.seq) FROM effect e WHERE e.issue = record.id), id"
)

// eachIssue calls do for the issues in a database, those of nobody meaning
// everybody's.
func eachIssue(conn *sqlite.Conn, tenant, order string, do func(issues.Issue) error) error {
	return each(conn, func(stmt *sqlite.Stmt) error {
		var i issues.Issue
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &i); err != nil {
			return fmt.Errorf("decode issue: %w", err)
		}
		return do(i)
	}, "SELECT record FROM record WHERE kind = 'issue' AND (?1 = '' OR tenant = ?1) ORDER BY "+order, tenant)
}

// eachOccurrence calls do with the ids of the events that an issue is made of, by
// their times.
func eachOccurrence(conn *sqlite.Conn, tenant, id string, do func(event string) error) error {
	return each(conn, func(stmt *sqlite.Stmt) error { return do(stmt.ColumnText(0)) },
		"SELECT d.event FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND t.occurs = 1 ORDER BY d.time, d.event", id, tenant)
}

// transitions returns the changes of an issue's status.
func transitions(conn *sqlite.Conn, tenant, id string) ([]WhatifTransition, error) {
	list := []WhatifTransition{}
	err := each(conn, func(stmt *sqlite.Stmt) error {
		var e issues.Effect
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &e); err != nil {
			return fmt.Errorf("decode effect: %w", err)
		}
		if e.Op == issues.OpCreate || e.Op == issues.OpTransition {
			list = append(list, WhatifTransition{To: e.To, At: e.At, Event: stmt.ColumnText(1)})
		}
		return nil
	}, "SELECT e.record, d.event FROM effect e JOIN decision d ON d.seq = e.decision "+
		"WHERE e.issue = ? AND e.tenant = ? ORDER BY e.seq", id, tenant)
	return list, err
}

// jsonWriter writes JSON piece by piece, and remembers the first error.
type jsonWriter struct {
	w   io.Writer
	err error
}

func (j *jsonWriter) raw(s string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, s)
	}
}

func (j *jsonWriter) value(v any) {
	if j.err != nil {
		return
	}
	data, err := encodeJSON(v)
	if err != nil {
		j.err = err
		return
	}
	j.raw(string(data))
}

// member writes a member of an object that is not its first.
func (j *jsonWriter) member(name string, v any) {
	j.raw(`,"` + name + `":`)
	j.value(v)
}

// encodeJSON returns v as JSON for people: what HTML would take for markup stays.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// writeIssue writes an issue as a [WhatifIssue], its events one by one: there may
// be more of them than fit into memory.
func writeIssue(w io.Writer, conn *sqlite.Conn, i issues.Issue) error {
	moves, err := transitions(conn, i.Tenant, i.ID)
	if err != nil {
		return err
	}
	p := printed(i)
	j := &jsonWriter{w: w}
	j.raw(`{"id":`)
	j.value(p.ID)
	j.member("tenant", p.Tenant)
	j.member("kind", p.Kind)
	j.member("title", p.Title)
	j.member("status", p.Status)
	j.member("labels", orEmpty(i.Labels))
	j.raw(`,"events":`)
	separator := "["
	err = eachOccurrence(conn, i.Tenant, i.ID, func(event string) error {
		j.raw(separator)
		j.value(event)
		separator = ","
		return j.err
	})
	if err != nil {
		return err
	}
	if separator == "[" {
		j.raw(separator)
	}
	j.raw("]")
	j.member("transitions", moves)
	j.member("links", p.Links)
	j.raw("}")
	return j.err
}

// writeOutcome writes what a fold came to, as JSON: its issues in the order in which
// they were made, and its decisions in that in which the events came.
// Members of more, if it is not nil, follow.
func writeOutcome(out io.Writer, f *folding, more func(*jsonWriter)) error {
	buf := bufio.NewWriterSize(out, 64<<10)
	safe := cli.SafeJSON(buf) // before the buffer, which cuts characters
	j := &jsonWriter{w: safe}
	separator := "\n"
	j.raw(`{"issues":[`)
	err := eachIssue(f.conn, "", byMaking, func(i issues.Issue) error {
		j.raw(separator)
		separator = ",\n"
		if j.err != nil {
			return j.err
		}
		return writeIssue(safe, f.conn, i)
	})
	if err != nil {
		return err
	}
	separator = "\n"
	j.raw("\n],\"decisions\":[")
	err = eachDecision(f.conn, "seq", func(d issues.Decision) error {
		j.raw(separator)
		separator = ",\n"
		j.value(whatifDecision(d))
		return j.err
	})
	if err != nil {
		return err
	}
	j.raw("\n]")
	if more != nil {
		more(j)
	}
	j.raw("}\n")
	if j.err != nil {
		return j.err
	}
	return buf.Flush()
}

// eachDecision calls do for the decisions of a fold.
func eachDecision(conn *sqlite.Conn, order string, do func(issues.Decision) error) error {
	return each(conn, func(stmt *sqlite.Stmt) error {
		var d issues.Decision
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &d); err != nil {
			return fmt.Errorf("decode decision: %w", err)
		}
		return do(d)
	}, "SELECT record FROM decision WHERE record IS NOT NULL ORDER BY "+order)
}

// digest returns a hash of all that whatif prints of an issue.
func digest(conn *sqlite.Conn, i issues.Issue) ([sha256.Size]byte, error) {
	h := sha256.New()
	err := writeIssue(h, conn, i)
	return [sha256.Size]byte(h.Sum(nil)), err
}
