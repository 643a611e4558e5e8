package tracker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Details are all that the tracker knows of an issue.
type Details struct {
	Issue
	Events      []string     `json:"events"` // ids of those that it is made of, by their times
	Transitions []Transition `json:"transitions"`
	Edits       []PersonEdit `json:"edits"` // by people
	Notes       []string     `json:"notes,omitempty"`
	Refused     []Refusal    `json:"refused,omitempty"`
}

// Transition is a change of an issue's status, its making included.
type Transition struct {
	To     issues.Status `json:"to"`
	At     time.Time     `json:"at"`
	Event  string        `json:"event"`
	Reason string        `json:"reason,omitempty"`
	// Refused says why the backend would not have it.
	Refused string `json:"refused,omitempty"`
}

// PersonEdit is what somebody did to an issue, and what the tracker made of it.
type PersonEdit struct {
	Event  string    `json:"event"`
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // of the decision
}

// Refusal is a change that the backend would not have.
type Refusal struct {
	Op     issues.Op `json:"op"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Reason string    `json:"reason"`
}

// Show returns all that is known of an issue of tenant. It wraps [ErrNotFound] if
// there is none.
func Show(ctx context.Context, dataDir, tenant, id string) (Details, error) {
	d := Details{Events: []string{}, Transitions: []Transition{}, Edits: []PersonEdit{}}
	err := read(ctx, dataDir, func(conn *sqlite.Conn) (err error) {
		if d.Issue, err = issueOf(conn, tenant, id); err != nil || d.ID == "" {
			return err
		}
		err = eachOccurrence(conn, tenant, id, func(event string) error {
			d.Events = append(d.Events, event)
			return nil
		})
		if err != nil {
			return err
		}
		err = record(conn, d.addEdit, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND d.kind = ? AND d.record IS NOT NULL ORDER BY d.seq", id, tenant, string(events.IssueEdited))
		if err != nil {
			return err
		}
		return each(conn, d.addEffect, "SELECT e.record, d.event, e.outcome FROM effect e JOIN decision d ON d.seq = e.decision "+
			"WHERE e.issue = ? AND e.tenant = ? ORDER BY e.seq", id, tenant)
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.ID == "" {
		return Details{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return d, err
}

func (d *Details) addEdit(made issues.Decision) {
	d.Edits = append(d.Edits, PersonEdit{Event: made.Event, At: made.Time, Reason: made.Reason})
}

// addEffect takes in an effect on the issue, the event it comes from, and why it
// was refused.
func (d *Details) addEffect(stmt *sqlite.Stmt) error {
	var e issues.Effect
	if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &e); err != nil {
		return fmt.Errorf("decode effect: %w", err)
	}
	event, refused := stmt.ColumnText(1), stmt.ColumnText(2)
	switch e.Op {
	case issues.OpCreate, issues.OpTransition:
		d.Transitions = append(d.Transitions, Transition{To: e.To, At: e.At, Event: event, Reason: e.Reason, Refused: refused})
	case issues.OpNote:
		d.Notes = append(d.Notes, e.Text)
	case issues.OpLink, issues.OpLabel, issues.OpDescribe, issues.OpErase:
	}
	if refused != "" {
		d.Refused = append(d.Refused, Refusal{Op: e.Op, At: e.At, Event: event, Reason: refused})
	}
	return nil
}

func showCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an issue with its events, changes and edits",
		Long: `Show an issue: what it says, what it is linked to, how its status changed and on
which event, what people did to it, and what the backend would not have. Of a digest
it shows what was folded in.`,
		Example: "  tracker show ht-0c3k9w1x2y4z5",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := Show(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, d)
			}
			fmt.Fprint(cmd.OutOrStdout(), cli.Printable(d.String()))
			return nil
		},
	}
}

// String returns the details for people. What comes from events keeps to lines
// that begin with a bar.
func (d Details) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", d.ID, oneLine(d.Title))
	fmt.Fprintf(&b, "  %s, %s issue of run %s, tenant %s\n", d.Status, d.Kind, oneLine(d.Run), oneLine(d.Tenant))
	fmt.Fprintf(&b, "  labels %s\n", oneLine(strings.Join(d.Labels, ", ")))
	switch {
	case d.Occurrences == 1:
		fmt.Fprintf(&b, "  1 event, %s\n", clock(d.First))
	case d.Occurrences > 1:
		fmt.Fprintf(&b, "  %d events, the first %s, the last %s\n", d.Occurrences, clock(d.First), clock(d.Last))
	}
	for line := range strings.Lines(d.Description) {
		fmt.Fprintf(&b, "  | %s\n", strings.TrimRight(line, "\n"))
	}
	for _, l := range d.Links {
		fmt.Fprintf(&b, "  %s %s\n", oneLine(l.Type), l.ID)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "  - %s\n", oneLine(n))
	}
	fmt.Fprintln(&b, "changes")
	for _, t := range d.Transitions {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", clock(t.At), t.To, oneLine(t.Reason+" (event "+t.Event+")"))
	}
	if len(d.Edits) > 0 {
		fmt.Fprintln(&b, "edits by people")
	}
	for _, e := range d.Edits {
		fmt.Fprintf(&b, "  %s  %s\n", clock(e.At), oneLine(e.Reason+" (event "+e.Event+")"))
	}
	if len(d.Refused) > 0 {
		fmt.Fprintln(&b, "refused by the backend")
	}
	for _, r := range d.Refused {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", clock(r.At), r.Op, oneLine(r.Reason+" (event "+r.Event+")"))
	}
	return b.String()
}
