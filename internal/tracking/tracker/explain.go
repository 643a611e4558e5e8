package tracker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// An Explanation lists the decisions that changed an issue, or the decisions about an event, with
// their reasons.
type Explanation struct {
	Subject string `json:"subject"`
	Issue   *Issue `json:"issue,omitempty"`
	// Decisions contains the decisions that changed Issue. If Issue is not set, it contains the
	// decisions about the event.
	Decisions    []Reasoning `json:"decisions"`
	Others       int         `json:"others,omitempty"`
	Unconsidered string      `json:"unconsidered,omitempty"`
}

// Reasoning is a decision together with the id of the event that published it.
type Reasoning struct {
	ID string `json:"id"` // id of the issue.decided event
	rules.Decision
}

// Why explains the issue or event with this id. It reads the files in dataDir. If there is no such
// issue or event, the error wraps [ErrNotFound].
func Why(ctx context.Context, dataDir, tenant, id string) (x Explanation, err error) {
	err = store.Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		x, err = Explain(conn, tenant, id)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Explanation{}, err
	}
	if x.Subject == "" {
		x = Explanation{Subject: id, Decisions: []Reasoning{}}
	}
	if x.IsEmpty() {
		x.Unconsidered, err = unconsidered(ctx, dataDir, tenant, id)
		return x, err
	}
	return x, nil
}

// IsEmpty reports whether x explains neither an issue nor an event.
func (x *Explanation) IsEmpty() bool {
	return x.Issue == nil && len(x.Decisions) == 0 && x.Unconsidered == ""
}

// Explain is like [Why], but reads from an open database. If there is no issue or event with this
// id, it returns an empty Explanation.
func Explain(conn *sqlite.Conn, tenant, id string) (Explanation, error) {
	x := Explanation{Subject: id, Decisions: []Reasoning{}}
	found, err := issueOf(conn, tenant, id)
	if err != nil {
		return x, err
	}
	if found.ID != "" {
		x.Issue = &found
		return x, store.Records(conn, x.addOfIssue, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND d.record IS NOT NULL ORDER BY d.seq", id, tenant)
	}
	err = store.Records(conn, x.add, "SELECT record FROM decision WHERE tenant = ? AND event = ? AND record IS NOT NULL ORDER BY seq", tenant, id)
	if err != nil || len(x.Decisions) > 0 {
		return x, err
	}
	return x, x.addHeld(conn, tenant)
}

func (x *Explanation) add(d rules.Decision) error {
	x.Decisions = append(x.Decisions, Reasoning{ID: d.ID(), Decision: d})
	return nil
}

func (x *Explanation) addOfIssue(d rules.Decision) error {
	if d.Action == rules.Record {
		x.Others++
		return nil
	}
	return x.add(d)
}

func (x *Explanation) addHeld(conn *sqlite.Conn, tenant string) error {
	const until = "SELECT d.kind, d.run, d.time, (SELECT min(t.at) FROM record h JOIN timer t ON t.tenant = h.tenant " +
		"AND t.id GLOB 'hold/*' AND substr(t.id, instr(substr(t.id, 6), '/') + 6) = coalesce(json_extract(h.record, '$.lineage'), json_extract(h.record, '$.failure')) " +
		"WHERE h.tenant = d.tenant AND h.kind = 'held' AND json_extract(h.record, '$.event') = d.event) " +
		"FROM decision d WHERE d.tenant = ? AND d.event = ? AND d.record IS NULL ORDER BY d.seq"
	return store.Each(conn, func(stmt *sqlite.Stmt) error {
		at, err := time.Parse(store.Sorting, stmt.ColumnText(2))
		if err != nil {
			return fmt.Errorf("read the time of an event: %w", err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "The %s %s", stmt.ColumnText(0), oneLine(x.Subject))
		if run := stmt.ColumnText(1); run != "" {
			fmt.Fprintf(&b, " of run %s", oneLine(run))
		}
		fmt.Fprintf(&b, " at %s is held", readable(at))
		if end, err := time.Parse(store.Sorting, stmt.ColumnText(3)); err == nil {
			fmt.Fprintf(&b, " until %s", readable(end))
		}
		b.WriteString(" by the clock of the tenant's events, and decided on then: it becomes an issue, or an occurrence of one, unless its step, its run or its scope recovers before.")
		x.Unconsidered = b.String()
		return nil
	}, until, tenant, x.Subject)
}

// ConsideredKinds is a text for messages that lists the kinds of events on which the rules decide.
const ConsideredKinds = "considered are run events, step.finished, error, issue.edited, clock.ticked and successful results of denied tool calls"

func unconsidered(ctx context.Context, dataDir, tenant, id string) (string, error) {
	none := fmt.Errorf("%w: %s in tenant %s, and no event with that id has a decision or is in a ledger here; %s",
		ErrNotFound, id, tenant, ConsideredKinds)
	path, err := ledger.Path(filepath.Join(dataDir, "ledger"), tenant)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", none // no ledger
	}
	r, err := ledger.OpenReader(path)
	if err != nil {
		return "", err
	}
	entry, found, err := r.Find(ctx, id)
	if err := errors.Join(err, r.Close()); err != nil {
		return "", err
	}
	switch {
	case !found:
		return "", none
	case !rules.Considered(entry.Kind):
		return NotConsidered(id, entry.Kind), nil
	}
	return fmt.Sprintf("Event %s is a %s and not decided on yet: the tracker has not read so far.", oneLine(id), entry.Kind), nil
}

// NotConsidered returns a message for a person who asks about an event on which the rules never
// decide.
func NotConsidered(id string, kind events.Kind) string {
	if kind == events.IssueDecided {
		return fmt.Sprintf("Event %s is an issue.decided: the tracker's own decisions are not considered.", oneLine(id))
	}
	return fmt.Sprintf("Event %s is a %s, and such events are not considered; %s.", oneLine(id), kind, ConsideredKinds)
}
