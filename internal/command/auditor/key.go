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
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// keyShown is what others need to know to check, or to witness, the ledgers.
type keyShown struct {
	ID      string              `json:"id"`  // as reports name it
	Key     string              `json:"key"` // verifier key
	Ledgers []logOrigin         `json:"ledgers"`
	Changes []ledger.KeyChanged `json:"changes,omitempty"` // that led to it, the oldest first
}

// logOrigin is a ledger as witnesses and monitors know it.
type logOrigin struct {
	Tenant string `json:"tenant"`
	Origin string `json:"origin"` // first line of its checkpoints
}

func keyCommand(shared *cli.Shared) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Show the verifier key, and what witnesses and monitors have to know",
		Long: `Print the verifier key of the data directory, and of each ledger the origin: the
two that a witness or monitor needs to watch it. With --tenant of that one alone.
It reads ledger.pub and the names of the ledgers; the signing key is not touched.

Where the key was changed (auditor key rotate) the changes that led to it follow.`,
		Example: `  auditor key
  auditor key --json | jq -r .key > ledger.pub`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			shown, err := showKey(shared)
			if err != nil {
				return err
			}
			return cli.Print(cmd, shared, shown, func(out io.Writer) {
				fmt.Fprintf(out, "%s\n", shown.Key)
				for _, l := range shown.Ledgers {
					fmt.Fprintf(out, "origin %s\n", l.Origin)
				}
				for _, c := range shown.Changes {
					fmt.Fprintf(out, "%s %s replaced %s, by %s: %s\n", c.Time.Format(time.RFC3339), c.To, c.From,
						cli.Printable(c.By), cli.Printable(oneLine(c.Reason)))
				}
			})
		},
	}
	cmd.AddCommand(rotateCommand(shared))
	return cmd
}

func showKey(shared *cli.Shared) (keyShown, error) {
	verifier, text, err := ledger.ReadVerifier(auditor.KeyDir(shared.DataDir))
	if errors.Is(err, os.ErrNotExist) {
		return keyShown{}, fmt.Errorf("%w (the first start of auditor serve makes it, in %s)", err, filepath.Clean(auditor.KeyDir(shared.DataDir)))
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
	shown := keyShown{Changes: changes, ID: ledger.KeyID(verifier), Key: text, Ledgers: make([]logOrigin, 0, len(tenants))}
	for _, tenant := range tenants {
		origin, err := ledger.Origin(tenant)
		if err != nil {
			return keyShown{}, cli.Usage("%w", err)
		}
		shown.Ledgers = append(shown.Ledgers, logOrigin{Tenant: tenant, Origin: origin})
	}
	return shown, nil
}
