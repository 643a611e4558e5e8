package tracker

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func rebuildCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts  tracker.RebuildOptions
		setup Setup
	)
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild the issues from the stream",
		Long: `Rebuild the tracker's file from the stream, and replace the old file when the new one
is complete. The same configuration gives the same issues. Nothing is published. Edits
by people are replayed from the stream, and texts that people wrote into issues stay.

With another --config, the whole history is decided under the new limits. In contrast,
"tracker serve" applies new limits to new events only. Issues that no longer exist are
closed in the workspace.

Rebuild changes nothing if the stream has lost its first messages, or other events that
the tracker has decided on, because issues would be lost. With --partial it rebuilds
from the events that are left. Stop the tracker on this data directory first.`,
		Example: `  tracker rebuild
  tracker rebuild --config tracker.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return setup.connected(cmd, shared, &opts.Options, false, func() error { return rebuild(cmd, shared, opts) })
		},
	}
	cmd.Flags().BoolVar(&opts.Partial, "partial", false, "rebuild even if the stream has lost events")
	setup.Register(cmd)
	return cmd
}

func rebuild(cmd *cobra.Command, shared *cli.Shared, opts tracker.RebuildOptions) error {
	bar := cli.NewProgress(cmd.ErrOrStderr(), "rebuild")
	opts.Progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	done, err := tracker.Rebuild(cmd.Context(), opts)
	bar.Finish()
	if err != nil {
		return err
	}
	return cli.Print(cmd, shared, done, func(out io.Writer) { fmt.Fprintln(out, rebuiltText(done)) })
}

func rebuiltText(r tracker.Rebuilt) string {
	s := fmt.Sprintf("%d issues from %d messages", r.Issues, r.Events)
	switch {
	case r.Gone < 0:
		return s + "; not compared, because there was no readable file before"
	case len(r.Gained)+len(r.Lost) == 0:
		s += ", the same as before"
	default:
		s += fmt.Sprintf("; %d are new, %d no longer exist", len(r.Gained), len(r.Lost))
	}
	if r.Gone > 0 {
		s += fmt.Sprintf("; the stream has lost %d events that were decided on", r.Gone)
	}
	return s
}
