package tracker

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func showCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an issue with its events, changes and edits",
		Long: `Show an issue: its text and links, each change of its status with the event that caused
it, the edits by people, and the changes that the backend refused. For a digest, show
its entries.`,
		Example:           "  tracker show ht-0c3k9w1x2y4z5",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: issueArgument(shared, anyIssue),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := tracker.Show(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, d, func(out io.Writer) { fmt.Fprint(out, termtext.Printable(detailsText(d))) })
		},
	}
}

// detailsText prints untrusted text on one line or after "| ", so that such text cannot imitate
// other lines of the output.
func detailsText(d tracker.Details) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", d.ID, termtext.OneLine(d.Title))
	fmt.Fprintf(&b, "  %s, %s issue of run %s, tenant %s\n", d.Status, d.Kind, termtext.OneLine(d.Run), termtext.OneLine(d.Tenant))
	fmt.Fprintf(&b, "  labels %s\n", termtext.OneLine(strings.Join(d.Labels, ", ")))
	switch {
	case d.Occurrences == 1:
		fmt.Fprintf(&b, "  1 event, %s\n", termtext.Time(d.First))
	case d.Occurrences > 1:
		fmt.Fprintf(&b, "  %d events, the first %s, the last %s\n", d.Occurrences, termtext.Time(d.First), termtext.Time(d.Last))
	}
	for line := range strings.Lines(d.Description) {
		fmt.Fprintf(&b, "  | %s\n", strings.TrimRight(line, "\n"))
	}
	for _, l := range d.Links {
		fmt.Fprintf(&b, "  %s %s\n", termtext.OneLine(l.Type), l.ID)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "  - %s\n", termtext.OneLine(n))
	}
	fmt.Fprintln(&b, "changes")
	for _, t := range d.Transitions {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", termtext.Time(t.At), t.To, termtext.OneLine(t.Reason+" (event "+t.Event+")"))
	}
	if len(d.Edits) > 0 {
		fmt.Fprintln(&b, "edits by people")
	}
	for _, e := range d.Edits {
		fmt.Fprintf(&b, "  %s  %s\n", termtext.Time(e.At), termtext.OneLine(e.Reason+" (event "+e.Event+")"))
	}
	if len(d.Refused) > 0 {
		fmt.Fprintln(&b, "refused by the backend")
	}
	for _, r := range d.Refused {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", termtext.Time(r.At), r.Op, termtext.OneLine(r.Reason+" (event "+r.Event+")"))
	}
	return b.String()
}
