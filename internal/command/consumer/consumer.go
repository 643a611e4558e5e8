// Package consumer contains the code that the commands of all stream consumers share, such as the
// auditor and the tracker.
package consumer

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// Drain calls run and shows a progress bar until run returns. run must read the stream to the end
// and report its position through *progress.
func Drain(cmd *cobra.Command, label string, progress *func(consume.Progress), run func() error) error {
	bar := cli.NewProgress(cmd.ErrOrStderr(), label)
	defer bar.Finish()
	*progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	return run()
}
