package beads

import (
	"slices"
	"testing"
)

// bd and its database read different variables.
func TestEnvironment_SendsNothing(t *testing.T) {
	env := new(runner).environment(t.TempDir())
	for _, name := range []string{"DOLT_METRICS_DISABLED", "DOLT_DISABLE_EVENT_FLUSH", "BD_DISABLE_METRICS", "DO_NOT_TRACK"} {
		if !slices.Contains(env, name+"=1") {
			t.Errorf("%s is not set", name)
		}
	}
}
