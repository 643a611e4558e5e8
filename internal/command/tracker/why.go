package tracker

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func whyCommand(shared *cli.Shared) *cobra.Command {
	var input, config string
	cmd := &cobra.Command{
		Use:   "why ISSUE|EVENT",
		Short: "Explain the state of an issue, or the decision on an event",
		Long: `Explain the state of an issue, or the decision on an event, in one paragraph: the rules
that decided, the counters with their limits, and the change that would have led to
another decision. With --json, print the whole record.

With --events, explain the result of replaying a file, as "tracker whatif" does. --config
sets other limits for it. Without --tenant, all tenants in the file are searched.`,
		Example: `  tracker why ht-0c3k9w1x2y4z5
  tracker why 0198c0de-0000-7000-8000-000000000001 --tenant acme
  tracker why e-17 --events history.jsonl`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: issueArgument(shared, anyIssue),
		RunE: func(cmd *cobra.Command, args []string) error {
			if config != "" && input == "" {
				return cli.Usage("--config needs --events")
			}
			if input != "" {
				return whyOfInput(cmd, shared, input, config, args[0])
			}
			x, err := tracker.Why(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			return printExplanation(cmd, shared, x)
		},
	}
	cmd.Flags().StringVar(&input, "events", "", "`file` of CloudEvents to fold, one per line, \"-\" for stdin")
	cmd.Flags().StringVar(&config, "config", "", "YAML `file` with limits of the heuristics, for --events")
	return cmd
}

func printExplanation(cmd *cobra.Command, shared *cli.Shared, x tracker.Explanation) error {
	return cli.Print(cmd, shared, x, func(out io.Writer) { fmt.Fprintln(out, termtext.Printable(paragraph(x))) })
}
