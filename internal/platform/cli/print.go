package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Print writes the result of cmd to its stdout: value as JSON if the user asked for
// it with --json, and otherwise the text that text writes. [Execute] reports a text
// that could not be written, so text need not check its writes.
func Print(cmd *cobra.Command, shared *Shared, value any, text func(out io.Writer)) error {
	if shared.JSON {
		return PrintJSON(cmd, value)
	}
	text(cmd.OutOrStdout())
	return nil
}
