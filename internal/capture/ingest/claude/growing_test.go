package claude_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// The file of a sub-agent is a run below its session.
func TestEvents_SubAgentFiles(t *testing.T) {
	for _, name := range ingesttest.Recorded(t, "claude-code/*/*/subagents/agent-*.jsonl") {
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

func TestEvents_Individual(t *testing.T) {
	for _, name := range ingesttest.Recorded(t, "claude-code/*/individual/*.jsonl") {
		list, bad := readFile(t, name)
		if len(bad) > 0 || len(list) < 4 {
			t.Errorf("%s: got %d events and %v", filepath.Base(name), len(list), bad)
		}
		ingesttest.Check(t, list)
	}
}

// chain returns snapshots of a growing session, the shortest first.
func chain(tb testing.TB) [][]byte {
	tb.Helper()
	var list [][]byte
	for _, name := range ingesttest.Recorded(tb, "claude-code/entireio-cli-growing/*/*/full.jsonl") {
		list = append(list, ingesttest.Data(tb, name))
	}
	if len(list) != 5 {
		tb.Fatalf("got %d snapshots, want 5", len(list))
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
		data := ingesttest.Data(t, realdata.Path(t, "claude-code", "entireio-cli", "8c-fa910f8ef9-5", "full.jsonl"))
		lines := bytes.SplitAfter(data, []byte("\n"))
		var cuts [][]byte
		for n := 1; n <= len(lines); n += 29 {
			cuts = append(cuts, bytes.Join(lines[:n], nil))
		}
		ingesttest.Grow(t, claude.Events, "full.jsonl", append(cuts, data))
	})
}
