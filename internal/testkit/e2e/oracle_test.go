package e2e

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// drawn returns all, or every third one under the race detector.
func drawn(all []oracle) (some []oracle) {
	for i := 0; i < len(all); i += race.Size(1, 3) {
		some = append(some, all[i])
	}
	return some
}

// Every recorded session, imported into a separate tenant, gives a verified ledger with the
// oracle's values.
func TestOracle(t *testing.T) {
	t.Parallel()
	all := drawn(oracles(t))
	dir := t.TempDir()
	server := start(t, nil, "server", "--data-dir", dir)
	for _, o := range all {
		run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", dir, "--tenant", tenantOf(o), path(t, o))
	}
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	server.kill()
	for _, o := range all {
		t.Run(tenantOf(o), func(t *testing.T) {
			checkOracle(t, dir, o)
			run(t, 0, "auditor", "verify", "--data-dir", dir, "--tenant", tenantOf(o))
		})
	}
}
