package tracker

import (
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/issues"
)

// eraser takes texts out of what an order concerns: decisions, what followed from
// them, issues, and what the heuristics keep for later.
type eraser struct {
	*batch
	tenant string
	run    string          // all of it goes; empty: of no run
	events []string        // ids of those that it concerns
	runs   map[string]bool // that these are of
	issues map[string]bool // that lost their texts
}

// event takes the texts of one event away. What is decided on it later has none.
func (e *eraser) event(t target) error {
	e.events = append(e.events, t.event)
	e.runs[t.run] = true
	if err := run(e.conn, "UPDATE decision SET user = '', erased = 1 WHERE seq = ?", t.seq); err != nil {
		return err
	}
	if t.record == nil {
		return nil
	}
	eraseReasons(t.record)
	if err := save(e.conn, t.record, "UPDATE decision SET record = ?2 WHERE seq = ?1", t.seq); err != nil {
		return err
	}
	for _, id := range t.record.Issues {
		if err := e.issue(t.seq, id); err != nil {
			return fmt.Errorf("issue %s: %w", id, err)
		}
	}
	return nil
}

// issue takes all texts out of an issue: which of them came from which event
// nobody can tell any more. It has the backend do the same.
func (e *eraser) issue(seq int64, id string) error {
	if e.issues[id] {
		return nil
	}
	e.issues[id] = true
	var issue issues.Issue
	err := one(e.conn, &issue, "SELECT record FROM record WHERE tenant = ? AND kind = ? AND id = ?", e.tenant, issues.IssueKind, id)
	if err != nil || issue.ID == "" {
		return err
	}
	effects := make(map[int64]issues.Effect)
	err = each(e.conn, func(stmt *sqlite.Stmt) error {
		var f issues.Effect
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
		eraseEffect(&f)
		err = save(e.conn, f, "UPDATE effect SET outcome = '', record = ?2 WHERE seq = ?1", seq)
	}
	if err != nil {
		return err
	}
	return save(e.conn, issues.Effect{Op: issues.OpErase, ID: id, At: issue.Updated, Text: erasedText},
		"INSERT INTO effect (decision, tenant, issue, record) VALUES (?, ?, ?, ?)", seq, e.tenant, id)
}

// records takes the texts out of the records of the state.
func (e *eraser) records() error {
	scope := issues.Erasure{Run: e.run, Events: e.events, Runs: e.runs, Issues: e.issues, Text: erasedText}
	var changes issues.Changes
	err := each(e.conn, func(stmt *sqlite.Stmt) error {
		key := issues.Key{Tenant: e.tenant, Kind: stmt.ColumnText(0), ID: stmt.ColumnText(1)}
		data, changed, err := scope.Record(key, []byte(stmt.ColumnText(2)))
		if changed {
			changes.Records = append(changes.Records, issues.Stored{Key: key, JSON: data})
		}
		return err
	}, "SELECT kind, id, record FROM record WHERE tenant = ? ORDER BY kind, id", e.tenant)
	if err != nil {
		return err
	}
	return saveChanges(e.conn, changes)
}

// eraseReasons takes the texts out of a decision.
func eraseReasons(d *issues.Decision) { d.Reason, d.Flip = erasedText, "" }

// eraseEffect takes the texts out of an effect.
func eraseEffect(f *issues.Effect) {
	if f.Issue != nil {
		made := *f.Issue
		eraseTexts(&made)
		f.Issue = &made
	}
	f.Reason, f.Text = erasedIf(f.Reason), erasedIf(f.Text)
}

func eraseTexts(i *issues.Issue) {
	i.Title, i.Description, i.Reason = erasedText, "", erasedIf(i.Reason)
}

func erasedIf(text string) string {
	if text == "" {
		return ""
	}
	return erasedText
}
