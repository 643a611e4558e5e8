package tracker

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

func rebuildCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts  RebuildOptions
		setup Setup
	)
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make the same issues again from the stream",
		Long: `Make the tracker's file anew from the stream, and put it in the place of the old
one when it is complete. Under the same configuration the same issues come out.
Nothing is published. What people did to issues comes from the stream too; what
they wrote into them stays.

Under another --config all of the history is decided anew under that, while serve
keeps what was decided and takes only new events under it. What is no issue any
more is closed in the workspace.

Where the stream does not have its beginning any more, or lacks events that were
decided on, nothing is changed: issues that only those events made would be lost.
--partial rebuilds from what is left. No tracker may run on the data directory.`,
		Example: `  tracker rebuild
  tracker rebuild --config tracker.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return setup.connected(cmd, shared, &opts.Options, func() error { return rebuild(cmd, shared, opts) })
		},
	}
	cmd.Flags().BoolVar(&opts.Partial, "partial", false, "rebuild from what the stream has, also where that is not all")
	setup.Register(cmd)
	return cmd
}

func rebuild(cmd *cobra.Command, shared *cli.Shared, opts RebuildOptions) error {
	bar := cli.NewProgress(cmd.ErrOrStderr(), "rebuild")
	opts.Progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	done, err := Rebuild(cmd.Context(), opts)
	bar.Finish()
	if err != nil {
		return err
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, done)
	}
	fmt.Fprintln(cmd.OutOrStdout(), done)
	return nil
}

// String returns it for people.
func (r Rebuilt) String() string {
	s := fmt.Sprintf("%d issues from %d messages", r.Issues, r.Events)
	switch {
	case r.Gone < 0:
		return s + "; compared with nothing: there is no file from before that can be read"
	case len(r.Gained)+len(r.Lost) == 0:
		s += ", the same as before"
	default:
		s += fmt.Sprintf("; %d were not there before, %d are not there any more", len(r.Gained), len(r.Lost))
	}
	if r.Gone > 0 {
		s += fmt.Sprintf("; %d events that were decided on before are gone from the stream", r.Gone)
	}
	return s
}
