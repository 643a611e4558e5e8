package agentfs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestProject_Rows(t *testing.T) {
	dir := t.TempDir()
	project(t, dir, recorded(t))
	path := filepath.Join(dir, "coder__acme.db")
	const base = `{"agent_role":"","run_id":"r1","run_type":"RESOLVE","tenant_id":"acme"`
	want := [][]string{
		{"1048576", "gwi:run:start", `{"agent_role":"","input":"","run_id":"r1","run_type":"RESOLVE","tenant_id":"acme"}`, `{"status":"running"}`, "NULL", "success", "1772359200", "1772359200", "0"},
		{"3145728", "tool:Bash", `{"command":"ls"}`, `{"duration_ms":1000,"output":"a.go","status":"success"}`, "NULL", "success", "1772359202", "1772359203", "1000"},
		{"5242880", "tool:Read", `{"path":"x"}`, "NULL", "no such file", "error", "1772359204", "1772359205", "1000"},
		{"7340032", "tool:Write", "NULL", "NULL", "NULL", "pending", "1772359206", "NULL", "NULL"},
		{"8388608", "tool:Bash", "NULL", "NULL", "denied: rm -rf", "error", "1772359207", "1772359207", "0"},
		{"9437184", "tool:Glob", "NULL", `{"duration_ms":0,"output":null,"status":"success"}`, "NULL", "success", "1772359208", "1772359208", "0"},
		{
			"10485760", "gwi:coder:step", `{"agent_role":"CODER","input":"in","run_id":"r1","run_type":"","step_id":"s1","tenant_id":"acme"}`,
			`{"duration_ms":2500,"output":"out","status":"completed","tokens_used":{"input":10,"output":5}}`,
			"NULL", "success", "1772359206", "1772359209", "3000",
		},
		{
			"11534336", "gwi:validator:step", `{"agent_role":"VALIDATOR","input":"","run_id":"r1","run_type":"","step_id":"s2","tenant_id":"acme"}`,
			"NULL", "tests fail", "error", "1772359210", "1772359210", "0",
		},
		{"12582912", "gwi:run:fail", strings.Replace(base, "RESOLVE", "", 1) + "}", "NULL", "tests fail", "error", "1772359200", "1772359211", "11000"},
	}
	got := query(t, path, `SELECT * FROM tool_calls ORDER BY id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	var meta map[string]any
	if err := json.Unmarshal([]byte(query(t, path, `SELECT value FROM kv_store WHERE key = 'runs:r1:meta'`)[0][0]), &meta); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"status": "failed", "title": "fix it", "started_at": "2026-03-01T10:00:00.25Z", "finished_at": "2026-03-01T10:00:11.25Z",
		"steps": 2.0, "success": false, "run_id": "r1", "tenant_id": "acme",
	} {
		if meta[name] != want {
			t.Errorf("meta %s: got %v, want %v", name, meta[name], want)
		}
	}
	if n := len(query(t, path, `SELECT 1 FROM kv_store WHERE key IN ('steps:r1:s1', 'steps:r1:s2')`)); n != 2 {
		t.Errorf("got %d step contexts, want 2", n)
	}
}

func TestProject_LatestEndOfARunReplaces(t *testing.T) {
	dir := t.TempDir()
	l := append(recorded(t),
		event(t, 12, events.StepFinished, events.StepFinishedData{AgentRole: "VALIDATOR", StepStatus: events.StepCompleted}, step("s2")),
		event(t, 13, events.RunFinished, events.RunFinishedData{Success: true, Steps: 3}))
	project(t, dir, l)
	path := filepath.Join(dir, "coder__acme.db")
	want := [][]string{
		{"gwi:coder:step", "success", "NULL"}, {"gwi:validator:step", "success", "NULL"}, {"gwi:run:complete", "success", "NULL"},
	}
	got := query(t, path, `SELECT name, status, error FROM tool_calls WHERE name LIKE 'gwi:%' AND name <> 'gwi:run:start' ORDER BY id`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	meta := query(t, path, `SELECT value FROM kv_store WHERE key = 'runs:r1:meta'`)[0][0]
	if strings.Contains(meta, "tests fail") || !strings.Contains(meta, `"status":"completed"`) || !strings.Contains(meta, `"title":"fix it"`) {
		t.Errorf("the run that went on still tells of its first end: %s", meta)
	}
}

// Of two events of one producer about a step, the higher sequence wins. Of two producers' events,
// the later one wins.
//
//guarantee:agentfs-read
func TestProject_LastWordBySequence(t *testing.T) {
	dir := t.TempDir()
	from := func(producer string, sequence uint64) func(*events.Event) {
		return func(e *events.Event) { e.Producer, e.Sequence = producer, sequence }
	}
	said := func(n int, status events.StepStatus, change func(*events.Event)) []byte {
		return event(t, n, events.StepFinished, events.StepFinishedData{StepStatus: status, AgentRole: "CODER"}, step(fmt.Sprint("s", n/2)), change)
	}
	project(t, dir, ledger{
		said(0, events.StepCompleted, from("p", 7)), said(1, events.StepFailed, from("p", 5)),
		said(2, events.StepCompleted, from("p", 8)), said(3, events.StepFailed, from("q", 1)),
		event(t, 4, events.RunFinished, events.RunFinishedData{Success: true}, from("p", 20)),
		event(t, 5, events.RunFinished, events.RunFinishedData{}, from("p", 19)),
	})
	path := filepath.Join(dir, "coder__acme.db")
	for q, want := range map[string][][]string{
		`SELECT json_extract(value, '$.step_status') FROM kv_store WHERE key LIKE 'steps:%' ORDER BY key`: {{"completed"}, {"failed"}},
		`SELECT json_extract(value, '$.status') FROM kv_store WHERE key LIKE 'runs:%'`:                    {{"completed"}},
		`SELECT status FROM tool_calls ORDER BY id`:                                                       {{"success"}, {"error"}, {"success"}},
	} {
		if diff := cmp.Diff(want, query(t, path, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", q, diff)
		}
	}
}

// Of two ends of a run at the same time the stronger status counts, whichever came first.
func TestProject_EndsAtTheSameTime(t *testing.T) {
	for _, statuses := range [][]events.RunStatus{{events.RunCompleted, events.RunFailed}, {events.RunFailed, events.RunCompleted}} {
		for _, producers := range []string{"pp", "pq"} {
			var l ledger
			for i, status := range statuses {
				l = append(l, event(t, i, events.RunFinished, events.RunFinishedData{RunStatus: status}, func(e *events.Event) {
					e.Time, e.Producer, e.Sequence = time.Unix(5, 0).UTC(), producers[i:i+1], uint64(9-i)
				}))
			}
			dir := t.TempDir()
			project(t, dir, l)
			got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT json_extract(value, '$.status') FROM kv_store WHERE key LIKE 'runs:%'`)
			if diff := cmp.Diff([][]string{{"failed"}}, got); diff != "" {
				t.Errorf("%v of %s (-want +got):\n%s", statuses, producers, diff)
			}
		}
	}
}

// A call after an end by silence shows that the run continued, until its next end.
//
//guarantee:idle-sealed
func TestProject_ContinuesAfterSilence(t *testing.T) {
	idle := events.RunFinishedData{RunStatus: events.RunUnknown, Reason: events.ReasonIdle}
	call := func(id string) func(*events.Event) { return func(e *events.Event) { e.ToolCall = id } }
	l := ledger{
		event(t, 0, events.RunStarted, events.RunStartedData{}),
		event(t, 1, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}, call("c1")),
		event(t, 2, events.RunFinished, idle, func(e *events.Event) { e.Time = t0.Add(time.Second) }),
		event(t, 3, events.ToolResult, events.ToolResultData{Tool: "bash", Status: events.ToolSuccess}, call("c1"), func(e *events.Event) { e.Time = t0.Add(time.Second) }),
		event(t, 4, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}, call("c2")),
		event(t, 5, events.RunFinished, idle),
		event(t, 6, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}, call("c3")),
		event(t, 7, events.RunFinished, events.RunFinishedData{RunStatus: events.RunCompleted}),
		event(t, 8, events.ToolBefore, events.ToolBeforeData{Tool: "bash"}, call("c4")),
	}
	for n, want := range map[int][]string{
		3: {"unknown", "1"}, 4: {"unknown", "1"}, 5: {"running", "0"}, 6: {"unknown", "1"}, 7: {"running", "0"}, 8: {"completed", "1"}, 9: {"completed", "1"},
	} {
		dir := t.TempDir()
		project(t, dir, l[:n])
		got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT json_extract(value, '$.status'),
			(SELECT count(*) FROM tool_calls WHERE name IN ('gwi:run:end', 'gwi:run:complete')) FROM kv_store WHERE key LIKE 'runs:%'`)
		if diff := cmp.Diff([][]string{want}, got); diff != "" {
			t.Errorf("after %d events (-want +got):\n%s", n, diff)
		}
	}
}

func TestProject_CallAfterItsResult(t *testing.T) {
	dir := t.TempDir()
	project(t, dir, ledger{
		event(t, 0, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, DurationMS: 40}, call("c1")),
		event(t, 1, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`[1]`)}, call("c1")),
	})
	got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT name, parameters, status FROM tool_calls`)
	if diff := cmp.Diff([][]string{{"tool:Bash", "[1]", "success"}}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// A call that hooks and a transcript report is one row with the strongest outcome, in any order.
func TestProject_CallOfTwoSources(t *testing.T) {
	args := json.RawMessage(`{"command":"rm"}`)
	deny := events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"rm -i"}`), PatchedArgs: args, Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "no"}}
	allow := events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"rm -i"}`), PatchedArgs: args}
	written := events.ToolBeforeData{Tool: "exec_command", Args: json.RawMessage(`{"command":"rm -i"}`)}
	refused := events.ToolResultData{Tool: "exec_command", Status: events.ToolDenied, DeniedBy: events.DeniedByHook, Error: &events.Failure{Message: "blocked: no"}}
	failed := events.ToolResultData{Tool: "exec_command", Status: events.ToolError, Error: &events.Failure{Message: "exit 1"}}
	succeeded := events.ToolResultData{Tool: "Bash", Status: events.ToolSuccess}
	byPerson := events.ToolResultData{Tool: "Bash", Status: events.ToolDenied, DeniedBy: events.DeniedByUser, Error: &events.Failure{Message: "no"}}
	claims := events.ToolResultData{Tool: "exec_command", Status: events.ToolError, Error: &events.Failure{Message: "denied: by the command itself"}}
	for name, tt := range map[string]struct {
		hook, transcript []any
		want             []string
	}{
		"Denied":  {[]any{deny}, []any{written, refused}, []string{"tool:Bash", `{"command":"rm"}`, "error", "denied: no"}},
		"Claimed": {[]any{allow, byPerson}, []any{written, claims}, []string{"tool:Bash", `{"command":"rm"}`, "error", "denied by user: no"}},
		"Failed":  {[]any{allow, succeeded}, []any{written, failed}, []string{"tool:Bash", `{"command":"rm"}`, "error", "exit 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, list := range [][]any{slices.Concat(tt.hook, tt.transcript), slices.Concat(tt.transcript, tt.hook)} {
				var l ledger
				for i, data := range list {
					kind := events.ToolBefore
					if _, ok := data.(events.ToolResultData); ok {
						kind = events.ToolResult
					}
					l = append(l, event(t, i, kind, data, call("c1")))
				}
				dir := t.TempDir()
				project(t, dir, l)
				got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT name, parameters, status, error FROM tool_calls`)
				if diff := cmp.Diff([][]string{tt.want}, got); diff != "" {
					t.Errorf("rows (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestProject_LargePayloads(t *testing.T) {
	dir := t.TempDir()
	large, err := json.Marshal(strings.Repeat("x", 100_000))
	if err != nil {
		t.Fatal(err)
	}
	blob := []byte(strings.Repeat("chunk ", 150_000))
	sum := sha256.Sum256(blob)
	ref := events.BlobRef{SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(blob))}
	l := ledger{
		event(t, 0, events.ToolBefore, events.ToolBeforeData{Tool: "Write", Args: large}, call("c/1")),
		event(t, 1, events.BlobChunk, events.BlobChunkData{SHA256: ref.SHA256, Bytes: ref.Bytes, Chunks: 2, Content: blob[:events.BlobChunkBytes]}),
		event(t, 2, events.BlobChunk, events.BlobChunkData{SHA256: ref.SHA256, Bytes: ref.Bytes, Index: 1, Chunks: 2, Content: blob[events.BlobChunkBytes:]}),
		event(t, 3, events.ToolResult, events.ToolResultData{
			Status: events.ToolSuccess, Common: events.Common{Blobs: map[string]events.BlobRef{"result": ref}},
		}, call("c/1")),
		event(t, 4, events.ToolResult, events.ToolResultData{
			Status: events.ToolSuccess, Common: events.Common{Blobs: map[string]events.BlobRef{"result": {SHA256: strings.Repeat("0", 64), Bytes: 9}}},
		}, call("c2")),
		event(t, 5, events.StepFinished, events.StepFinishedData{
			StepStatus: events.StepFailed, OutputSummary: string(large), Error: &events.Failure{Message: strings.Repeat("é", 50_000)},
		}, step("s1")),
	}
	project(t, dir, l)
	path := filepath.Join(dir, "coder__acme.db")
	got := query(t, path, `SELECT parameters, result FROM tool_calls WHERE name LIKE 'tool:%' ORDER BY id`)
	largeSum := sha256.Sum256(large)
	wantArgs := `{"$file":"/runs/r1/tools/c=2F1/args.json","sha256":"` + hex.EncodeToString(largeSum[:]) + `","bytes":100002}`
	if got[0][0] != wantArgs {
		t.Errorf("got args %s, want %s", got[0][0], wantArgs)
	}
	if want := `"output":{"$file":"/runs/r1/tools/c=2F1/result.json","sha256":"` + ref.SHA256; !strings.Contains(got[0][1], want) {
		t.Errorf("got result %s, want %s in it", got[0][1], want)
	}
	if !strings.Contains(got[1][1], `"missing":true`) {
		t.Errorf("got result %s, want it missing", got[1][1])
	}
	for file, want := range map[string]int{"args.json": len(large), "result.json": len(blob), "context.json": 200_000} {
		rows := query(t, path, `SELECT i.size, sum(length(d.data)), i.nlink FROM fs_dentry e JOIN fs_inode i ON i.ino = e.ino
			JOIN fs_data d ON d.ino = i.ino WHERE e.name = '`+file+`' GROUP BY i.ino`)
		if len(rows) != 1 || rows[0][0] != rows[0][1] || len(rows[0][0]) != 6 || rows[0][0] < strconv.Itoa(want) {
			t.Errorf("%s: got %v, want about %d bytes", file, rows, want)
		}
	}
	failure := query(t, path, `SELECT error FROM tool_calls WHERE status = 'error'`)[0][0]
	if len(failure) > 2000 || !strings.HasSuffix(failure, "/runs/r1/s1/error.txt") {
		t.Errorf("got an error text of %d bytes", len(failure))
	}
}

// A truncated copy of a large payload does not damage the first.
func TestProject_ChunkThatComesAgainCutsNothing(t *testing.T) {
	dir := t.TempDir()
	blob := []byte(strings.Repeat("chunk ", 150_000))
	sum := sha256.Sum256(blob)
	chunk := func(n, index int, content []byte) []byte {
		return event(t, n, events.BlobChunk, events.BlobChunkData{
			SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(blob)), Index: index, Chunks: 2, Content: content,
		})
	}
	project(t, dir, ledger{
		chunk(0, 0, blob[:events.BlobChunkBytes]), chunk(1, 1, blob[events.BlobChunkBytes:]),
		chunk(2, 0, blob[:events.BlobChunkBytes]),
		chunk(3, 1<<44, []byte("wraps around")),
	})
	got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT size, (SELECT sum(length(data)) FROM fs_data) FROM fs_inode WHERE mode = 33188`)
	if want := strconv.Itoa(len(blob)); len(got) != 1 || got[0][0] != want || got[0][1] != want {
		t.Errorf("got size and content %v, want %s", got, want)
	}
}

func TestProject_RootHasNoTimeOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	project(t, dir, recorded(t))
	got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT atime, mtime, ctime FROM fs_inode WHERE ino = 1`)
	if diff := cmp.Diff([][]string{{"0", "0", "0"}}, got); diff != "" {
		t.Errorf("root (-want +got):\n%s", diff)
	}
}

func TestProject_HooksAttribute(t *testing.T) {
	dir := t.TempDir()
	hooks := func(value string) func(*events.Event) { return func(e *events.Event) { e.Hooks = value } }
	before := events.ToolBeforeData{Tool: "Bash"}
	project(t, dir, ledger{
		event(t, 0, events.ToolBefore, before, call("all"), hooks("")),
		event(t, 1, events.ToolBefore, before, call("off"), hooks("beads")),
		event(t, 2, events.ToolBefore, before, call("both"), hooks("beads,agentfs")),
		event(t, 3, events.ToolBefore, before, call("near"), hooks("agentfs2")),
		event(t, 4, events.ToolBefore, before, call("case"), hooks("AgentFS")),
	})
	got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT key FROM hooktrail_rows ORDER BY id`)
	if diff := cmp.Diff([][]string{{"tool:r1:all"}, {"tool:r1:both"}, {"tool:r1:case"}}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Extreme times and durations do not change other values of a row.
func TestProject_TimesFarAway(t *testing.T) {
	at := func(year int) func(*events.Event) {
		return func(e *events.Event) { e.Time = time.Date(year, 3, 1, 10, 0, 0, 1000, time.UTC) }
	}
	for _, year := range []int{2, 9998} {
		dir := t.TempDir()
		project(t, dir, ledger{
			event(t, 0, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c1"), at(year)),
			event(t, 1, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("c1"), at(year+1)),
			event(t, 2, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, DurationMS: math.MaxInt64}, call("c2"), at(year)),
		})
		path := filepath.Join(dir, "coder__acme.db")
		began := time.Date(year, 3, 1, 10, 0, 0, 0, time.UTC).Unix()
		want := [][]string{{fmt.Sprint(began), fmt.Sprint(365 * 24 * 3600 * 1000)}}
		if diff := cmp.Diff(want, query(t, path, `SELECT started_at, duration_ms FROM tool_calls ORDER BY id LIMIT 1`)); diff != "" {
			t.Errorf("year %d (-want +got):\n%s", year, diff)
		}
		if got := query(t, path, `SELECT 1 FROM tool_calls WHERE started_at < completed_at`); len(got) != 2 {
			t.Errorf("year %d: got %d calls that took a time, want 2", year, len(got))
		}
	}
}

// A file of an earlier version has no outcomes, so they come from the error texts of its rows.
func TestProject_FileWithoutOutcomes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := ledger{
		event(t, 0, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c1")),
		event(t, 1, events.ToolResult, events.ToolResultData{Status: events.ToolDenied, DeniedBy: events.DeniedByUser, Error: &events.Failure{Message: "no"}}, call("c1")),
	}
	project(t, dir, l)
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteTransient(conn, `ALTER TABLE hooktrail_rows DROP COLUMN outcome`, nil)
	if err = errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	project(t, dir, append(l, event(t, 2, events.ToolResult, events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: "x"}}, call("c1"))))
	if diff := cmp.Diff([][]string{{"denied by user: no", "denied"}}, query(t, path, `SELECT error, coalesce(r.outcome, 'denied') FROM tool_calls t JOIN hooktrail_rows r ON r.id = t.id`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
