package publisher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func writeTranscript(t *testing.T, name, session string) {
	t.Helper()
	line := `{"type":"user","sessionId":"` + session + `","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}` + "\n"
	writeText(t, name, line)
}

// An unreadable file is reported, and the other files are imported.
func TestImport_UnreadableFile(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	first, broken, last := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl"), filepath.Join(dir, "c.jsonl")
	writeTranscript(t, first, "a")
	writeTranscript(t, last, "c")
	socket, err := net.Listen("unix", broken) // not even root can open it
	if err != nil {
		t.Skipf("the unreadable file is a Unix socket, which this system refuses: %v", err)
	}
	defer socket.Close()
	sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{first, broken, last}})
	if err == nil || !strings.Contains(err.Error(), broken) {
		t.Errorf("got %v, want it to name %s", err, broken)
	}
	if len(sum.Files) != 2 || !slices.Equal(sum.Runs, []string{"a", "c"}) {
		t.Errorf("got runs %q of %v, want those of the other two files", sum.Runs, sum.Files)
	}
}

// A truncated, altered or invalid gzip file is reported. Its readable part and the
// other files are imported.
func TestImport_BrokenGzip(t *testing.T) {
	_, b := open(t)
	dir := t.TempDir()
	line := `{"type":"user","sessionId":"b","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"go"}}` + "\n"
	whole := zipped(line).String()
	for name, text := range map[string]string{
		"a.jsonl.gz": whole[:12], "b.jsonl.gz": whole[:len(whole)-4], "c.jsonl.gz": "\x1f\x8bno", "d.jsonl": strings.ReplaceAll(line, `"b"`, `"d"`),
	} {
		writeText(t, filepath.Join(dir, name), text)
	}
	sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Paths: []string{dir}})
	for _, name := range []string{"a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want it to name %s", err, name)
		}
	}
	if !slices.Equal(sum.Runs, []string{"b", "d"}) {
		t.Errorf("got runs %q of %v", sum.Runs, sum.Files)
	}
}

// An unreadable folder is reported. The other folders are imported.
func TestFindTranscripts_Unreadable(t *testing.T) {
	dir := t.TempDir()
	closed := deepFolder(t, filepath.Join(dir, "a"))
	writeTranscript(t, filepath.Join(dir, "b.jsonl"), "b")
	found, err := findTranscripts([]string{dir}, lineExts)
	if err != nil || len(found.inputs) != 1 || found.unread == nil || !strings.Contains(found.unread.Error(), closed) {
		t.Errorf("got %v, %v, %v", found.inputs, found.unread, err)
	}
}

// deepFolder nests folders in dir until the path is too long for the system. Even root cannot
// read the last folder by its path, which deepFolder returns.
func deepFolder(t *testing.T, dir string) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	const maxPath = 4096 // on Linux; other systems have lower limits
	name := strings.Repeat("d", 200)
	for len(dir) <= maxPath {
		if err := root.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
		next, err := root.OpenRoot(name)
		if err = errors.Join(err, root.Close()); err != nil {
			t.Fatal(err)
		}
		root, dir = next, filepath.Join(dir, name)
	}
	if err := root.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A folder may be a link and may contain links to transcripts. Broken links are
// ignored.
func TestFindTranscripts_Links(t *testing.T) {
	dir := t.TempDir()
	target, folder, link := filepath.Join(dir, "real.jsonl"), filepath.Join(dir, "folder"), filepath.Join(dir, "link")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	writeTranscript(t, target, "r")
	writeTranscript(t, filepath.Join(folder, "own.jsonl"), "o")
	for name, to := range map[string]string{link: folder, filepath.Join(folder, "linked.jsonl"): target, filepath.Join(folder, ".#lock.jsonl"): "me@host:1"} {
		if err := os.Symlink(to, name); err != nil {
			t.Skipf("the folder of this test needs symbolic links, which this system refuses: %v", err)
		}
	}
	found, err := findTranscripts([]string{link}, lineExts)
	var files []string
	for _, in := range found.inputs {
		files = append(files, in.path)
	}
	if want := []string{filepath.Join(link, "linked.jsonl"), filepath.Join(link, "own.jsonl")}; err != nil || !slices.Equal(files, want) {
		t.Errorf("got %q, %v, want %q", files, err, want)
	}
}

// An interrupt ends an import that waits for a pipe without a writer, or for a silent
// writer.
func TestImport_InterruptedPipe(t *testing.T) {
	_, b := open(t)
	for name, writer := range map[string]bool{"NoWriter": false, "SilentWriter": true} {
		t.Run(name, func(t *testing.T) {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Skipf("the blocking input of this test is a named pipe, which this system refuses: %v", err)
			}
			if writer {
				w, err := os.OpenFile(fifo, os.O_RDWR, 0) // does not wait for a reader
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			ended := make(chan error, 1)
			go func() {
				_, err := Import(ctx, ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{fifo}})
				ended <- err
			}()
			select {
			case err := <-ended:
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want to be interrupted", err)
				}
			case <-time.After(10 * time.Second):
				t.Error("still waits for the pipe")
			}
		})
	}
}

// A line with several problems counts as one malformed line. It counts as kept only if
// none of its content is lost.
func TestImport_CountsLines(t *testing.T) {
	_, b := open(t)
	name := filepath.Join(t.TempDir(), "s.jsonl")
	deep := strings.Repeat("[", 600) + strings.Repeat("]", 600)
	lines := []string{
		`{"type":"user","sessionId":"s","uuid":"p","timestamp":"2026-01-01T00:00:00Z","message":{"content":"g` + "\xff" + `o"}}`,
		"\xff{",
		`{"type":"user","sessionId":"s","uuid":"q","message":{"content":` + deep + `}}`,
		`{"type":"assistant","sessionId":"s","uuid":"r","message":{"content":[{"type":"x","a":` + deep + `},{"type":"x","b":` + deep + `}]}}`,
	}
	writeText(t, name, strings.Join(lines, "\n"))
	sum, err := Import(t.Context(), ImportOptions{Broker: b, DataDir: t.TempDir(), Format: "claude-code", Paths: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Malformed{
		{File: name, Line: 1, Column: 101, Reason: "not UTF-8, repaired", Kept: true},
		{File: name, Line: 2, Column: 1, Reason: "not JSON: unexpected character"},
		{File: name, Line: 3, Reason: "message.content[0]: not a block", Kept: true},
		{File: name, Line: 4, Reason: "nested more than 512 deep, kept as text", Kept: true},
	}
	if diff := cmp.Diff(want, sum.Lines); diff != "" || sum.Malformed != len(want) {
		t.Errorf("got %d malformed lines, want %d; (-want +got):\n%s", sum.Malformed, len(want), diff)
	}
}

// The size check of a line includes the attributes that the outbox adds.
func TestPipe_LargestAttributes(t *testing.T) {
	_, b := open(t)
	tenant := strings.Repeat("t", 200)
	var lines []string
	for n := events.MaxAttributeBytes - 700; n < events.MaxAttributeBytes; n += 10 {
		lines = append(lines, fmt.Sprintf(`{"specversion":"1.0","id":"%d","source":"s","type":"t","x":"%s"}`, n, strings.Repeat("x", n)))
	}
	sum, err := Pipe(t.Context(), strings.NewReader(strings.Join(lines, "\n")), PipeOptions{Broker: b, DataDir: t.TempDir(), Tenant: tenant, Name: "stdin"})
	if err != nil || sum.New == 0 || sum.Malformed == 0 || sum.New+sum.Malformed != len(lines) {
		t.Errorf("got %d new and %d malformed of %d, %v", sum.New, sum.Malformed, len(lines), err)
	}
	for _, m := range sum.Lines {
		if m.Line == 0 {
			t.Fatalf("got %s, want the line", m)
		}
	}
}
