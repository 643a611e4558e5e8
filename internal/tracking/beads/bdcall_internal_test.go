package beads

import (
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

// TestEnvironment_SendsNothing holds that bd, and the database in it, are told to
// report to nobody. Each listens to another name.
func TestEnvironment_SendsNothing(t *testing.T) {
	b, err := NewBD(BDOptions{Dir: t.TempDir(), DB: new(projection.DB)})
	if err != nil {
		t.Fatal(err)
	}
	env := b.environment(t.TempDir())
	for _, name := range []string{"DOLT_METRICS_DISABLED", "DOLT_DISABLE_EVENT_FLUSH", "BD_DISABLE_METRICS", "DO_NOT_TRACK"} {
		if !slices.Contains(env, name+"=1") {
			t.Errorf("%s is not set", name)
		}
	}
}
