package tracker

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// importSession folds a transcript like an import.
func importSession(tb testing.TB, s *rules.State, name string, c rules.Config) {
	tb.Helper()
	f, err := os.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	for e, err := range claude.Events(tb.Context(), f, ingest.Options{File: name, Tenant: "acme"}) {
		if err != nil {
			continue // a malformed line
		}
		if _, err := s.Apply(e, c); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestGrowingSession imports the snapshots of a growing session in turn. The issues must be those
// of the last one.
func TestGrowingSession(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(realdata.Path(t, "claude-code", "entireio-cli-growing"), "*", "*", "full.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no growing session: %v", err)
	}
	for _, bar := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("Complexity", bar), func(t *testing.T) {
			c := rules.DefaultConfig()
			c.Complexity = bar
			c.Signs.Steps = 2
			var growing, last rules.State
			for _, name := range names {
				importSession(t, &growing, name, c)
			}
			importSession(t, &last, names[len(names)-1], c)
			// Each report of a step is another event.
			counted := cmpopts.IgnoreFields(rules.Issue{}, "Count")
			if diff := cmp.Diff(last.Issues(), growing.Issues(), counted); diff != "" {
				t.Errorf("issues (-last +growing):\n%s", diff)
			}
			if want := 1; bar < 3 && len(last.Issues()) < want {
				t.Errorf("got %d issues, want %d", len(last.Issues()), want)
			}
		})
	}
}
