package auditor

import (
	"context"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
)

// maxRuns limits the runs that a shell offers.
const maxRuns = 200

// RunValues lists the runs with the newest records in the ledger of the tenant.
func RunValues(shared *cli.Shared) cli.Values {
	return func(ctx context.Context) (names []string) {
		tenant := shared.TenantOrDefault()
		if n := len(shared.Tenants); n > 0 {
			tenant = shared.Tenants[n-1] // one on the command line follows one from the environment
		}
		r, err := ledger.OpenTenant(auditor.LedgerDir(shared.DataDir), tenant)
		if err != nil {
			return nil
		}
		runs, err := r.Runs(ctx)
		if r.Close() != nil || err != nil {
			return nil
		}
		for _, run := range runs[:min(maxRuns, len(runs))] {
			names = append(names, run.Run)
		}
		return names
	}
}
