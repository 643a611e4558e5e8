package replay

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// Dial calls do with a connection that has a tracker's rights.
type Dial func(cmd *cobra.Command, do func(*broker.Broker) error) error

// whatif are the flags of the command, and how it connects.
type whatif struct {
	dial     Dial
	events   string
	config   string
	against  string
	examples int
	defaults bool
}

// Command returns the command whatif. Without --events it connects with dial.
func Command(shared *cli.Shared, dial Dial) *cobra.Command {
	w := whatif{dial: dial}
	cmd := &cobra.Command{
		Use:   "whatif --events FILE [--config FILE] | --config FILE | --defaults",
		Short: "Fold a history as the tracker would, under another configuration",
		Long: `Fold a history as the tracker would, and say what it comes to. Nothing is published
and no issue is touched.

With --events the history is a file of CloudEvents, one per line ("-" is stdin), in
the order in which they are to arrive; no server is needed. The end of the file
releases the failures that are held. Lines that are no events are told, all others
are folded, and the exit status is 1 then.

Without --events it is the stream, as far as the tracker has read it. The first
line says whether today's configuration comes to today's issues exactly.

With --config the history is folded under today's configuration too: printed are the
issues gained and lost, those that come out otherwise, and the decisions that
differ. Today's configuration is the tracker's own, or --against, or the defaults.`,
		Example: `  tracker whatif --events history.jsonl
  tracker whatif --defaults > new.yaml
  auditor export --format jsonl | tracker whatif --events - --json
  tracker whatif --config new.yaml
  tracker whatif --events history.jsonl --config new.yaml --against serve.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case w.defaults:
				fmt.Fprint(cmd.OutOrStdout(), rules.DefaultYAML())
				return nil
			case w.events == "" && w.config == "":
				return cli.Usage("say which history, with --events, or under which configuration, with --config")
			case w.against != "" && w.config == "":
				return cli.Usage("--against: it is what --config is compared with")
			case w.examples < 0:
				return cli.Usage("--examples %d: want 0 or more", w.examples)
			}
			return w.run(cmd, shared)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&w.events, "events", "", "`file` of CloudEvents, one per line, \"-\" for stdin; without it the stream")
	flags.StringVar(&w.config, "config", "", "`file` with the configuration to try, in YAML")
	flags.StringVar(&w.against, "against", "", "`file` with today's configuration; default is the tracker's own")
	flags.BoolVar(&w.defaults, "defaults", false, "print the default configuration, with what each limit means, and do nothing")
	flags.IntVar(&w.examples, "examples", 10, "`number` of examples of each difference")
	return cmd
}

func (w *whatif) run(cmd *cobra.Command, shared *cli.Shared) (err error) {
	configs, err := w.configs(cmd.Context(), shared.DataDir)
	if err != nil {
		return err
	}
	var replays []*Replay
	defer func() {
		for _, r := range replays {
			err = errors.Join(err, r.Close())
		}
	}()
	for _, c := range configs {
		r, err := New(c)
		if err != nil {
			return err
		}
		replays = append(replays, r)
	}
	if w.events == "" {
		return w.ofStream(cmd, shared, replays[0], replays[1])
	}
	return w.ofInput(cmd, shared, replays)
}

// configs returns today's configuration and, if there is one, that to try.
func (w *whatif) configs(ctx context.Context, dataDir string) ([]rules.Config, error) {
	base, err := w.todaysConfig(ctx, dataDir)
	if err != nil || w.config == "" {
		return []rules.Config{base}, err
	}
	changed, err := store.LoadConfig(w.config)
	return []rules.Config{base, changed}, err
}

// ofInput folds a file, prints what it comes to, and fails if some of its lines
// were no events.
func (w *whatif) ofInput(cmd *cobra.Command, shared *cli.Shared, replays []*Replay) error {
	input := Input{
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

func (w *whatif) printInput(out io.Writer, asJSON bool, replays []*Replay) error {
	last := replays[len(replays)-1]
	var c *Comparison
	if len(replays) > 1 {
		compared, err := compare(replays[0], last, w.examples)
		if err != nil {
			return err
		}
		c = &compared
	}
	if !asJSON {
		return printOutcome(out, last, c)
	}
	return writeOutcome(out, last, func(j *jsonWriter) {
		if c != nil {
			j.member("against", c)
		}
	})
}

// StreamComparison is what another configuration would have made of the stream.
type StreamComparison struct {
	// Reproduced says whether today's configuration comes to the tracker's issues.
	Reproduced Reproduction `json:"reproduced"`
	Comparison
}

// ofStream folds the stream under today's configuration and the new one.
func (w *whatif) ofStream(cmd *cobra.Command, shared *cli.Shared, base, changed *Replay) error {
	now, err := takeToday(cmd.Context(), shared.DataDir, shared.Tenant, base.conn)
	if err != nil {
		return err
	}
	result := StreamComparison{}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "whatif")
	err = w.dial(cmd, func(b *broker.Broker) error {
		s, err := openStream(cmd.Context(), b, now.position)
		if err != nil {
			return err
		}
		defer bar.Finish()
		if s.gone {
			result.Reproduced.Reason = fmt.Sprintf("the stream does not go back further than message %d: what it had before is expired", s.first)
		}
		_, err = fold(s.events(cmd.Context(), bar).ofTenant(shared.Tenant), false, "stream", base, changed)
		return err
	})
	if err != nil {
		return err
	}
	why := result.Reproduced.Reason
	if result.Reproduced, err = now.reproduced(base, w.examples); err != nil {
		return err
	}
	if result.Reproduced.Reason = why; !now.found {
		result.Reproduced.Reason = "no tracker was at work in this data directory"
	}
	if result.Comparison, err = compare(base, changed, w.examples); err != nil {
		return err
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, result)
	}
	printReproduction(cmd.OutOrStdout(), result)
	printComparison(cmd.OutOrStdout(), result.Comparison)
	return nil
}

// todaysConfig returns the configuration that the new one is compared with.
func (w *whatif) todaysConfig(ctx context.Context, dataDir string) (rules.Config, error) {
	if w.against != "" {
		return store.LoadConfig(w.against)
	}
	if w.events != "" && w.config == "" {
		return rules.DefaultConfig(), nil
	}
	return store.CurrentConfig(ctx, dataDir)
}
