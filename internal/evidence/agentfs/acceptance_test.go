package agentfs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type statistics struct {
	Name       string
	Calls      int `json:"total_calls"`
	Successful int
	Failed     int
}

// mixed returns the events of n calls of three tools: calls that succeed, fail, are denied or never
// end, and calls with large, inline or chunked payloads.
func mixed(t *testing.T, n int) (l ledger, want map[string]statistics, files int) {
	t.Helper()
	want = map[string]statistics{}
	large, err := json.Marshal(strings.Repeat("x", maxInline+1))
	if err != nil {
		t.Fatal(err)
	}
	add := func(kind events.Kind, payload any, id string) {
		l = append(l, event(t, len(l), kind, payload, call(id)))
	}
	for i := range n {
		id, tool := fmt.Sprintf("c:%d", i), []string{"Bash", "Read", "mcp__x.y/z"}[i%3]
		before := events.ToolBeforeData{Tool: tool, Args: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))}
		s := want["tool:"+tool]
		s.Name = "tool:" + tool
		result := events.ToolResultData{Status: events.ToolSuccess, Result: json.RawMessage(`"done"`)}
		switch {
		case i%100 == 7: // never ends
			add(events.ToolBefore, before, id)
			continue
		case i%10 == 1:
			result = events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: "no such file"}}
			s.Failed++
		case i%50 == 2:
			before.Verdict, before.Reason = events.VerdictDeny, "not allowed"
			s.Failed++
		case i%50 == 3:
			before.Args = large
			files++
			s.Successful++
		case i%200 == 4:
			content := []byte(strings.Repeat(id, 200_000))
			sum := events.HashOf(content)
			ref := events.BlobRef{SHA256: strings.TrimPrefix(sum.String(), "sha256:"), Bytes: int64(len(content))}
			chunks := (len(content) + events.BlobChunkBytes - 1) / events.BlobChunkBytes
			for index := range chunks {
				from := index * events.BlobChunkBytes
				add(events.BlobChunk, events.BlobChunkData{
					SHA256: ref.SHA256, Bytes: ref.Bytes, Index: index, Chunks: chunks,
					Content: content[from:min(from+events.BlobChunkBytes, len(content))],
				}, id)
			}
			result.Result, result.Blobs = nil, map[string]events.BlobRef{"result": ref}
			files++
			s.Successful++
		default:
			s.Successful++
		}
		s.Calls++
		want["tool:"+tool] = s
		add(events.ToolBefore, before, id)
		if before.Verdict != events.VerdictDeny {
			add(events.ToolResult, result, id)
		}
	}
	return l, want, files
}

//guarantee:agentfs-read
func TestClient_ReadsAThousandMixedCalls(t *testing.T) {
	c := installClient(t)
	dir := t.TempDir()
	l, want, files := mixed(t, 1000)
	project(t, dir, l)
	var got struct {
		Calls []any
		Stats []statistics
		Files map[string]int
	}
	c.run(t, "read", filepath.Join(dir, "coder__acme.db"), &got)
	if len(got.Calls) != 1000 {
		t.Errorf("got %d calls, want 1000", len(got.Calls))
	}
	stats := map[string]statistics{}
	for _, s := range got.Stats {
		stats[s.Name] = s
	}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
	if len(got.Files) != files { // the client compares each file with its hash
		t.Errorf("got %d large payloads, want %d", len(got.Files), files)
	}
}

// The client keeps its file open and writes to it while the ledger and another agent's file grow.
// Neither loses data.
//
//guarantee:agentfs-busy
func TestClient_HoldsAndWritesTheFile(t *testing.T) {
	c := installClient(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l, _, _ := mixed(t, 300)
	other := func(e *events.Event) { e.Run, e.Agent = "r2", "planner" }
	l = append(l, event(t, len(l), events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("p"), other))
	w := Open(dir, Options{Interval: time.Nanosecond})
	if err := w.Sync(t.Context(), "acme", l[:50]); err != nil {
		t.Fatal(err)
	}
	cmd := c.command(t, "hold", path)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("wait for the client: %v", err)
	}
	const own = 20
	for n := range own {
		if _, err := io.WriteString(stdin, "write\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatalf("wait for the client: %v", err)
		}
		if err := w.Sync(t.Context(), "acme", l[:50+(n+1)*(len(l)-50)/own]); n < own-1 && !errors.Is(err, ErrBusy) {
			t.Fatalf("while the client has the file: got %v, want %v", err, ErrBusy)
		}
	}
	if got := len(query(t, filepath.Join(dir, "planner__acme.db"), `SELECT 1 FROM tool_calls`)); got != 1 {
		t.Errorf("the other file: got %d rows, want 1", got)
	}
	if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Fatal(err)
	}
	var got struct{ Calls []struct{ Name string } }
	c.run(t, "read", path, &got)
	counts := map[string]int{}
	for _, call := range got.Calls {
		counts[strings.SplitN(call.Name, ":", 2)[0]]++
	}
	if diff := cmp.Diff(map[string]int{"tool": 300, "own": own}, counts); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// Each file of an agent lists the ids of the others, also in a copy.
//
//guarantee:agentfs-read
func TestClient_FindsAllParts(t *testing.T) {
	c := installClient(t)
	dir := t.TempDir()
	var l ledger
	for n := range 30 {
		id := fmt.Sprintf("r%d", n/3)
		l = append(l, event(t, n, []events.Kind{events.RunStarted, events.ToolBefore, events.RunFinished}[n%3],
			[]any{events.RunStartedData{}, events.ToolBeforeData{Tool: "Bash"}, events.RunFinishedData{Success: true}}[n%3], call("c"), run(id)))
	}
	w := Open(dir, Options{RowsPerFile: 10, Interval: time.Nanosecond})
	for n := range l {
		if err := w.Sync(t.Context(), "acme", l[:n+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	away := t.TempDir()
	if err := os.Mkdir(filepath.Join(away, ".agentfs"), 0o700); err != nil {
		t.Fatal(err)
	}
	files, err := List(dir, "acme")
	if err != nil || len(files) != 3 {
		t.Fatalf("got files %v %v, want 3", files, err)
	}
	for _, f := range files {
		if err := Copy(t.Context(), filepath.Join(dir, f.Name), filepath.Join(away, ".agentfs", f.Name), l); err != nil {
			t.Fatal(err)
		}
	}
	type part struct{ Runs, Calls int }
	for n, f := range files {
		var got struct {
			Part  int
			Parts []string
			Runs  map[string]part
		}
		cmd := c.command(t, "parts", f.ID())
		if cmd.Args[1], err = filepath.Abs(cmd.Args[1]); err != nil {
			t.Fatal(err)
		}
		cmd.Dir, cmd.Stderr = away, os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]part{"coder__acme": {4, 12}, "coder__acme__2": {4, 12}, "coder__acme__3": {2, 6}}
		if diff := cmp.Diff(want, got.Runs); diff != "" || got.Part != n+1 {
			t.Errorf("from part %d, %s (-want +got):\n%s", got.Part, f.ID(), diff)
		}
	}
}
