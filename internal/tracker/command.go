package tracker

import (
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Command returns the tracker command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "Keep issues for the work that outlives a run, and say why",
		serveCommand(shared), listCommand(shared), showCommand(shared), whyCommand(shared))
	shared.Register(cmd)
	return cmd
}

func serveCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts     Options
		orderKey string
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Read the stream and keep the issues that follow from it",
		Long: `Read the stream and keep the issues that follow from it, until a signal ends it.
With --drain handle everything that is in the stream now, print how many issues
there are and end.

Issues are written to beads/TENANT/.beads/issues.jsonl in the data directory,
where "bd import" reads them.

What the auditor's key orders to be erased loses its texts here too, when the order
comes by in the stream. The key is ledger.pub in the folder keys of the data
directory; where no auditor runs on it, --order-key names it.`,
		Example: `  tracker serve
  tracker serve --drain --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			var err error
			if opts.OrderKey, err = readKey(orderKey); err != nil {
				return err
			}
			return broker.Use(cmd.Context(), broker.Options{
				DataDir: shared.DataDir, URL: shared.NATSURL, Name: Name, Logger: opts.Logger,
				Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth), Role: subjects.TrackerRole, Tenant: shared.Tenant,
			}, func(b *broker.Broker) error {
				opts.Broker = b
				return serve(cmd, shared, opts)
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "handle what is in the stream now, then end")
	cmd.Flags().StringVar(&orderKey, "order-key", "", "verifier `key` that orders to erase are signed with, or a file with it; "+
		"default is keys/ledger.pub in the data directory")
	return cmd
}

// readKey reads a verifier key, or the file with one.
func readKey(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if data, err := os.ReadFile(value); err == nil {
		value = string(data)
	}
	_, text, err := ledger.ParseVerifier(value)
	if err != nil {
		return "", cli.Usage("--order-key is neither a verifier key nor a file with one: %w", err)
	}
	return text, nil
}

func serve(cmd *cobra.Command, shared *cli.Shared, opts Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return Run(ctx, opts)
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "track")
	opts.Progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	err := Run(ctx, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	list, err := List(ctx, shared.DataDir, shared.Tenant)
	if err != nil {
		return err
	}
	return printCounts(cmd, shared, list)
}

// printCounts prints how many issues have which status.
func printCounts(cmd *cobra.Command, shared *cli.Shared, list []Issue) error {
	counts := map[issues.Status]int{issues.Open: 0, issues.InProgress: 0, issues.Blocked: 0, issues.Closed: 0}
	for _, i := range list {
		counts[i.Status]++
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, map[string]any{"issues": len(list), "by_status": counts})
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d issues: %d open, %d in progress, %d blocked, %d closed\n", len(list),
		counts[issues.Open], counts[issues.InProgress], counts[issues.Blocked], counts[issues.Closed])
	return nil
}

func listCommand(shared *cli.Shared) *cobra.Command {
	var status string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the issues of a tenant",
		Example: `  tracker list
  tracker list --status blocked --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkStatus(status); err != nil {
				return err
			}
			list, err := List(cmd.Context(), shared.DataDir, shared.TenantOrDefault())
			if err != nil {
				return err
			}
			kept := []Issue{}
			for _, i := range list {
				if status == "" || string(i.Status) == status {
					kept = append(kept, i)
				}
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, kept)
			}
			printList(cmd, shared.TenantOrDefault(), kept)
			return nil
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only issues with this `status`: open, in_progress, blocked or closed")
	return cmd
}

func checkStatus(status string) error {
	switch issues.Status(status) {
	case "", issues.Open, issues.InProgress, issues.Blocked, issues.Closed:
		return nil
	}
	return cli.Usage("--status %q: there are open, in_progress, blocked and closed", status)
}

func printList(cmd *cobra.Command, tenant string, list []Issue) {
	if len(list) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "no issues in tenant %s\n", cli.Printable(tenant))
		return
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATUS\tKIND\tUPDATED\tTITLE")
	for _, i := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", i.ID, i.Status, i.Kind, clock(i.Updated), cell(i.Title))
	}
	w.Flush()
}

// cell returns s for a table: short, on one line.
func cell(s string) string {
	if runes := []rune(s); len(runes) > 80 {
		s = string(runes[:79]) + "…"
	}
	return cli.Printable(oneLine(s))
}

// oneLine keeps an id, which may have any character, from making lines of its
// own.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func showCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show an issue with its events and changes",
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

// String returns the details for people.
func (d Details) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", d.ID, d.Title)
	fmt.Fprintf(&b, "  %s, %s issue of run %s, tenant %s\n", d.Status, d.Kind, oneLine(d.Run), oneLine(d.Tenant))
	for line := range strings.Lines(d.Description) {
		fmt.Fprintf(&b, "  %s\n", strings.TrimRight(line, "\n"))
	}
	for _, l := range d.Links {
		fmt.Fprintf(&b, "  %s %s\n", l.Type, l.ID)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "  - %s\n", n)
	}
	fmt.Fprintln(&b, "changes")
	for _, t := range d.Transitions {
		fmt.Fprintf(&b, "  %s  %-11s  %s\n", clock(t.At), t.To, oneLine(t.Reason+" (event "+t.Event+")"))
		if t.Refused != "" {
			fmt.Fprintf(&b, "    refused: %s\n", t.Refused)
		}
	}
	fmt.Fprintf(&b, "events: %d\n", len(d.Events))
	return b.String()
}

func whyCommand(shared *cli.Shared) *cobra.Command {
	return &cobra.Command{
		Use:   "why ISSUE|EVENT",
		Short: "Say why an issue is as it is, or what became of an event",
		Example: `  tracker why ht-0c3k9w1x2y4z5
  tracker why 0198c0de-0000-7000-8000-000000000001 --tenant acme`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			x, err := Why(cmd.Context(), shared.DataDir, shared.TenantOrDefault(), args[0])
			if err != nil {
				return err
			}
			if shared.JSON {
				return cli.PrintJSON(cmd, x)
			}
			fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(strings.Join(x.Paragraphs(), "\n\n")))
			return nil
		},
	}
}
