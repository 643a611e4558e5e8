package auditor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

type keyShown struct {
	ID      string              `json:"id"` // short name in reports
	Key     string              `json:"key"`
	Ledgers []logOrigin         `json:"ledgers"`
	Changes []ledger.KeyChanged `json:"changes,omitempty"` // oldest first
	Anchor  *verifier.Anchor    `json:"anchor"`            // this user's pin for the key
}

type logOrigin struct {
	Tenant string `json:"tenant"`
	Origin string `json:"origin"` // first line of its checkpoints
}

func keyCommand(shared *cli.Shared) *cobra.Command {
	var known knownLedgers
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Show the verifier key and the origins of the ledgers",
		Long: `Print the verifier key of the data directory and the origin of each ledger, or only
of the ledger of --tenant. A witness or monitor needs both to watch a ledger. The
command does not read the signing key.

If the key was changed (auditor key rotate), the changes follow. The last line says
whether this user has pinned the key (auditor key pin).`,
		Example: `  auditor key
  auditor key --json | jq -r .key > ledger.pub`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shown, err := showKey(shared)
			if err != nil {
				return err
			}
			if shown.Anchor, err = known.anchorOf(shared.DataDir, shown.Key); err != nil {
				return err
			}
			return cli.Print(cmd, shared, shown, func(out io.Writer) {
				fmt.Fprintf(out, "%s\n", shown.Key)
				for _, l := range shown.Ledgers {
					fmt.Fprintf(out, "origin %s\n", l.Origin)
				}
				for _, c := range shown.Changes {
					fmt.Fprintf(out, "%s %s replaced %s, by %s: %s\n", c.Time.Format(time.RFC3339), c.To, c.From,
						termtext.Printable(c.By), termtext.Printable(oneLine(c.Reason)))
				}
				fmt.Fprintf(out, "anchor %s %s\n", shown.Anchor.State, termtext.Printable(AnchorText(shown.Anchor)))
			})
		},
	}
	known.register(cmd.Flags())
	cmd.AddCommand(rotateCommand(shared, &known), pinCommand(shared, &known))
	return cmd
}

func showKey(shared *cli.Shared) (keyShown, error) {
	key, text, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if errors.Is(err, os.ErrNotExist) {
		return keyShown{}, fmt.Errorf("%w (the first start of auditor serve creates it in %s)", err, filepath.Clean(auditor.KeyDir(shared.DataDir)))
	}
	if err != nil {
		return keyShown{}, err
	}
	tenants, err := ledger.Tenants(auditor.LedgerDir(shared.DataDir))
	if err != nil {
		return keyShown{}, err
	}
	if shared.Tenant != "" {
		tenants = []string{shared.Tenant}
	}
	changes, err := ledger.ReadKeyChanges(auditor.KeyDir(shared.DataDir))
	if err != nil {
		return keyShown{}, err
	}
	shown := keyShown{Changes: changes, ID: ledger.KeyID(key), Key: text, Ledgers: make([]logOrigin, 0, len(tenants))}
	for _, tenant := range tenants {
		origin, err := ledger.Origin(tenant)
		if err != nil {
			return keyShown{}, cli.Usage("%w", err)
		}
		shown.Ledgers = append(shown.Ledgers, logOrigin{Tenant: tenant, Origin: origin})
	}
	return shown, nil
}
