package tracker

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

const maxIssues = 200

func issueArgument(shared *cli.Shared, wanted func(tracker.Issue) bool) cobra.CompletionFunc {
	return shared.DescribedArgument(func(ctx context.Context) (ids []cli.Described) {
		tenant := shared.TenantOrDefault()
		if n := len(shared.Tenants); n > 0 {
			tenant = shared.Tenants[n-1] // one on the command line follows one from the environment
		}
		list, err := tracker.List(ctx, shared.DataDir, tenant)
		if err != nil {
			return nil
		}
		slices.SortStableFunc(list, func(a, b tracker.Issue) int { return b.Updated.Compare(a.Updated) })
		for _, i := range list {
			if wanted(i) && len(ids) < maxIssues {
				ids = append(ids, cli.Described{Value: i.ID, Text: i.Title})
			}
		}
		return ids
	})
}

func anyIssue(tracker.Issue) bool { return true }

func isNotClosed(i tracker.Issue) bool { return i.Status != rules.Closed }
