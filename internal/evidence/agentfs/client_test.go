package agentfs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type view struct {
	Calls []struct {
		ID         int64
		Name       string
		Status     string
		Parameters any
		Result     any
		Error      *string
	}
	Runs, Steps []struct {
		Key   string
		Value map[string]any
	}
	Files map[string]int
}

func (v view) count(status string) map[string]int {
	n := map[string]int{}
	for _, c := range v.Calls {
		if tool, ok := strings.CutPrefix(c.Name, "tool:"); ok && c.Status == status {
			n[tool]++
		}
	}
	return n
}

func TestClient_ReadsRecordsAndReads(t *testing.T) {
	c := installClient(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	large, err := json.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	l := append(recorded(t), event(t, 12, events.ToolBefore, events.ToolBeforeData{Tool: "Write", Args: large}, call("c9")))
	project(t, dir, l)

	var got view
	c.run(t, "read", path, &got)
	for status, want := range map[string]map[string]int{
		"success": {"Bash": 1, "Glob": 1}, "error": {"Bash": 1, "Read": 1}, "pending": {"Write": 2},
	} {
		if diff := cmp.Diff(want, got.count(status)); diff != "" {
			t.Errorf("calls with status %s (-want +got):\n%s", status, diff)
		}
	}
	if len(got.Runs) != 1 || got.Runs[0].Key != "runs:r1:meta" || got.Runs[0].Value["status"] != "failed" {
		t.Errorf("got runs %v, want the failed r1", got.Runs)
	}
	if len(got.Steps) != 2 {
		t.Errorf("got %d steps, want 2", len(got.Steps))
	}
	if diff := cmp.Diff(map[string]int{"/runs/r1/tools/c9/args.json": len(large)}, got.Files); diff != "" {
		t.Errorf("large payloads (-want +got):\n%s", diff)
	}

	var recorded struct{ ID int64 }
	c.run(t, "record", path, &recorded)
	l = append(l, event(t, 13, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("c9")))
	project(t, dir, l)
	if err := os.RemoveAll(filepath.Join(dir, ".routes")); err != nil {
		t.Fatal(err)
	}
	l = append(l, event(t, 14, events.RunFinished, events.RunFinishedData{Success: true}))
	project(t, dir, l)
	checkOwn(t, c, path, recorded.ID)
	var after view
	c.run(t, "read", path, &after)
	if len(after.Calls) != len(got.Calls)+1 || after.Runs[0].Value["status"] != "completed" {
		t.Errorf("got %d calls and runs %v, want %d and r1 completed", len(after.Calls), after.Runs, len(got.Calls)+1)
	}
	fresh := t.TempDir()
	project(t, fresh, l)
	want, have := dump(t, filepath.Join(fresh, "coder__acme.db")), dump(t, path)
	for _, table := range []string{"values", "files", "rows", "position"} {
		if diff := cmp.Diff(want[table], have[table]); diff != "" {
			t.Errorf("%s (-fresh +recorded into):\n%s", table, diff)
		}
	}
}

func checkOwn(t *testing.T, c client, path string, id int64) {
	t.Helper()
	var own struct {
		Call  []struct{ ID int64 }
		Value map[string]string
		Note  string
	}
	c.run(t, "own", path, &own)
	if len(own.Call) != 1 || own.Call[0].ID != id || own.Value["by"] != "client" || own.Note != "kept" {
		t.Errorf("the client's own rows: got %+v, want them as they were", own)
	}
}

//guarantee:agentfs-busy
func TestClient_HoldsTheFile(t *testing.T) {
	c := installClient(t)
	dir := t.TempDir()
	l := recorded(t)
	project(t, dir, l[:4])
	cmd := c.command(t, "hold", filepath.Join(dir, "coder__acme.db"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("wait for the client: %v", err)
	}
	w := Open(dir, Options{})
	if err := w.Sync(t.Context(), "acme", l); !errors.Is(err, ErrBusy) {
		t.Errorf("while the client has the file: got %v, want %v", err, ErrBusy)
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Errorf("after the client left: %v", err)
	}
	var got view
	c.run(t, "read", filepath.Join(dir, "coder__acme.db"), &got)
	if len(got.Calls) != 9 {
		t.Errorf("got %d calls, want 9", len(got.Calls))
	}
}

// The client lists all tool calls of a recorded transcript.
//
//guarantee:agentfs-read
func TestClient_ListsARecordedSession(t *testing.T) {
	data := realdata.Path(t)
	truth, err := os.ReadFile(filepath.Join(data, "oracle-sessions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	c := installClient(t)
	var best struct {
		File        string         `json:"file"`
		Sessions    []string       `json:"session_ids"`
		Agents      []string       `json:"agent_ids"`
		ByName      map[string]int `json:"tool_calls_by_name"`
		Errors      int            `json:"tool_errors"`
		Unanswered  int            `json:"calls_without_result"`
		Unannounced int            `json:"results_without_call"`
	}
	most := 0
	for line := range bytes.Lines(truth) {
		session := best
		session.ByName, session.Sessions, session.Agents = nil, nil, nil
		if err := json.Unmarshal(line, &session); err != nil {
			t.Fatal(err)
		}
		if len(session.Sessions) == 1 && len(session.Agents) == 0 && session.Unannounced == 0 && session.Errors > most {
			best, most = session, session.Errors
		}
	}
	dir := t.TempDir()
	project(t, dir, imported(t, filepath.Join(data, best.File)))
	var got view
	c.run(t, "read", filepath.Join(dir, "claude-code__acme.db"), &got)
	byName := map[string]int{}
	for _, status := range []string{"success", "error", "pending"} {
		for tool, n := range got.count(status) {
			byName[tool] += n
		}
	}
	if diff := cmp.Diff(best.ByName, byName); diff != "" {
		t.Errorf("calls by name (-want +got):\n%s", diff)
	}
	failures, unanswered := 0, 0
	for _, call := range got.Calls {
		if strings.HasPrefix(call.Name, "tool:") {
			if call.Error != nil {
				failures++
			}
			if call.Status == "pending" {
				unanswered++
			}
		}
	}
	if failures != best.Errors || unanswered != best.Unanswered {
		t.Errorf("got %d failed and %d unanswered calls, want %d and %d", failures, unanswered, best.Errors, best.Unanswered)
	}
	if len(got.Runs) != 1 || got.Runs[0].Key != "runs:"+best.Sessions[0]+":meta" {
		t.Errorf("got %d runs, want %s", len(got.Runs), best.Sessions[0])
	}
}

func imported(t *testing.T, path string) ledger {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var l ledger
	for e, err := range claude.Events(t.Context(), file, ingest.Options{File: filepath.Base(path), Tenant: "acme"}) {
		if err != nil {
			t.Fatal(err)
		}
		l = append(l, e.Encode())
	}
	return l
}
