package e2e

import (
	"context"
	"maps"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func read(t testing.TB, dir, tenant string) *ledger.Reader {
	t.Helper()
	file, err := ledger.Path(filepath.Join(dir, "ledger"), tenant)
	if err != nil {
		t.Fatal(err)
	}
	r, err := ledger.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close ledger of %s: %v", tenant, err)
		}
	})
	return r
}

func summaries(t testing.TB, dir, tenant string) map[string]ledger.RunSummary {
	t.Helper()
	r := read(t, dir, tenant)
	runs, err := r.Runs(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]ledger.RunSummary, len(runs))
	for _, run := range runs {
		if all[run.Run], err = r.Summary(context.Background(), run.Run); err != nil {
			t.Fatalf("run %s: %v", run.Run, err)
		}
	}
	return all
}

type facts struct {
	ToolCalls  map[string]int
	Errors     int
	Unanswered int
	Tokens     events.Tokens
}

func checkOracle(t testing.TB, dir string, o oracle) {
	t.Helper()
	got := facts{ToolCalls: map[string]int{}}
	for _, s := range summaries(t, dir, tenantOf(o)) {
		for tool, n := range s.ToolCallsByName {
			got.ToolCalls[tool] += n
		}
		got.Errors += s.ToolErrors + s.ToolDenied + s.ToolInterrupted
		got.Unanswered += s.Unanswered
		got.Tokens = got.Tokens.Plus(s.Tokens)
	}
	want := facts{
		ToolCalls: maps.Clone(o.ToolCallsByName), Errors: o.ToolErrors, Unanswered: o.CallsWithoutResult,
		Tokens: events.Tokens{
			Input: o.Tokens.Input, Output: o.Tokens.Output,
			CacheCreation: o.Tokens.CacheCreation, CacheRead: o.Tokens.CacheRead,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s in the ledger (-oracle +ledger):\n%s", o.File, diff)
	}
}
