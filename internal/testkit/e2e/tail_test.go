package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/tail"
)

// Two tails print each event once, although the auditor is killed and the ledger is rebuilt.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	publish := func(id string) {
		run(t, 0, "publisher", "import", "--no-wait", "--data-dir", dir, transcriptOf(t, id, 2))
	}
	auditor := start(t, nil, "auditor", "serve", "--data-dir", dir)
	publish("s1")
	waitUntil(t, "a ledger", func() bool {
		p := start(t, nil, "hooktrail", "run", "show", "s1", "--data-dir", dir)
		return p.status(t) == 0
	})
	text := start(t, nil, "hooktrail", "run", "tail", "--data-dir", dir, "--lines", "0")
	facts := start(t, nil, "hooktrail", "run", "tail", "--data-dir", dir, "--json", "--lines", "-1")
	one := start(t, nil, "hooktrail", "run", "tail", "s1", "--data-dir", dir)
	if got := one.status(t); got != 0 || !strings.Contains(one.stdout.String(), "Bash ls") {
		t.Errorf("a run that ended: status %d, %s%s", got, one.stdout.String(), one.stderr.String())
	}
	seals := func(of *process, ids ...string) func() bool {
		return func() bool {
			for _, id := range ids {
				if !strings.Contains(of.stdout.String(), id+"  claude-code  • sealed") && !strings.Contains(of.stdout.String(), `"run":"`+id+`","agent":"claude-code","source":"claude-code","kind":"run.sealed"`) {
					return false
				}
			}
			return true
		}
	}
	waitUntil(t, "the past", seals(facts, "s1"))

	auditor.kill()
	publish("s2")
	waitUntil(t, "a word about the auditor", func() bool { return strings.Contains(text.stderr.String(), "waits: no auditor runs on this directory") })
	auditor = start(t, nil, "auditor", "serve", "--data-dir", dir)
	waitUntil(t, "the events behind the kill", seals(text, "s2"))
	waitUntil(t, "the events behind the kill", seals(facts, "s2"))

	if err := auditor.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	auditor.status(t)
	publish("s3")
	run(t, 0, "auditor", "rebuild", "--data-dir", dir)
	waitUntil(t, "the events of the rebuild", seals(text, "s3"))
	start(t, nil, "auditor", "serve", "--data-dir", dir)
	publish("s4")
	for _, of := range []*process{text, facts} {
		waitUntil(t, "the events behind the rebuild", seals(of, "s4"))
		if err := of.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if got := of.status(t); got != 0 {
			t.Errorf("Ctrl-C: status %d, %s", got, of.stderr.String())
		}
	}
	if strings.Contains(text.stdout.String(), "  s1  ") {
		t.Errorf("the past was printed:\n%s", text.stdout.String())
	}
	once := map[string]bool{}
	for line := range strings.Lines(facts.stdout.String()) {
		var l tail.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if once[l.ID] {
			t.Errorf("twice: %s", line)
		}
		once[l.ID] = true
	}
}

// A tail ends soon after its reader has closed the pipe, also if no event arrives.
func TestTail_ClosedPipe(t *testing.T) {
	dir := t.TempDir()
	run(t, 0, "publisher", "import", "--data-dir", dir, transcriptOf(t, "s1", 2))
	run(t, 0, "auditor", "serve", "--drain", "--data-dir", dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "run", "tail", "--data-dir", dir)
	cmd.Env = append(os.Environ(), commandEnv+"=hooktrail", "GORACE=atexit_sleep_ms=0")
	var said printed
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	if ended, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err != nil && (!ok || ended.Signal() != syscall.SIGPIPE) {
		t.Errorf("%v: %s", err, said.String())
	}
	if strings.Contains(said.String(), "pipe") {
		t.Errorf("said %s", said.String())
	}
}

// A tail that starts before the first event prints it.
func TestTail_BeforeTheFirstEvent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	start(t, nil, "auditor", "serve", "--data-dir", dir)
	var p *process
	waitUntil(t, "the tail waits", func() bool {
		p = start(t, nil, "hooktrail", "run", "tail", "--data-dir", dir)
		waitUntil(t, "an answer", func() bool { return p.stderr.String() != "" })
		if strings.Contains(p.stderr.String(), "waits: ") {
			return true
		}
		p.kill()
		return false
	})
	run(t, 0, "publisher", "import", "--no-wait", "--data-dir", dir, transcriptOf(t, "s1", 1))
	waitUntil(t, "the first event", func() bool { return strings.Contains(p.stdout.String(), "… Bash ls") })
}
