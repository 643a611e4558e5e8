package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// References to large payloads lead to the right content, whatever the ids and field names.
//
//guarantee:agentfs-names
func TestPaths_NeverClash(t *testing.T) {
	ids := []string{"tools", "=blobs", "output", "output.json", "args.json", "a/b", "a", "A", "..", ".", "c=2F1", "blobs", "context"}
	fields := []string{"output", "context", "meta", "args", "result", "output_summary", "input_summary", "output.json", "../x"}
	rapid.Check(t, func(rt *rapid.T) {
		var l ledger
		id := func(what string) string { return rapid.SampledFrom(ids).Draw(rt, what) }
		for n := range rapid.IntRange(1, 5).Draw(rt, "events") {
			within := func(e *events.Event) { e.Run, e.Step, e.ToolCall = id("run"), id("step"), id("call") }
			large := strings.Repeat(fmt.Sprint("<", n, ">"), maxInline/3+1)
			content := []byte(strings.Repeat(fmt.Sprint("[", n, "]"), 100))
			sum := sha256.Sum256(content)
			ref := events.BlobRef{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
			common := events.Common{Blobs: map[string]events.BlobRef{rapid.SampledFrom(fields).Draw(rt, "field"): ref}}
			var e events.Event
			within(&e)
			same := func(to *events.Event) { to.Run, to.Step, to.ToolCall = e.Run, e.Step, e.ToolCall }
			l = append(l, event(t, 2*n, events.BlobChunk, events.BlobChunkData{SHA256: ref.SHA256, Bytes: ref.Bytes, Chunks: 1, Content: content}, same))
			args, err := json.Marshal(large)
			if err != nil {
				rt.Fatal(err)
			}
			kinds := []events.Kind{events.RunStarted, events.RunFinished, events.StepFinished, events.ToolBefore, events.ToolResult}
			payloads := []any{
				events.RunStartedData{Common: common, InputSummary: large},
				events.RunFinishedData{Common: common, OutputSummary: large},
				events.StepFinishedData{Common: common, OutputSummary: large, InputSummary: large, StepStatus: events.StepCompleted},
				events.ToolBeforeData{Common: common, Args: args},
				events.ToolResultData{Common: common, Result: args, Status: events.ToolSuccess},
			}
			which := rapid.IntRange(0, len(kinds)-1).Draw(rt, "kind")
			l = append(l, event(t, 2*n+1, kinds[which], payloads[which], same))
		}
		dir := t.TempDir()
		w := Open(dir, Options{Interval: time.Nanosecond})
		if err := w.Sync(t.Context(), "acme", l); err != nil {
			rt.Fatal(err)
		}
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		checkReferences(t, rt, filepath.Join(dir, "coder__acme.db"))
	})
}

// Two sources can state one call with other arguments and results. The row shows one of
// each, and its file has that content.
//
//guarantee:agentfs-names
func TestPaths_TwoSourcesOfOneCall(t *testing.T) {
	large := func(text string) json.RawMessage {
		return json.RawMessage(strconv.Quote(strings.Repeat(text, maxInline)))
	}
	result := func(n int, status events.ToolStatus, text string) []byte {
		return event(t, n, events.ToolResult, events.ToolResultData{Result: large(text), Status: status}, call("c1"))
	}
	before := func(n int, text string) []byte {
		return event(t, n, events.ToolBefore, events.ToolBeforeData{Args: large(text)}, call("c1"))
	}
	dir := t.TempDir()
	project(t, dir, ledger{before(0, "first"), result(1, events.ToolDenied, "refused"), before(2, "second"), result(3, events.ToolSuccess, "done")})
	checkReferences(t, t, filepath.Join(dir, "coder__acme.db"))
}

func checkReferences(t *testing.T, rt rapid.TB, path string) {
	t.Helper()
	rows := query(t, path, `SELECT parameters FROM tool_calls UNION ALL SELECT result FROM tool_calls UNION ALL SELECT value FROM kv_store`)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		rt.Fatal(err)
	}
	defer conn.Close()
	f := &fileSystem{conn}
	var check func(v any)
	check = func(v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		name, ok := m["$file"].(string)
		if !ok {
			for _, inner := range m {
				check(inner)
			}
			return
		}
		ino, ok, err := f.lookup(name)
		if err != nil || !ok {
			rt.Fatalf("%s: got %v %v, want a file", name, ok, err)
		}
		sum, _ := m["sha256"].(string)
		size, _ := m["bytes"].(float64)
		want := events.BlobRef{SHA256: sum, Bytes: int64(size)}
		if ok, err := f.matches(ino, want); !ok || err != nil {
			rt.Errorf("%s is not what its hash says: %v", name, err)
		}
	}
	for _, row := range rows {
		var v any
		if row[0] == "NULL" {
			continue
		}
		if err := json.Unmarshal([]byte(row[0]), &v); err != nil {
			rt.Fatal(err)
		}
		check(v)
	}
}

// Chunks with a wrong hash are never shown and do not damage verified content.
//
//guarantee:agentfs-read
func TestProject_ChunksAreCheckedByHash(t *testing.T) {
	content := []byte(strings.Repeat("right", 1000))
	sum := sha256.Sum256(content)
	ref := events.BlobRef{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(content))}
	chunk := func(n int, part string) []byte {
		return event(t, n, events.BlobChunk, events.BlobChunkData{
			SHA256: ref.SHA256, Bytes: ref.Bytes, Chunks: 1, Content: []byte(strings.Repeat(part, 1000)),
		})
	}
	result := func(n int, id string) []byte {
		return event(t, n, events.ToolResult, events.ToolResultData{
			Status: events.ToolSuccess, Common: events.Common{Blobs: map[string]events.BlobRef{"result": ref}},
		}, call(id))
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	project(t, dir, ledger{chunk(0, "wrong"), result(1, "c1"), chunk(2, "right"), result(3, "c2"), chunk(4, "wrong"), result(5, "c3")})
	missing := query(t, path, `SELECT json_extract(result, '$.output.missing') FROM tool_calls ORDER BY id`)
	if fmt.Sprint(missing) != "[[1] [NULL] [NULL]]" {
		t.Errorf("got missing %v, want only the first", missing)
	}
	if n := len(query(t, path, `SELECT 1 FROM fs_data WHERE instr(data, 'wrong')`)); n != 0 {
		t.Errorf("got %d pieces of the wrong content", n)
	}
}
