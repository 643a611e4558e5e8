package auditor

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func rotateCommand(shared *cli.Shared, known *knownLedgers) *cobra.Command {
	var f orderFlags
	var destroy bool
	var signer string
	cmd := &cobra.Command{
		Use:   "rotate --reason WHY",
		Short: "Replace the signing key",
		Long: `Create a new signing key and replace the current one for all ledgers of the data
directory. Stop the auditor first, and start it afterwards. When it starts, it sends
an order for each ledger that changes the key. The order is signed by the old key and
the new one. After that record, the old key is not valid for the ledger.

Verification with the old key or an older one follows these records to the new key,
and reports them. Distribute the new ledger.pub anyway, because a thief of the old
key can still make a ledger that ends before these records. Copy the keys folder to
each standby, and the new key into the policies of witnesses.

The old key moves to keys/retired. It is no longer needed, and --destroy removes it.

With --signer ssh-agent:FINGERPRINT the new key is an Ed25519 key of the ssh-agent at
SSH_AUTH_SOCK, and with --signer file it is a new file. If the agent has the old key,
it must be able to sign once more.

If the command is interrupted, the old key or the new key is in place, and the
command can be repeated.`,
		Example: `  auditor key rotate --reason "every year"
  auditor key rotate --reason "the old host was sold" --ticket SEC-7 --destroy
  auditor key rotate --reason "into the token" --signer ssh-agent:SHA256:2NEoJg…`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.order(events.AuditKey)
			if err != nil {
				return err
			}
			done, err := auditor.RotateKey(cmd.Context(), shared.DataDir, o, signer, destroy)
			if err != nil {
				return err
			}
			if err := repin(cmd.Context(), shared, *known, done.Key); err != nil {
				shared.Logger(cmd).WarnContext(cmd.Context(), "new key not pinned, auditor key pin does it", "error", err)
			}
			return cli.Print(cmd, shared, done, func(out io.Writer) {
				fmt.Fprintf(out, "%s\n%s has replaced %s\n", done.Key, done.To, done.From)
				fmt.Fprintf(out, "%s: auditor serve sends the orders when it starts\n", plural(int64(done.Ledgers), "ledger", "ledgers"))
				if done.Retired != "" {
					fmt.Fprintf(out, "the old key is in %s and is no longer needed\n", termtext.Printable(done.Retired))
				}
			})
		},
	}
	f.purpose.register(cmd.Flags())
	known.register(cmd.Flags())
	cmd.Flags().StringVar(&signer, "signer", "", "`place` of the new key: file, ssh-agent or ssh-agent:FINGERPRINT; default is file")
	cmd.Flags().BoolVar(&destroy, "destroy", false, "remove the old key instead of moving it to keys/retired")
	return cmd
}
