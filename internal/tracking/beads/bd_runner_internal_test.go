package beads

import (
	"slices"
	"testing"
)

// TestEnvironment_SendsNothing tests that bd and its database are told not to report
// their use. Each reads another variable.
func TestEnvironment_SendsNothing(t *testing.T) {
	env := new(runner).environment(t.TempDir())
	for _, name := range []string{"DOLT_METRICS_DISABLED", "DOLT_DISABLE_EVENT_FLUSH", "BD_DISABLE_METRICS", "DO_NOT_TRACK"} {
		if !slices.Contains(env, name+"=1") {
			t.Errorf("%s is not set", name)
		}
	}
}
