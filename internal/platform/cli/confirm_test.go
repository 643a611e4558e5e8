package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Confirm asks only on a terminal.
func TestConfirm(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetIn(strings.NewReader("y\n"))
	if Confirm(cmd) != nil {
		t.Error("a pipe was asked")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !IsTerminal(terminal) {
		t.Skip("no terminal can be made here")
	}
	defer terminal.Close()
	cmd.SetIn(terminal)
	cmd.SetErr(terminal)
	if Confirm(cmd) == nil {
		t.Error("a terminal was not asked")
	}
}
