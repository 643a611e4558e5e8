package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// TenantValues completes the names of tenants that have a ledger. It reads the names from the
// ledger folders and omits long names, which the folder names only abbreviate.
func TenantValues(shared *cli.Shared) cli.Values {
	return func(context.Context) (tenants []string) {
		folders, err := os.ReadDir(filepath.Join(shared.DataDir, "ledger"))
		if err != nil {
			return nil
		}
		for _, f := range folders {
			if tenant, err := subjects.ParseToken(f.Name()); err == nil && f.IsDir() {
				tenants = append(tenants, tenant)
			}
		}
		slices.Sort(tenants)
		return tenants
	}
}
