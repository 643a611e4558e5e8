package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Print writes the result of cmd to its stdout as JSON of value with --json, and
// otherwise with text. [Execute] reports failed writes, so text need not check them.
func Print(cmd *cobra.Command, shared *Shared, value any, text func(out io.Writer)) error {
	if shared.JSON {
		return PrintJSON(cmd, value)
	}
	text(cmd.OutOrStdout())
	return nil
}
