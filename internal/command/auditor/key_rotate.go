package auditor

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func rotateCommand(shared *cli.Shared) *cobra.Command {
	var f ordering
	var destroy bool
	cmd := &cobra.Command{
		Use:   "rotate --reason WHY",
		Short: "Put a new signing key in the place of the present one",
		Long: `Make a new signing key and put it in the place of the present one, for all ledgers
of the data directory. The auditor must not run: stop it, rotate, start it again. It
sends the orders that change the key, signed by the old key and the new one, when it
starts: each is a record of its ledger, from which on the old key counts no more.

Whoever verifies with the old key, or with an older one, comes to the new one by
these records, and verify tells. Give out the new ledger.pub all the same: a thief
of the old key can still make a ledger that ends before them. Copy the keys folder
to each standby, and the new key into the policies of witnesses.

The old key goes to keys/retired. Nothing needs it any more: with --destroy it is
removed.

When it was interrupted the key in place is the old one or the new one, whole, and
the command can be repeated.`,
		Example: `  auditor key rotate --reason "every year"
  auditor key rotate --reason "the old host was sold" --ticket SEC-7 --destroy`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.order(events.AuditKey)
			if err != nil {
				return err
			}
			done, err := auditor.RotateKey(shared.DataDir, o, destroy)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, done, func(out io.Writer) {
				fmt.Fprintf(out, "%s\n%s has replaced %s\n", done.Key, done.To, done.From)
				fmt.Fprintf(out, "%s: auditor serve sends the orders when it starts\n", plural(int64(done.Ledgers), "ledger", "ledgers"))
				if done.Retired != "" {
					fmt.Fprintf(out, "the old key is in %s and is no longer needed\n", cli.Printable(done.Retired))
				}
			})
		},
	}
	f.purpose.register(cmd.Flags())
	cmd.Flags().BoolVar(&destroy, "destroy", false, "remove the old key instead of keeping it in keys/retired")
	return cmd
}
