package cli

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Confirm returns a function that asks a yes-or-no question, or nil without a terminal.
func Confirm(cmd *cobra.Command) func(question string) bool {
	in, isFile := cmd.InOrStdin().(interface{ Fd() uintptr })
	if !isFile || !term.IsTerminal(int(in.Fd())) || !IsTerminal(cmd.ErrOrStderr()) {
		return nil
	}
	lines := bufio.NewReader(cmd.InOrStdin())
	return func(question string) bool {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
		answer, err := lines.ReadString('\n')
		answer = strings.ToLower(strings.TrimSpace(answer))
		return err == nil && (answer == "y" || answer == "yes")
	}
}
