package claude_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// TestEvents_SubAgentFiles: a sub-agent's file is a run of its own below
// that of its session.
func TestEvents_SubAgentFiles(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(realdata.Path(t), "claude-code", "*", "*", "subagents", "agent-*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("sub-agent files: %v, %v", names, err)
	}
	for _, name := range names {
		list, _ := readFile(t, name)
		session := filepath.Base(filepath.Dir(filepath.Dir(name)))
		agent := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "agent-"), ".jsonl")
		for _, e := range list {
			got := []string{e.Run, e.Subject, e.ParentRun, e.ParentAgent, e.Agent, e.Session}
			want := []string{session + "/" + agent, session + "/" + agent, session, "claude-code", agent, session}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s, %s (-want +got):\n%s", name, e.Type, diff)
			}
		}
	}
}

// TestEvents_Individual: excerpts of one line each are read without a report.
func TestEvents_Individual(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(realdata.Path(t), "claude-code", "*", "individual", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("excerpts: %v, %v", names, err)
	}
	for _, name := range names {
		list, bad := readFile(t, name)
		if len(bad) > 0 || len(list) < 4 {
			t.Errorf("%s: got %d events and %v", filepath.Base(name), len(list), bad)
		}
		checkEvents(t, list)
	}
}

// chain returns the snapshots of one growing session, the shortest first.
func chain(tb testing.TB) [][]byte {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(realdata.Path(tb), "claude-code", "entireio-cli-growing", "*", "*", "full.jsonl"))
	if err != nil || len(names) != 5 {
		tb.Fatalf("snapshots: %v, %v", names, err)
	}
	slices.Sort(names)
	list := make([][]byte, len(names))
	for i, name := range names {
		if list[i], err = os.ReadFile(name); err != nil {
			tb.Fatal(err)
		}
	}
	return list
}

func TestEvents_Growing(t *testing.T) {
	snapshots := chain(t)
	t.Run("FiveSnapshots", func(t *testing.T) { checkGrowing(t, snapshots) })
	t.Run("EveryLine", func(t *testing.T) {
		lines := bytes.SplitAfter(snapshots[2], []byte("\n"))
		var cuts [][]byte
		for n := 6; n <= len(lines); n += 2 {
			cuts = append(cuts, bytes.Join(lines[:n], nil))
		}
		checkGrowing(t, cuts)
	})
	t.Run("TwoSessions", func(t *testing.T) {
		data, err := os.ReadFile(realdata.Path(t, "claude-code", "entireio-cli", "8c-fa910f8ef9-5", "full.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		var cuts [][]byte
		for n := 1; n <= len(lines); n += 29 {
			cuts = append(cuts, bytes.Join(lines[:n], nil))
		}
		checkGrowing(t, append(cuts, data))
	})
}

// checkGrowing imports snapshots one after the other, leaving out ids that came
// before, and checks that the last one alone gives the same: the same events in
// the same order, and of each aggregate the same latest one.
func checkGrowing(t *testing.T, snapshots [][]byte) {
	t.Helper()
	seen := map[string][]byte{}
	var merged []events.Event
	for _, data := range snapshots {
		list, _ := read(t, "full.jsonl", data)
		for _, e := range list {
			if before, ok := seen[e.ID]; !ok {
				seen[e.ID] = e.Encode()
				merged = append(merged, e)
			} else if !bytes.Equal(before, e.Encode()) {
				t.Fatalf("one id, two events:\n%s\n%s", before, e.Encode())
			}
		}
	}
	alone, _ := read(t, "full.jsonl", snapshots[len(snapshots)-1])
	wantPlain, wantLatest := split(t, alone)
	gotPlain, gotLatest := split(t, merged)
	if diff := cmp.Diff(wantPlain, gotPlain); diff != "" {
		t.Errorf("events (-alone +grown):\n%s", diff)
	}
	if diff := cmp.Diff(wantLatest, gotLatest); diff != "" {
		t.Errorf("aggregates (-alone +grown):\n%s", diff)
	}
}

// split returns the ids of plain events, and the id of the latest of each aggregate.
func split(tb testing.TB, list []events.Event) (plain []string, latest map[string]string) {
	tb.Helper()
	latest = map[string]string{}
	for _, e := range list {
		switch e.Kind() {
		case events.RunFinished, events.StepFinished:
			latest[string(e.Kind())+e.Run+e.Step] = e.ID
		case events.ResponseCompleted:
			latest[e.Run+payload[events.ResponseCompletedData](tb, e).Message] = e.ID
		default:
			plain = append(plain, e.ID)
		}
	}
	return plain, latest
}
