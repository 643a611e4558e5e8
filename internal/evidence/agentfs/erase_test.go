package agentfs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func secretive(t *testing.T, first int, id, secret string) ledger {
	t.Helper()
	said := func(n int) string { return strings.Repeat(secret+" ", n) }
	large, err := json.Marshal(said(100_000 / len(secret)))
	if err != nil {
		t.Fatal(err)
	}
	content := []byte(said(900_000 / len(secret)))
	ref := events.BlobRef{SHA256: strings.TrimPrefix(events.HashOf(content).String(), "sha256:"), Bytes: int64(len(content))}
	chunk := func(n, index int) []byte {
		from := index * events.BlobChunkBytes
		return event(t, n, events.BlobChunk, events.BlobChunkData{
			SHA256: ref.SHA256, Bytes: ref.Bytes, Index: index, Chunks: 2,
			Content: content[from:min(from+events.BlobChunkBytes, len(content))],
		}, run(id))
	}
	n := first
	return ledger{
		event(t, n, events.RunStarted, events.RunStartedData{Title: secret, InputSummary: said(3)}, run(id)),
		event(t, n+1, events.ToolBefore, events.ToolBeforeData{Tool: "Write", Args: large}, run(id), call("c1")),
		chunk(n+2, 0), chunk(n+3, 1),
		event(t, n+4, events.ToolResult, events.ToolResultData{
			Status: events.ToolSuccess, Common: events.Common{Blobs: map[string]events.BlobRef{"result": ref}},
		}, run(id), call("c1")),
		event(t, n+5, events.StepFinished, events.StepFinishedData{
			StepStatus: events.StepFailed, OutputSummary: string(large), Error: &events.Failure{Message: said(10)},
		}, run(id), step("s1")),
		event(t, n+6, events.RunFinished, events.RunFinishedData{Success: true, OutputSummary: said(2)}, run(id)),
	}
}

func eraseOrder(t *testing.T, n int) []byte {
	t.Helper()
	return event(t, n, events.AuditAccessed, events.AuditAccessedData{Action: events.AuditErase}, run(""))
}

func all(from, to, order int64) map[int64]int64 {
	orders := map[int64]int64{}
	for leaf := from; leaf <= to; leaf++ {
		orders[leaf] = order
	}
	return orders
}

func occurrences(t *testing.T, dir, text string) int {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		n += bytes.Count(content, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Erased data is gone from all files. Everything else stays, including rows of other tools.
//
//guarantee:erase-agentfs
func TestErase_NothingIsLeft(t *testing.T) {
	const secret, kept = "correct-horse-battery", "the-other-run-is-kept"
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := append(secretive(t, 0, "r1", secret), secretive(t, 7, "r2", kept)...)
	project(t, dir, l)
	if n := occurrences(t, dir, secret); n < 10_000 {
		t.Fatalf("got %d occurrences before it is erased", n)
	}
	foreign(t, path)
	l = append(l, eraseOrder(t, 14))
	project(t, dir, erasing{l, all(0, 6, 14)})
	if n := occurrences(t, dir, secret); n != 0 {
		t.Errorf("got %d occurrences in the files, want none", n)
	}
	if n := occurrences(t, dir, kept); n < 10_000 {
		t.Errorf("the other run: got %d occurrences, want it as it was", n)
	}
	checkForeign(t, path)
	fresh := t.TempDir()
	project(t, fresh, erasing{l, all(0, 6, 14)})
	have := dump(t, path)
	have["calls"] = have["calls"][:len(have["calls"])-1] // the other tool's row
	want := dump(t, filepath.Join(fresh, "coder__acme.db"))
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("files (-written anew +erased):\n%s", diff)
	}
	if rows := query(t, path, `SELECT name FROM fs_dentry WHERE name IN ('r1', 'r2')`); len(rows) != 1 {
		t.Errorf("got folders %v, want that of r2", rows)
	}
}

func foreign(t *testing.T, path string, more ...string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(executeAll(conn, append([]string{
		`INSERT INTO tool_calls (name, status, started_at) VALUES ('own', 'pending', 1)`,
		`INSERT INTO kv_store (key, value) VALUES ('own', '1')`,
	}, more...)), conn.Close())
	if err != nil {
		t.Fatal(err)
	}
}

func checkForeign(t *testing.T, path string) {
	t.Helper()
	if n := len(query(t, path, `SELECT 1 FROM tool_calls WHERE name = 'own' UNION ALL SELECT 1 FROM kv_store WHERE key = 'own'`)); n != 2 {
		t.Errorf("got %d rows of the other tool, want 2", n)
	}
}

//guarantee:erase-agentfs
func TestErase_OneEvent(t *testing.T) {
	const secret = "correct-horse-battery"
	dir := t.TempDir()
	l := append(secretive(t, 0, "r1", secret),
		event(t, 7, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`["kept"]`)}, call("c2")))
	project(t, dir, l)
	l = append(l, eraseOrder(t, 8))
	orders := all(0, 6, 8)
	delete(orders, 6)
	project(t, dir, erasing{l, orders})
	got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT name FROM tool_calls ORDER BY id`)
	if diff := cmp.Diff([][]string{{"gwi:run:complete"}, {"tool:Bash"}}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if got := query(t, filepath.Join(dir, "coder__acme.db"), `SELECT json_extract(value, '$.status') FROM kv_store`); got[0][0] != "completed" {
		t.Errorf("got %v, want the run as its end says", got)
	}
}

// A busy file is erased as soon as it is released. Until then Sync reports it, and it cannot be
// copied.
//
//guarantee:erase-agentfs
func TestErase_BusyFile(t *testing.T) {
	const secret = "correct-horse-battery"
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := secretive(t, 0, "r1", secret)
	project(t, dir, l)
	l = append(l, eraseOrder(t, 7))
	src := erasing{l, all(0, 6, 7)}
	names, err := Unerased(t.Context(), dir, "acme", src)
	if diff := cmp.Diff([]string{"coder__acme.db"}, names); diff != "" || err != nil {
		t.Errorf("files that have what was erased: %v (-want +got):\n%s", err, diff)
	}
	if err := Copy(t.Context(), path, filepath.Join(t.TempDir(), "copy.db"), src); !errors.Is(err, ErrErased) {
		t.Errorf("copy: got %v, want %v", err, ErrErased)
	}
	release := hold(t, path)
	w := Open(dir, Options{Interval: time.Nanosecond})
	if err := w.Sync(t.Context(), "acme", src); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want %v", err, ErrBusy)
	}
	release()
	if err := errors.Join(w.Sync(t.Context(), "acme", src), w.Close()); err != nil {
		t.Fatal(err)
	}
	if names, err = Unerased(t.Context(), dir, "acme", src); len(names) > 0 || err != nil {
		t.Errorf("files that have what was erased: %v %v, want none", names, err)
	}
	if n := occurrences(t, dir, secret); n != 0 {
		t.Errorf("got %d occurrences in the files, want none", n)
	}
}

// An older copy of a file is erased at the next start and before its next write.
//
//guarantee:erase-agentfs
func TestErase_OlderCopyComesBack(t *testing.T) {
	const secret = "correct-horse-battery"
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := secretive(t, 0, "r1", secret)
	project(t, dir, l)
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	l = append(l, eraseOrder(t, 7))
	orders := all(0, 6, 7)
	w := Open(dir, Options{})
	for start := range 3 {
		if start == 1 {
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			w = Open(dir, Options{})
		}
		if start == 2 {
			l = append(l, event(t, 8, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c2"), run("r2")))
		}
		if err := os.WriteFile(path, older, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := w.Sync(t.Context(), "acme", erasing{l, orders}); err != nil {
			t.Fatal(err)
		}
		if n := occurrences(t, dir, secret); n != 0 {
			t.Errorf("start %d: got %d occurrences in the files, want none", start, n)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// The files equal those built from the erased ledger. Batches, restarts, lost files and the order
// of erasures make no difference.
//
//guarantee:erase-agentfs
func TestErase_SameFilesWhateverTheOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := history(t, rt)
		events := int64(len(l))
		orders := map[int64]int64{}
		for range rapid.IntRange(1, 3).Draw(rt, "orders") {
			by := int64(len(l))
			l = append(l, []byte(`{"v":1}`))
			id := fmt.Sprintf("r%d", rapid.IntRange(0, 4).Draw(rt, "erased"))
			some := rapid.Bool().Draw(rt, "some")
			for entry, err := range l[:events].Run(t.Context(), id) {
				if err != nil {
					rt.Fatal(err)
				}
				if _, ok := orders[entry.Leaf]; !ok && (!some || rapid.Bool().Draw(rt, "gone")) {
					orders[entry.Leaf] = by
				}
			}
		}
		upTo := func(n int) Source { return erasing{l[:n], orders} }
		once, often := bothWays(t, rt, len(l), upTo, 10, rapid.IntRange(10, 60))
		// Only the merged contents are compared, because erasing a run's first event may move the
		// run to another file.
		if diff := cmp.Diff(merged(once), merged(often)); diff != "" {
			rt.Errorf("files (-once +often):\n%s", diff)
		}
	})
}

func merged(files map[string]map[string][][]string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for tables := range maps.Values(files) {
		for table, rows := range tables {
			for _, row := range rows {
				if all[table] == nil {
					all[table] = map[string]bool{}
				}
				if table != "position" && table != "content" && row[0] != partsKey {
					all[table][strings.Join(row, "|")] = true
				}
			}
		}
	}
	return all
}

func BenchmarkErase(b *testing.B) {
	var l ledger
	for n := range 10_000 {
		l = append(l, event(b, n, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"ls"}`)},
			call(fmt.Sprint(n)), run(fmt.Sprint("r", n/100))))
	}
	ordered := append(l, []byte(`{"v":1}`))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		project(b, dir, l)
		b.StartTimer()
		project(b, dir, erasing{ordered, all(100, 199, int64(len(l)))})
	}
}
