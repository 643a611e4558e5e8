package hookclient

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// impatient returns a hook that waits for hardly anything.
func impatient(t *testing.T, stdin io.Reader, flags Flags) *hook {
	t.Helper()
	h := &hook{Flags: flags, dataDir: t.TempDir(), stdin: stdin, patience: 300 * time.Millisecond}
	h.Timeout = 200 * time.Millisecond
	h.identify([]string{"claude-code"})
	return h
}

// A stdin that nobody closes holds up no agent; that something is missing is
// recorded.
func TestHook_StdinStaysOpen(t *testing.T) {
	for _, closed := range []bool{false, true} {
		r, w := io.Pipe()
		h := impatient(t, r, Flags{FailClosed: closed})
		dir := h.dataDir
		a := h.answer(t.Context())
		if want := map[bool]int{true: 2}[closed]; a.reply.Exit != want || len(a.reply.Stdout) > 0 || !strings.Contains(strings.Join(a.problems, " "), errLate.Error()) {
			t.Errorf("with --fail-closed %v: got %+v", closed, a)
		}
		if err := Sweep(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
		if got := recorded(t, dir); len(got) != 1 || got[0].Kind() != events.Custom || !strings.Contains(string(got[0].Data), errLate.Error()) {
			t.Errorf("recorded %v", got)
		}
		w.Close()
	}
}

// What has been decided is said, also when it cannot be recorded in time.
func TestHook_DecidedInTime(t *testing.T) {
	for _, closed := range []bool{false, true} {
		h := impatient(t, strings.NewReader(hookclienttest.Removals[0].Payload), Flags{Hooks: hookclienttest.HooksFile(t, hookclienttest.NoRemoval), FailClosed: closed})
		hanging := filepath.Join(SharedOutbox(h.dataDir), "outbox.json")
		if err := os.MkdirAll(filepath.Dir(hanging), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(hanging, 0o600); err != nil { // whoever reads it waits
			t.Fatal(err)
		}
		dir := h.dataDir
		a := h.answer(t.Context())
		if files, err := filepath.Glob(filepath.Join(SpoolDir(dir), "*")); err != nil || len(files) != 1 {
			t.Errorf("what is missing is told in %v, %v", files, err)
		} else if list, err := spooled(files[0]); err != nil || len(list) != 1 || list[0].Run != "s1" {
			t.Errorf("what is missing is told as %v, %v; want of run s1", list, err)
		}
		if got := string(a.reply.Stdout); !strings.Contains(got, `"deny"`) || !closed && got != hookclienttest.Removals[0].Denied+"\n" {
			t.Errorf("with --fail-closed %v: got %+v", closed, a)
		}
		if f, err := os.OpenFile(hanging, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// panicking panics when it is read.
type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("boom") }

// A panic allows nothing where nothing goes on without a decision.
func TestHook_Panics(t *testing.T) {
	for _, closed := range []bool{false, true} {
		a := impatient(t, panicking{}, Flags{FailClosed: closed}).answer(t.Context())
		if want := map[bool]int{true: 2}[closed]; a.reply.Exit != want || !strings.Contains(strings.Join(a.problems, " "), "internal error: boom") {
			t.Errorf("with --fail-closed %v: got %+v", closed, a)
		}
	}
}

// What is no file holds up nobody.
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

// A file that another process takes while it is being locked is not missed.
func TestSweep_TakenMeanwhile(t *testing.T) {
	dir := t.TempDir()
	if err := spool(dir, (&hook{}).told("", nil)); err != nil {
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

// The publisher is asked about the result that the hooks before it left, so that
// what they withhold does not come back.
func TestHook_WithheldResult(t *testing.T) {
	tool, err := agents.Named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	p, err := tool.Parse([]byte(`{"session_id":"s1","cwd":"/p","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"env"},"tool_response":"secret","tool_use_id":"t1"}`), agents.Context{Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	d := after(p.Document, &hooks.DocumentOutcome{Value: `{"status":"success","result":"[withheld]"}`})
	if d.Result != `"[withheld]"` {
		t.Errorf("got %s", d.Result)
	}
	d = after(p.Document, &hooks.DocumentOutcome{Value: `{"status":"error","error":"[withheld]"}`})
	if d.Error != "[withheld]" {
		t.Errorf("got %q", d.Error)
	}
}
