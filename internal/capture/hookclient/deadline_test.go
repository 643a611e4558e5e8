package hookclient

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

const limit = 300 * time.Millisecond

func shortCall(t *testing.T) Options {
	t.Helper()
	tool, err := agents.Named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	load := func(path string, r *hooks.Registry) error {
		file, err := hookfile.Load(path)
		if err != nil {
			return err
		}
		return file.Register(r, hookfile.Options{})
	}
	return Options{DataDir: t.TempDir(), Tool: tool, Timeout: 200 * time.Millisecond, Parts: Parts{Load: load}}
}

// recorded returns the events that earlier calls left in a data directory.
func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	if err := Sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	return hookclienttest.Forwarded(tb, natstest.Start(tb), dir)
}

// A stdin that stays open does not block the agent. The missing event is recorded.
//
//guarantee:hook-offline
func TestAnswer_StdinStaysOpen(t *testing.T) {
	for _, closed := range []bool{false, true} {
		r, w := io.Pipe()
		opts := shortCall(t)
		opts.FailClosed = closed
		got := answer(t.Context(), r, opts, limit)
		if want := map[bool]int{true: 2}[closed]; got.Reply.Exit != want || len(got.Reply.Stdout) > 0 || !strings.Contains(strings.Join(got.Problems, " "), errLate.Error()) {
			t.Errorf("with FailClosed %v: got %+v", closed, got)
		}
		if got := recorded(t, opts.DataDir); len(got) != 1 || got[0].Kind() != events.Custom || !strings.Contains(string(got[0].Data), errLate.Error()) {
			t.Errorf("recorded %v", got)
		}
		w.Close()
	}
}

// A decision is returned even if it cannot be recorded in time.
//
//guarantee:hook-offline
func TestAnswer_DecidedInTime(t *testing.T) {
	for _, closed := range []bool{false, true} {
		opts := shortCall(t)
		opts.FailClosed, opts.Hooks = closed, hookclienttest.HooksFile(t, hookclienttest.NoRemoval)
		hanging := filepath.Join(SharedOutbox(opts.DataDir), "outbox.json")
		if err := os.MkdirAll(filepath.Dir(hanging), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(hanging, 0o600); err != nil { // blocks its readers
			t.Fatal(err)
		}
		a := answer(t.Context(), strings.NewReader(hookclienttest.Removals[0].Payload), opts, limit)
		if files, err := filepath.Glob(filepath.Join(SpoolDir(opts.DataDir), "*")); err != nil || len(files) != 1 {
			t.Errorf("spooled %v, %v; want one problem event", files, err)
		} else if list, err := spooled(files[0]); err != nil || len(list) != 1 || list[0].Run != "s1" {
			t.Errorf("spooled %v, %v; want an event of run s1", list, err)
		}
		if got := string(a.Reply.Stdout); !strings.Contains(got, `"deny"`) || !closed && got != hookclienttest.Removals[0].Denied+"\n" {
			t.Errorf("with FailClosed %v: got %+v", closed, a)
		}
		if f, err := os.OpenFile(hanging, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("boom") }

// A panic denies the call if the call fails closed.
//
//guarantee:hook-offline
func TestAnswer_Panics(t *testing.T) {
	for _, closed := range []bool{false, true} {
		opts := shortCall(t)
		opts.FailClosed = closed
		got := answer(t.Context(), panicking{}, opts, limit)
		if want := map[bool]int{true: 2}[closed]; got.Reply.Exit != want || !strings.Contains(strings.Join(got.Problems, " "), "internal error: boom") {
			t.Errorf("with FailClosed %v: got %+v", closed, got)
		}
	}
}

// Sweep does not block on a pipe in the spool folder.
func TestSweep_NoFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(SpoolDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(SpoolDir(dir), "a"+spoolSuffix), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(t.Context(), dir); err != nil {
		t.Error(err)
	}
}

// It is not an error if another process removes a file while Sweep locks it.
func TestSweep_TakenMeanwhile(t *testing.T) {
	dir := t.TempDir()
	if err := spool(dir, "", problemEvent("", events.Event{}, false, nil, nil)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(SpoolDir(dir), "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	held, err := filelock.Try(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := Sweep(t.Context(), dir); err != nil {
		t.Errorf("while another process has it: %v", err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := sweepFile(t.Context(), dir, files[0]); err != nil {
		t.Errorf("after another process had it: %v", err)
	}
}

// The publisher decides about the result as local hooks changed it, so a withheld
// result stays withheld.
func TestPatched_WithheldResult(t *testing.T) {
	tool, err := agents.Named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tool.Parse([]byte(`{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"env"},"tool_response":"secret","tool_use_id":"t1"}`), agents.Context{Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	d := patched(p.Document, &hooks.DocumentOutcome{Value: `{"status":"success","result":"[withheld]"}`})
	if d.Result != `"[withheld]"` {
		t.Errorf("got %s", d.Result)
	}
	d = patched(p.Document, &hooks.DocumentOutcome{Value: `{"status":"error","error":"[withheld]"}`})
	if d.Error != "[withheld]" {
		t.Errorf("got %q", d.Error)
	}
}

// A full spool folder loses no event.
func TestRecord_SpoolFull(t *testing.T) {
	opts := shortCall(t)
	opts.Publisher = "unix://" + filepath.Join(opts.DataDir, "none.sock")
	if err := os.MkdirAll(SpoolDir(opts.DataDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxSpooled {
		if err := os.Symlink("none", filepath.Join(SpoolDir(opts.DataDir), strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	got := answer(t.Context(), strings.NewReader(hookclienttest.Removals[0].Payload), opts, time.Minute)
	if !strings.Contains(strings.Join(got.Problems, " "), "publisher outbox flush --publisher "+opts.Publisher) {
		t.Errorf("got problems %q", got.Problems)
	}
	if got := recorded(t, opts.DataDir); len(got) != 2 || got[0].Kind() != events.ToolBefore {
		t.Errorf("recorded %v", got)
	}
}
