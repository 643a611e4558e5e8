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

	"github.com/spf13/cobra"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Explanation answers why an issue is as it is, or what became of an event.
type Explanation struct {
	Subject string `json:"subject"` // the id that was asked for
	Issue   *Issue `json:"issue,omitempty"`
	// Decisions are those that changed the issue, or those on the event.
	Decisions []Reasoning `json:"decisions"`
	// Others counts the events that belong to the issue and changed nothing.
	Others int `json:"others,omitempty"`
	// Unconsidered says why there is no decision on an event.
	Unconsidered string `json:"unconsidered,omitempty"`
}

// Reasoning is a decision with its id.
type Reasoning struct {
	ID string `json:"id"` // of the issue.decided event
	rules.Decision
}

func whyCommand(shared *cli.Shared) *cobra.Command {
	var input, config string
	cmd := &cobra.Command{
		Use:   "why ISSUE|EVENT",
		Short: "Say why an issue is as it is, or what became of an event",
		Long: `Say in a paragraph why an issue is as it is, or what became of an event: which rules
decided, the numbers against their limits, and what would have made it come out
otherwise. With --json it is the whole record.

With --events it is asked of what whatif makes of a file, with --config under other
limits. Without --tenant all tenants of the file are looked through.`,
		Example: `  tracker why ht-0c3k9w1x2y4z5
  tracker why 0198c0de-0000-7000-8000-000000000001 --tenant acme
  tracker why e-17 --events history.jsonl`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if config != "" && input == "" {
				return cli.Usage("--config: it is for what --events names")
			}
			if input != "" {
				return whyOfInput(cmd, shared, input, config, args[0])
			}
			x, err := Why(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			return x.print(cmd, shared)
		},
	}
	cmd.Flags().StringVar(&input, "events", "", "`file` of CloudEvents to fold, one per line, \"-\" for stdin")
	cmd.Flags().StringVar(&config, "config", "", "`file` with limits of the heuristics for --events, in YAML")
	return cmd
}

// Why explains an issue of tenant or, if there is none with this id, an event.
// It only reads the files in dataDir, and wraps [ErrNotFound] where they have
// neither.
func Why(ctx context.Context, dataDir, tenant, id string) (x Explanation, err error) {
	err = store.Read(ctx, dataDir, func(conn *sqlite.Conn) error {
		x, err = explain(conn, tenant, id)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Explanation{}, err
	}
	if x.Subject == "" {
		x = Explanation{Subject: id, Decisions: []Reasoning{}}
	}
	if x.empty() {
		x.Unconsidered, err = unconsidered(ctx, dataDir, tenant, id)
		return x, err
	}
	return x, nil
}

func (x Explanation) print(cmd *cobra.Command, shared *cli.Shared) error {
	if shared.JSON {
		return cli.PrintJSON(cmd, x)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(x.Paragraph()))
	return err
}

func (x *Explanation) empty() bool {
	return x.Issue == nil && len(x.Decisions) == 0 && x.Unconsidered == ""
}

// explain returns what a database has of an issue, or else of an event.
func explain(conn *sqlite.Conn, tenant, id string) (Explanation, error) {
	x := Explanation{Subject: id, Decisions: []Reasoning{}}
	found, err := issueOf(conn, tenant, id)
	if err != nil {
		return x, err
	}
	if found.ID != "" {
		x.Issue = &found
		return x, store.Records(conn, x.addOf, "SELECT d.record FROM touched t JOIN decision d ON d.seq = t.decision "+
			"WHERE t.issue = ? AND d.tenant = ? AND d.record IS NOT NULL ORDER BY d.seq", id, tenant)
	}
	err = store.Records(conn, x.add, "SELECT record FROM decision WHERE tenant = ? AND event = ? AND record IS NOT NULL ORDER BY seq", tenant, id)
	if err != nil || len(x.Decisions) > 0 {
		return x, err
	}
	return x, x.held(conn, tenant)
}

func (x *Explanation) add(d rules.Decision) error {
	x.Decisions = append(x.Decisions, Reasoning{ID: d.ID(), Decision: d})
	return nil
}

// addOf adds a decision on the issue, or counts it if it changed nothing.
func (x *Explanation) addOf(d rules.Decision) error {
	if d.Action == rules.Record {
		x.Others++
		return nil
	}
	return x.add(d)
}

// held says of an event that came and is not decided on that it waits.
func (x *Explanation) held(conn *sqlite.Conn, tenant string) error {
	const until = "SELECT d.kind, d.run, d.time, (SELECT min(t.at) FROM record h JOIN timer t ON t.tenant = h.tenant " +
		"AND t.id GLOB 'hold/*' AND substr(t.id, instr(substr(t.id, 6), '/') + 6) = json_extract(h.record, '$.failure') " +
		"WHERE h.tenant = d.tenant AND h.kind = 'held' AND json_extract(h.record, '$.event') = d.event) " +
		"FROM decision d WHERE d.tenant = ? AND d.event = ? AND d.record IS NULL ORDER BY d.seq"
	return store.Each(conn, func(stmt *sqlite.Stmt) error {
		at, err := time.Parse(store.Sorting, stmt.ColumnText(2))
		if err != nil {
			return fmt.Errorf("read the time of an event: %w", err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "The %s %s", stmt.ColumnText(0), cli.OneLine(x.Subject))
		if run := stmt.ColumnText(1); run != "" {
			fmt.Fprintf(&b, " of run %s", cli.OneLine(run))
		}
		fmt.Fprintf(&b, " at %s is held", cli.Time(at))
		if end, err := time.Parse(store.Sorting, stmt.ColumnText(3)); err == nil {
			fmt.Fprintf(&b, " until %s", cli.Time(end))
		}
		b.WriteString(" by the clock of the tenant's events, and decided on then: it becomes an issue, or an occurrence of one, unless its step, its run or its scope recovers before.")
		x.Unconsidered = b.String()
		return nil
	}, until, tenant, x.Subject)
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
	case !rules.Considered(entry.Kind):
		return notConsidered(id, entry.Kind), nil
	}
	return fmt.Sprintf("Event %s is a %s and not decided on yet: the tracker has not read so far.", cli.OneLine(id), entry.Kind), nil
}

// notConsidered says that events of a kind are not.
func notConsidered(id string, kind events.Kind) string {
	if kind == events.IssueDecided {
		return fmt.Sprintf("Event %s is an issue.decided: the tracker's own decisions are not considered.", cli.OneLine(id))
	}
	return fmt.Sprintf("Event %s is a %s, and such events are not considered; %s.", cli.OneLine(id), kind, whatIsConsidered)
}
