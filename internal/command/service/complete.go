package service

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// TenantValues lists the tenants with a ledger, by the names of their folders. Long names, which
// are abbreviated there, are missing.
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
