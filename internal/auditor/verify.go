package auditor

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/cli"
)

func verifyCommand(_ *cli.Shared) *cobra.Command {
	return &cobra.Command{Use: "verify", Short: "Check a ledger", RunE: func(*cobra.Command, []string) error {
		return errors.New("not there yet")
	}}
}
