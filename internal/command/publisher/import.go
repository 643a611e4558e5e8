package publisher

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/prices"
	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func importCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      publisher.ImportOptions
		lines     strictness
		redaction Redaction
		wait      waiting
		table     string
	)
	cmd := &cobra.Command{
		Use:   "import [--format FORMAT] FILE…",
		Short: "Import transcripts of past runs",
		Long: "import reads the transcripts that agents write: files, patterns, folders with all their\n" +
			"subfolders, and stdin for \"-\". Files may be compressed with gzip. Importing a transcript again\n" +
			"adds only the events that are new since the last time.\n\n" +
			"With --follow it continues with lines that are added to the files, and with new files in the\n" +
			"folders, until it is interrupted. A run is finished once its file has not changed for --rest.\n\n" +
			"A file that looks like another format than --format names is refused, or asked about on a\n" +
			"terminal. --force imports it.\n\n" +
			awaitHelp + "Formats: " + publisher.FormatNames() + ".",
		Example: "  publisher import ~/.claude/projects ~/.codex/sessions\n" +
			"  publisher import --format claude-code --strict --json session.jsonl\n" +
			"  publisher import --follow ~/.claude/projects/my-project\n" +
			"  codex exec --json \"fix the tests\" | publisher import -",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			opts.Paths, opts.Stdin, opts.Confirm = args, cmd.InOrStdin(), cli.Confirm(cmd)
			if err := opts.Validate(); err != nil {
				return cli.Usage("%w", err)
			}
			var err error
			if opts.Prices, err = prices.Load(table, shared.DataDir); err != nil {
				return err
			}
			return broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.PublisherRole), func(b *broker.Broker) error {
				bar := cli.NewProgress(cmd.ErrOrStderr(), "import")
				if opts.Follow {
					bar = nil // the total is unknown with --follow
				}
				opts.Broker, opts.DataDir, opts.Tenant = b, shared.DataDir, shared.TenantOrDefault()
				opts.Redactor, opts.Progress, opts.Logger = redaction.Redactor(), bar.Set, shared.Logger(cmd)
				sum, err := publisher.Import(cmd.Context(), opts)
				bar.Finish()
				if err == nil && !opts.Follow {
					sum.Audited = wait.await(cmd, b, sum.Sent)
				}
				if len(sum.Files) > 0 || err == nil || shared.JSON {
					err = errors.Join(err, printImport(cmd, shared, sum))
				}
				return lines.check(err, sum.Malformed)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.Format, "format", publisher.AutoFormat, "`format` of the transcripts; auto detects it for each file")
	flags.StringVar(&table, "prices", "", "JSON `file` with the prices of models, for runs that state no cost; prices.json in the data directory, or the built-in table if empty")
	flags.BoolVar(&opts.Force, "force", false, "with --format: import a file also if it looks like another format")
	flags.BoolVar(&opts.Follow, "follow", false, "go on with added lines, and with new files in the folders")
	flags.DurationVar(&opts.Rest, "rest", publisher.DefaultRest, "with --follow: `time` without a change after which the runs of a file are finished")
	lines.register(cmd)
	wait.register(cmd)
	redaction.Register(cmd)
	return cmd
}
