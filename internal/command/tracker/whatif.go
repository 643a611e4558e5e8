package tracker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/configfile"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

type dialFunc func(cmd *cobra.Command, do func(*broker.Broker) error) error

type whatif struct {
	dial     dialFunc
	events   string
	config   string
	against  string
	examples int
	defaults bool
}

func whatifCommand(shared *cli.Shared, dial dialFunc) *cobra.Command {
	w := whatif{dial: dial}
	cmd := &cobra.Command{
		Use:   "whatif --events FILE [--config FILE] | --config FILE | --defaults",
		Short: "Replay a history as the tracker would, under another configuration",
		Long: `Replay a history as the tracker would, and print the issues and decisions. The
command publishes nothing and changes no issue.

With --events, the history is a file of CloudEvents with one event per line. Use "-"
for stdin. The lines must be in the order of arrival. No server is needed. At the end
of the file, the grace period of every waiting failure ends. Invalid lines are
reported, all other lines are replayed, and the exit status is 1.

Without --events, the history is the stream, as far as the tracker has read it. The
first line of the output says whether today's configuration reproduces today's
issues exactly.

With --config, the history is also replayed under today's configuration. The command
prints the issues that are gained, lost and changed, and the decisions that differ.
Today's configuration is the one in --against, else the one that the tracker uses,
else the defaults.`,
		Example: `  tracker whatif --events history.jsonl
  tracker whatif --defaults > new.yaml
  auditor replay --from 2026-01-01 --to 2027-01-01 | tracker whatif --events - --json
  tracker whatif --config new.yaml
  tracker whatif --events history.jsonl --config new.yaml --against serve.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case w.defaults:
				fmt.Fprint(cmd.OutOrStdout(), configfile.Default())
				return nil
			case w.events == "" && w.config == "":
				return cli.Usage("set --events to name a history, or --config to name a configuration")
			case w.against != "" && w.config == "":
				return cli.Usage("--against needs --config, which it is compared with")
			case w.examples < 0:
				return cli.Usage("--examples %d: want 0 or more", w.examples)
			}
			return w.run(cmd, shared)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&w.events, "events", "", "`file` of CloudEvents, one per line, \"-\" for stdin; default is the stream")
	flags.StringVar(&w.config, "config", "", "YAML `file` with the configuration to try")
	flags.StringVar(&w.against, "against", "", "`file` with today's configuration; default is the tracker's")
	flags.BoolVar(&w.defaults, "defaults", false, "print the default configuration with the meaning of each limit, then exit")
	flags.IntVar(&w.examples, "examples", 10, "`number` of examples of each difference")
	return cmd
}

func (w *whatif) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	configs, err := w.configs(cmd.Context(), shared.DataDir)
	if err != nil {
		return err
	}
	var replays []*replay.Replay
	defer func() {
		for _, r := range replays {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, c := range configs {
		r, err := replay.New(c)
		if err != nil {
			return err
		}
		replays = append(replays, r)
	}
	if w.events == "" {
		return w.runStream(cmd, shared, replays[0], replays[1])
	}
	return w.runInput(cmd, shared, replays)
}

func (w *whatif) configs(ctx context.Context, dataDir string) ([]rules.Config, error) {
	base, err := w.todaysConfig(ctx, dataDir)
	if err != nil || w.config == "" {
		return []rules.Config{base}, err
	}
	changed, err := store.LoadConfig(w.config)
	return []rules.Config{base, changed}, err
}

func (w *whatif) todaysConfig(ctx context.Context, dataDir string) (rules.Config, error) {
	if w.against != "" {
		return store.LoadConfig(w.against)
	}
	if w.events != "" && w.config == "" {
		return rules.DefaultConfig(), nil
	}
	return store.CurrentConfig(ctx, dataDir)
}

func (w *whatif) runInput(cmd *cobra.Command, shared *cli.Shared, replays []*replay.Replay) error {
	input := replay.Input{
		Path: w.events, Stdin: cmd.InOrStdin(), Tenant: shared.TenantOrDefault(), Only: shared.Tenant,
		Bar: cli.NewProgress(cmd.ErrOrStderr(), "whatif"),
	}
	bad, err := input.Fold(cmd.Context(), replays...)
	if err != nil {
		return err
	}
	if err := w.printInput(cmd.OutOrStdout(), shared.JSON, replays); err != nil {
		return err
	}
	return bad.Err()
}

func (w *whatif) printInput(out io.Writer, asJSON bool, replays []*replay.Replay) error {
	last := replays[len(replays)-1]
	var c *replay.Comparison
	if len(replays) > 1 {
		compared, err := replay.Compare(replays[0], last, w.examples)
		if err != nil {
			return err
		}
		c = &compared
	}
	if asJSON {
		return last.WriteJSON(out, c)
	}
	return printOutcome(out, last, c)
}

func (w *whatif) runStream(cmd *cobra.Command, shared *cli.Shared, base, changed *replay.Replay) error {
	stream := replay.Stream{
		DataDir: shared.DataDir, Tenant: shared.Tenant, Examples: w.examples,
		Dial: func(do func(*broker.Broker) error) error { return w.dial(cmd, do) },
		Bar:  cli.NewProgress(cmd.ErrOrStderr(), "whatif"),
	}
	result, err := stream.Compare(cmd.Context(), base, changed)
	if err != nil {
		return err
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, result)
	}
	printReproduction(cmd.OutOrStdout(), result)
	printComparison(cmd.OutOrStdout(), result.Comparison)
	return nil
}
