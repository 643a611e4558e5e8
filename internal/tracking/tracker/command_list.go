package tracker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// The statuses and kinds that issues have.
var (
	statuses = []rules.Status{rules.Open, rules.InProgress, rules.Blocked, rules.Flapping, rules.Closed}
	kinds    = []rules.Kind{rules.Tracking, rules.Failure, rules.Followup, rules.Digest}
)

// filter says which issues are listed; what is empty fits all.
type filter struct {
	status, kind string
	labels       []string
}

func listCommand(shared *cli.Shared) *cobra.Command {
	var f filter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the issues of a tenant",
		Long:  "List the issues of a tenant, the oldest first. Several filters must all fit.",
		Example: `  tracker list
  tracker list --status blocked --json
  tracker list --kind failure --label stalled`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			list, err := List(cmd.Context(), shared.DataDir, shared.TenantOrDefault())
			if err != nil {
				return err
			}
			kept := []Issue{}
			for _, i := range list {
				if f.fits(i) {
					kept = append(kept, i)
				}
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, kept)
			}
			if len(kept) == 0 {
				others := ""
				if shared.Tenant == "" && len(list) == 0 {
					others = elsewhere(cmd.Context(), shared.DataDir)
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "no issues in tenant %s%s%s\n", cli.Cell(shared.TenantOrDefault()), f.told(), others)
				return nil
			}
			return printList(cmd, kept)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "only issues with this `status`: "+anyOf(statuses))
	flags.StringVar(&f.kind, "kind", "", "only issues of this `kind`: "+anyOf(kinds))
	flags.StringArrayVar(&f.labels, "label", nil, "only issues with this `label`; again for those with another one too")
	return cmd
}

// elsewhere says which tenants have issues, to somebody who named none.
func elsewhere(ctx context.Context, dataDir string) string {
	list, err := List(ctx, dataDir, "")
	if err != nil || len(list) == 0 {
		return "" // it is a hint, and no more
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

// anyOf lists names for people: "a, b or c".
func anyOf[S ~string](names []S) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
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

func (f filter) fits(i Issue) bool {
	if f.status != "" && string(i.Status) != f.status || f.kind != "" && string(i.Kind) != f.kind {
		return false
	}
	return !slices.ContainsFunc(f.labels, func(label string) bool { return !slices.Contains(i.Labels, label) })
}

// told says that there is a filter.
func (f filter) told() string {
	if f.status == "" && f.kind == "" && len(f.labels) == 0 {
		return ""
	}
	return " that the filters fit"
}

func printList(cmd *cobra.Command, list []Issue) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tKIND\tUPDATED\tEVENTS\tTITLE")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", i.ID, i.Status, i.Kind, cli.Time(i.Updated), i.Occurrences, cli.Cell(i.Title))
	}
	return w.Flush()
}
