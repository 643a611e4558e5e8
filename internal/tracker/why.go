package tracker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Explanation answers why an issue is as it is, or what became of an event.
type Explanation struct {
	Subject   string      `json:"subject"` // the id that was asked for
	Issue     *Issue      `json:"issue,omitempty"`
	Decisions []Reasoning `json:"decisions"`
	// Others counts the events that belong to the issue and changed nothing.
	Others int `json:"others,omitempty"`
	// Unconsidered says why there is no decision on an event.
	Unconsidered string `json:"unconsidered,omitempty"`
}

// Reasoning is a decision with its id.
type Reasoning struct {
	ID string `json:"id"` // of the issue.decided event
	issues.Decision
}

// Why explains an issue of tenant or, if there is none with this id, an event.
// It only reads the files in dataDir, and wraps ErrNotFound where they have
// neither.
func Why(ctx context.Context, dataDir, tenant, id string) (Explanation, error) {
	x := Explanation{Subject: id, Decisions: []Reasoning{}}
	err := read(ctx, dataDir, func(conn *sqlite.Conn) error {
		var found issues.Issue
		if err := one(conn, &found, "SELECT record FROM issue WHERE id = ? AND tenant = ?", id, tenant); err != nil {
			return err
		}
		if found.ID == "" {
			return record(conn, x.add, "SELECT record FROM decision WHERE tenant = ? AND event = ? ORDER BY seq", tenant, id)
		}
		issue := printed(found)
		x.Issue = &issue
		return record(conn, x.addOf, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? ORDER BY d.seq", id, tenant)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Explanation{}, err
	}
	if x.Issue == nil && len(x.Decisions) == 0 {
		if x.Unconsidered, err = unconsidered(ctx, dataDir, tenant, id); err != nil {
			return Explanation{}, err
		}
	}
	return x, nil
}

func (x *Explanation) add(d issues.Decision) {
	x.Decisions = append(x.Decisions, Reasoning{ID: d.ID(), Decision: d})
}

// addOf adds a decision on the issue, or counts it if it changed nothing.
func (x *Explanation) addOf(d issues.Decision) {
	if d.Action == issues.Record {
		x.Others++
		return
	}
	x.add(d)
}

// whatIsConsidered tells people which events are decided on.
const whatIsConsidered = "considered are run events, step.finished, error, issue.edited and clock.ticked"

// unconsidered says why there is no decision on an event. The ledger knows
// events that the tracker does not keep.
func unconsidered(ctx context.Context, dataDir, tenant, id string) (string, error) {
	none := fmt.Errorf("%w: %s in tenant %s, nor an event of that id that was decided on or is in a ledger here; %s",
		ErrNotFound, id, tenant, whatIsConsidered)
	path, err := ledger.Path(filepath.Join(dataDir, "ledger"), tenant)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", none // without a ledger there is less to say
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
	case entry.Kind == events.IssueDecided:
		return fmt.Sprintf("Event %s is an issue.decided: the tracker's own decisions are not considered.", id), nil
	case !issues.Considered(entry.Kind):
		return fmt.Sprintf("Event %s is a %s, and such events are not considered; %s.", id, entry.Kind, whatIsConsidered), nil
	}
	return fmt.Sprintf("Event %s is a %s and not decided on yet: the tracker has not read so far.", id, entry.Kind), nil
}

// Paragraphs returns the explanation for people.
func (x Explanation) Paragraphs() []string {
	if x.Unconsidered != "" {
		return []string{x.Unconsidered}
	}
	var out []string
	if x.Issue != nil {
		head := fmt.Sprintf("Issue %s, %q, is a %s issue of run %s and %s since %s.", x.Issue.ID, x.Issue.Title, x.Issue.Kind,
			oneLine(x.Issue.Run), x.Issue.Status, clock(x.Issue.Updated))
		if x.Issue.Reason != "" {
			head = strings.TrimSuffix(head, ".") + ": " + x.Issue.Reason + "."
		}
		out = append(out, head)
	}
	for _, d := range x.Decisions {
		out = append(out, d.paragraph())
	}
	if x.Others > 0 {
		out = append(out, fmt.Sprintf("%d more events belong to it and changed nothing.", x.Others))
	}
	return out
}

// verbs say what a decision amounts to.
var verbs = map[issues.Action]string{
	issues.None:   "made no issue",
	issues.Record: "was added to an issue",
	issues.Update: "changed an issue",
	issues.Create: "made an issue",
}

func (r Reasoning) paragraph() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The %s %s", r.Kind, oneLine(r.Event))
	if r.Run != "" {
		fmt.Fprintf(&b, " of run %s", oneLine(r.Run))
	}
	fmt.Fprintf(&b, " at %s %s: %s.", clock(r.Time), verbs[r.Action], r.Reason)
	if len(r.Issues) > 0 {
		fmt.Fprintf(&b, " It belongs to %s.", strings.Join(r.Issues, ", "))
	}
	for i, name := range slices.Sorted(maps.Keys(r.Counters)) {
		lead := ","
		if i == 0 {
			lead = " Counted:"
		}
		fmt.Fprintf(&b, "%s %s %d against %d", lead, name, r.Counters[name][0], r.Counters[name][1])
	}
	if len(r.Counters) > 0 {
		b.WriteByte('.')
	}
	fmt.Fprintf(&b, " Rules: %s.", r.Rule)
	if r.Flip != "" {
		fmt.Fprintf(&b, " It would have come out otherwise with %s.", r.Flip)
	}
	fmt.Fprintf(&b, " (Configuration %.12s.)", r.Config)
	return b.String()
}

// clock returns t as people read it.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
