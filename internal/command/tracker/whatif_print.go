package tracker

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

const mostListed = 50

func printOutcome(out io.Writer, r *replay.Replay, c *replay.Comparison) error {
	byStatus, count := map[rules.Status]int{}, 0
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	err := store.EachIssue(r.Conn(), "", store.ByMaking, func(i rules.Issue) error {
		byStatus[i.Status]++
		if count++; count > mostListed {
			return nil
		}
		if count == 1 {
			fmt.Fprintln(w, "ID\tTENANT\tSTATUS\tKIND\tCREATED\tEVENTS\tTITLE")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", i.ID, termtext.Cell(i.Tenant), i.Status, i.Kind, termtext.Time(i.Created), i.Count, termtext.Cell(i.Title))
		return nil
	})
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if count > mostListed {
		fmt.Fprintf(out, "… and %d more, listed with --json\n", count-mostListed)
	}
	actions, err := r.CountActions()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s under configuration %.12s: %s%s\n", plural(r.Events(), "event"), r.Config().Hash(), plural(count, "issue"), counted(byStatus,
		rules.Open, rules.InProgress, rules.Blocked, rules.Flapping, rules.Closed))
	fmt.Fprintf(out, "decisions%s\n", counted(actions, rules.Create, rules.Update, rules.Record, rules.None))
	if c != nil {
		printComparison(out, *c)
	}
	return nil
}

func counted[K ~string](counts map[K]int, order ...K) string {
	var texts []string
	for _, key := range order {
		if n := counts[key]; n > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(key), "_", " ")))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return ": " + strings.Join(texts, ", ")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func printReproduction(out io.Writer, s replay.StreamComparison) {
	r := s.Reproduced
	lead := fmt.Sprintf("today's configuration %.12s", s.Config.Base)
	switch {
	case r.Exact && r.Reason == "":
		fmt.Fprintf(out, "%s reproduces today's %s exactly\n", lead, plural(r.Issues, "issue"))
		return
	case r.Exact:
		fmt.Fprintf(out, "%s reproduces today's %s; %s\n", lead, plural(r.Issues, "issue"), r.Reason)
		return
	}
	fmt.Fprintf(out, "%s does not reproduce today's %s: %d missing, %d extra, %d different", lead, plural(r.Issues, "issue"), r.Missing, r.Extra, r.Differ)
	if r.Reason != "" {
		fmt.Fprintf(out, " (%s)", r.Reason)
	}
	if len(r.Examples) > 0 {
		fmt.Fprintf(out, ": %s", strings.Join(r.Examples, ", "))
	}
	fmt.Fprintln(out)
}

func printComparison(out io.Writer, c replay.Comparison) {
	fmt.Fprintf(out, "configuration %.12s instead of %.12s: %s instead of %d; %d gained, %d lost, %d changed; %d of the decisions on %s differ\n",
		c.Config.New, c.Config.Base, plural(c.Issues.New, "issue"), c.Issues.Base,
		c.Gained.Count, c.Lost.Count, c.Changed.Count, c.Decisions.Count, plural(c.Events, "event"))
	printDifferences(out, "gained", c.Gained, printIssueDifference)
	printDifferences(out, "lost", c.Lost, printIssueDifference)
	printDifferences(out, "changed", c.Changed, printIssueDifference)
	printDifferences(out, "decisions that differ", c.Decisions, func(out io.Writer, d replay.DecisionDifference) {
		fmt.Fprintf(out, "  %s\n", termtext.Cell(d.Event))
		printDecisions(out, d.Pair)
	})
}

func printDifferences[T any](out io.Writer, what string, d replay.Differences[T], one func(io.Writer, T)) {
	if d.Count == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s: %d\n", what, d.Count)
	for _, example := range d.Examples {
		one(out, example)
	}
	if more := d.Count - len(d.Examples); more > 0 {
		fmt.Fprintf(out, "  … and %d more, listed with --examples %d\n", more, d.Count)
	}
}

func printIssueDifference(out io.Writer, d replay.IssueDifference) {
	fmt.Fprintf(out, "  %s  %s  %s\n", d.ID, d.Kind, termtext.Cell(d.Title))
	if d.Decision != nil {
		printDecisions(out, *d.Decision)
		return
	}
	fmt.Fprintf(out, "    today  %s, %s, %s\n    new    %s, %s, %s\n",
		d.Status.Base, plural(d.Events.Base, "event"), plural(d.Transitions.Base, "transition"),
		d.Status.New, plural(d.Events.New, "event"), plural(d.Transitions.New, "transition"))
}

func printDecisions(out io.Writer, p replay.Pair[replay.Decision]) {
	for _, side := range []struct {
		name string
		d    replay.Decision
	}{{"today", p.Base}, {"new", p.New}} {
		if side.d.Event == "" {
			fmt.Fprintf(out, "    %-5s  no decision\n", side.name)
			continue
		}
		fmt.Fprintf(out, "    %-5s  %s: %s\n", side.name, side.d.Action, termtext.Printable(termtext.OneLine(side.d.Reason)))
	}
}
