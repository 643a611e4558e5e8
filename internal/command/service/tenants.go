package service

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Tenants has the flags that decide how many tenants without a key or token the service accepts.
type Tenants struct {
	open  bool
	limit int
}

// Register adds the flags to cmd.
func (t *Tenants) Register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&t.open, "open-tenants", false, "accept every tenant that an event names, each with its own ledger")
	flags.IntVar(&t.limit, "new-tenants", admission.DefaultLimit, "`tenants` without a key (hooktrail tenant add) or token (publisher token create) that are accepted; 0 refuses them")
	cmd.MarkFlagsMutuallyExclusive("open-tenants", "new-tenants")
}

// Policy returns the admission policy for the data directory. nil accepts every tenant. tokenFile
// may be empty.
func (t *Tenants) Policy(shared *cli.Shared, tokenFile string) (*admission.Policy, error) {
	switch {
	case t.limit < 0:
		return nil, cli.Usage("--new-tenants %d: it cannot be negative", t.limit)
	case t.open:
		return nil, nil //nolint:nilnil // nil accepts every tenant
	}
	if tokenFile == "" {
		tokenFile = tokens.Path(shared.DataDir)
	}
	return admission.New(admission.Options{
		Present: withLedger(shared.DataDir),
		Limit:   t.limit,
		Known: func() ([]string, error) {
			known := append([]string(nil), shared.Tenants...)
			keys, err := broker.Tenants(shared.DataDir)
			for _, k := range keys {
				known = append(known, k.Tenant)
			}
			list, unread := tokens.List(tokenFile)
			for _, token := range list {
				known = append(known, token.Tenant)
			}
			return known, errors.Join(err, unread)
		},
	}), nil
}

// withLedger lists the tenants' ledger folders itself. Importing package ledger would make the
// publisher program too large.
func withLedger(dataDir string) (tenants []string) {
	folders, _ := os.ReadDir(filepath.Join(dataDir, "ledger")) // the auditor reports an unreadable folder
	for _, f := range folders {
		if tenant, err := subjects.ParseToken(f.Name()); err == nil && f.IsDir() {
			tenants = append(tenants, tenant)
		}
	}
	return tenants
}
