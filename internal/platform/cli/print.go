package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Print writes the result of cmd to stdout. With --json it writes value as JSON. Otherwise it calls
// text. The function text does not have to check its writes, because [Execute] reports failed ones.
func Print(cmd *cobra.Command, shared *Shared, value any, text func(out io.Writer)) error {
	if shared.JSON {
		return PrintJSON(cmd, value)
	}
	text(cmd.OutOrStdout())
	return nil
}
