// Package consumer provides code for the commands of several consumers.
package consumer

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// Drain calls run, which must read the stream to its end, with a progress bar in *progress.
func Drain(cmd *cobra.Command, label string, progress *func(consume.Progress), run func() error) error {
	bar := cli.NewProgress(cmd.ErrOrStderr(), label)
	defer bar.Finish()
	*progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	return run()
}
