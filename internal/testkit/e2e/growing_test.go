package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Five growing snapshots of one session, with all consumers in between, give the same as the last
// one alone.
//
//guarantee:import-again
func TestGrowing(t *testing.T) {
	t.Parallel()
	var chain []oracle
	for _, o := range oracles(t) {
		if strings.Contains(o.File, "growing") {
			chain = append(chain, o)
		}
	}
	slices.SortFunc(chain, func(a, b oracle) int { return strings.Compare(a.File, b.File) })
	last := chain[len(chain)-1]

	grown, alone := t.TempDir(), t.TempDir()
	for _, o := range chain {
		run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", grown, path(t, o))
		drain(t, grown)
		run(t, 0, "auditor", "verify", "--data-dir", grown)
	}
	run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", alone, path(t, last))
	drain(t, alone)

	want, got := summaries(t, alone, "default"), summaries(t, grown, "default")
	if diff := cmp.Diff(want, got, sameRun); diff != "" {
		t.Errorf("runs (-last snapshot alone +all of them):\n%s", diff)
	}
	if diff := cmp.Diff(issues(t, alone), issues(t, grown)); diff != "" {
		t.Errorf("issues (-last snapshot alone +all of them):\n%s", diff)
	}
	for _, s := range got {
		if !s.Sealed {
			t.Errorf("run %s is not sealed", s.Run)
		}
	}
}

// sameRun ignores superseded aggregates and the decisions about them.
var sameRun = cmp.Options{
	cmpopts.IgnoreFields(ledger.RunSummary{}, "Events"),
	cmpopts.IgnoreMapEntries(func(k events.Kind, _ int) bool {
		switch k {
		case events.RunFinished, events.RunSealed, events.StepFinished, events.ResponseCompleted, events.IssueDecided:
			return true
		}
		return false
	}),
}

// A second import of the same session adds nothing.
//
//guarantee:import-again
func TestTwice(t *testing.T) {
	o := oracles(t)[0]
	dir := t.TempDir()
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir) // else the second import enrols the outbox
	var sizes []int64
	for range 2 {
		run(t, 0, "publisher", "import", "--format", "claude-code", "--data-dir", dir, path(t, o))
		run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
		c, err := read(t, dir, "default").Newest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, c.Size)
	}
	if sizes[0] != sizes[1] || sizes[0] == 0 {
		t.Errorf("leaves after the first and the second import: got %v, want the same", sizes)
	}
}

// issues returns the issues without the times of their transitions, which depend on the order of
// the snapshots.
func issues(t testing.TB, dir string) []map[string]any {
	t.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(run(t, 0, "tracker", "list", "--json", "--data-dir", dir)), &list); err != nil {
		t.Fatalf("tracker list --json: %v", err)
	}
	return list
}
