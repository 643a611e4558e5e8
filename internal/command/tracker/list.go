package tracker

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

var (
	statuses = []rules.Status{rules.Open, rules.InProgress, rules.Blocked, rules.Flapping, rules.Closed}
	kinds    = []rules.Kind{rules.Tracking, rules.Failure, rules.Followup, rules.Alarm, rules.Digest}
)

type filter struct {
	status, kind string
	labels       []string
}

func listCommand(shared *cli.Shared) *cobra.Command {
	var f filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the issues of a tenant",
		Long:  "List the issues of a tenant, the oldest first. An issue must match all filters.",
		Example: `  tracker list
  tracker list --status blocked --json
  tracker list --kind failure --label stalled`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return list(cmd, shared, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "only issues with this `status`: "+anyOf(statuses))
	flags.StringVar(&f.kind, "kind", "", "only issues of this `kind`: "+anyOf(kinds))
	flags.StringArrayVar(&f.labels, "label", nil, "only issues with this `label`; repeat the flag to require several labels")
	return cmd
}

func list(cmd *cobra.Command, shared *cli.Shared, f filter) error {
	all, err := tracker.List(cmd.Context(), shared.DataDir, shared.TenantOrDefault())
	if err != nil {
		return err
	}
	matching := []tracker.Issue{}
	for _, i := range all {
		if f.matches(i) {
			matching = append(matching, i)
		}
	}
	return cli.Print(cmd, shared, matching, func(out io.Writer) {
		if len(matching) > 0 {
			printList(out, matching)
			return
		}
		hint := ""
		if shared.Tenant == "" && len(all) == 0 {
			hint = otherTenants(cmd.Context(), shared.DataDir)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "no issues in tenant %s%s%s\n", termtext.Cell(shared.TenantOrDefault()), f.note(), hint)
	})
}

func otherTenants(ctx context.Context, dataDir string) string {
	list, err := tracker.List(ctx, dataDir, "")
	if err != nil || len(list) == 0 {
		return "" // the hint is optional
	}
	var tenants []string
	for _, i := range list {
		if !slices.Contains(tenants, i.Tenant) {
			tenants = append(tenants, i.Tenant)
		}
	}
	slices.Sort(tenants)
	return "; --tenant names another: " + names(tenants)
}

func wordsOf[S ~string](names []S) []string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return texts
}

func anyOf[S ~string](names []S) string {
	texts := wordsOf(names)
	last := len(texts) - 1
	return strings.Join(texts[:last], ", ") + " or " + texts[last]
}

func (f filter) check() error {
	if f.status != "" && !slices.Contains(statuses, rules.Status(f.status)) {
		return cli.Usage("--status %q: want %s", f.status, anyOf(statuses))
	}
	if f.kind != "" && !slices.Contains(kinds, rules.Kind(f.kind)) {
		return cli.Usage("--kind %q: want %s", f.kind, anyOf(kinds))
	}
	return nil
}

func (f filter) matches(i tracker.Issue) bool {
	if f.status != "" && string(i.Status) != f.status || f.kind != "" && string(i.Kind) != f.kind {
		return false
	}
	return !slices.ContainsFunc(f.labels, func(label string) bool { return !slices.Contains(i.Labels, label) })
}

func (f filter) note() string {
	if f.status == "" && f.kind == "" && len(f.labels) == 0 {
		return ""
	}
	return " that match the filters"
}

func printList(out io.Writer, list []tracker.Issue) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tKIND\tUPDATED\tEVENTS\tTITLE")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", i.ID, i.Status, i.Kind, termtext.Time(i.Updated), i.Occurrences, termtext.Cell(i.Title))
	}
	w.Flush()
}
