package claude_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// TestEvents_SubAgentFiles checks that the file of a sub-agent is a run below its
// session.
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

// TestEvents_Individual checks that excerpts of one line have no faults.
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
	t.Run("FiveSnapshots", func(t *testing.T) { ingesttest.Grow(t, claude.Events, "full.jsonl", snapshots) })
	t.Run("EveryLine", func(t *testing.T) {
		lines := bytes.SplitAfter(snapshots[2], []byte("\n"))
		var cuts [][]byte
		for n := 6; n <= len(lines); n += 2 {
			cuts = append(cuts, bytes.Join(lines[:n], nil))
		}
		ingesttest.Grow(t, claude.Events, "full.jsonl", cuts)
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
		ingesttest.Grow(t, claude.Events, "full.jsonl", append(cuts, data))
	})
}
