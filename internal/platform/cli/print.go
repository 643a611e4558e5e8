package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// Print writes value to stdout as JSON if the flag --json is set. Otherwise it calls text. The
// function text can ignore write errors, because [Execute] reports them.
func Print(cmd *cobra.Command, shared *Shared, value any, text func(out io.Writer)) error {
	if shared.JSON {
		return PrintJSON(cmd, value)
	}
	text(cmd.OutOrStdout())
	return nil
}
