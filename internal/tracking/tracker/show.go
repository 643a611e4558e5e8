package tracker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
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
	To     rules.Status `json:"to"`
	At     time.Time    `json:"at"`
	Event  string       `json:"event"`
	Reason string       `json:"reason,omitempty"`
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
	Op     rules.Op  `json:"op"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Reason string    `json:"reason"`
}

// Show returns all that is known of an issue of tenant. It wraps [ErrNotFound] if
// there is none.
func Show(ctx context.Context, dataDir, tenant, id string) (Details, error) {
	d := Details{Events: []string{}, Transitions: []Transition{}, Edits: []PersonEdit{}}
	err := store.Read(ctx, dataDir, func(conn *sqlite.Conn) (err error) {
		if d.Issue, err = issueOf(conn, tenant, id); err != nil || d.ID == "" {
			return err
		}
		err = store.EachOccurrence(conn, tenant, id, func(event string) error {
			d.Events = append(d.Events, event)
			return nil
		})
		if err != nil {
			return err
		}
		err = store.Records(conn, d.addEdit, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND d.kind = ? AND d.record IS NOT NULL ORDER BY d.seq", id, tenant, string(events.IssueEdited))
		if err != nil {
			return err
		}
		return store.EachEffect(conn, tenant, id, d.addEffect)
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && d.ID == "" {
		return Details{}, fmt.Errorf("%w: %s in tenant %s", ErrNotFound, id, tenant)
	}
	return d, err
}

func (d *Details) addEdit(made rules.Decision) error {
	d.Edits = append(d.Edits, PersonEdit{Event: made.Event, At: made.Time, Reason: made.Reason})
	return nil
}

func (d *Details) addEffect(e store.Effect) error {
	switch e.Op {
	case rules.OpCreate, rules.OpTransition:
		d.Transitions = append(d.Transitions, Transition{To: e.To, At: e.At, Event: e.Event, Reason: e.Reason, Refused: e.Refused})
	case rules.OpNote:
		d.Notes = append(d.Notes, e.Text)
	case rules.OpLink, rules.OpLabel, rules.OpDescribe, rules.OpErase:
	}
	if e.Refused != "" {
		d.Refused = append(d.Refused, Refusal{Op: e.Op, At: e.At, Event: e.Event, Reason: e.Refused})
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
	fmt.Fprintf(&b, "%s  %s\n", d.ID, cli.OneLine(d.Title))
	fmt.Fprintf(&b, "  %s, %s issue of run %s, tenant %s\n", d.Status, d.Kind, cli.OneLine(d.Run), cli.OneLine(d.Tenant))
	fmt.Fprintf(&b, "  labels %s\n", cli.OneLine(strings.Join(d.Labels, ", ")))
	switch {
	case d.Occurrences == 1:
		fmt.Fprintf(&b, "  1 event, %s\n", cli.Time(d.First))
	case d.Occurrences > 1:
		fmt.Fprintf(&b, "  %d events, the first %s, the last %s\n", d.Occurrences, cli.Time(d.First), cli.Time(d.Last))
	}
	for line := range strings.Lines(d.Description) {
		fmt.Fprintf(&b, "  | %s\n", strings.TrimRight(line, "\n"))
	}
	for _, l := range d.Links {
		fmt.Fprintf(&b, "  %s %s\n", cli.OneLine(l.Type), l.ID)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "  - %s\n", cli.OneLine(n))
	}
	fmt.Fprintln(&b, "changes")
	for _, t := range d.Transitions {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", cli.Time(t.At), t.To, cli.OneLine(t.Reason+" (event "+t.Event+")"))
	}
	if len(d.Edits) > 0 {
		fmt.Fprintln(&b, "edits by people")
	}
	for _, e := range d.Edits {
		fmt.Fprintf(&b, "  %s  %s\n", cli.Time(e.At), cli.OneLine(e.Reason+" (event "+e.Event+")"))
	}
	if len(d.Refused) > 0 {
		fmt.Fprintln(&b, "refused by the backend")
	}
	for _, r := range d.Refused {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", cli.Time(r.At), r.Op, cli.OneLine(r.Reason+" (event "+r.Event+")"))
	}
	return b.String()
}
