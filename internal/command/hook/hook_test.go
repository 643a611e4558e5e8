package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/capture/hookclient/hookclienttest"
	"github.com/hooktrail/hooktrail/internal/capture/hooksocket"
	"github.com/hooktrail/hooktrail/internal/command/capture"
	"github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// programEnv makes this test binary run a program.
const programEnv = "HOOKTRAIL_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(programEnv) {
	case "hooktrail-hook":
		os.Exit(Run(os.Args[1:]))
	case "hooktrail-capture":
		os.Exit(capture.Run(os.Args[1:]))
	case "publisher":
		cli.Main(publisher.Command())
	}
	os.Exit(m.Run())
}

// programFolder returns a folder for PATH with some programs.
func programFolder(t *testing.T, names ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		script := "#!/bin/sh\n" + programEnv + "=" + name + " exec " + self + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func command(path, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), programEnv+"="+program, "PATH="+path, "GORACE=atexit_sleep_ms=0")
	return cmd
}

func hooked(t *testing.T, path, payload string, args ...string) hookclienttest.Output {
	t.Helper()
	cmd := command(path, "hooktrail-hook", args...)
	cmd.Stdin = strings.NewReader(payload)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return hookclienttest.Output{Status: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}
}

func serve(t *testing.T, path, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(path, "publisher", append([]string{"serve", "--listen", "127.0.0.1:0", "--data-dir", dir}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for range 1000 {
		if conn, err := hookclient.Dial(t.Context(), dir); err == nil {
			_ = conn.Close()
			return cmd
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the publisher does not serve")
	return nil
}

// A publisher decides and records. It needs no other program for that.
//
//guarantee:hook-program
func TestMain_Decided(t *testing.T) {
	dir := t.TempDir()
	serve(t, programFolder(t), dir, "--hooks", hookclienttest.HooksFile(t, hookclienttest.NoRemoval))
	nothing := programFolder(t)
	for _, r := range hookclienttest.Removals {
		args := append(append([]string{r.Tool}, strings.Fields(r.Event)...), "--data-dir", dir)
		if got := hooked(t, nothing, r.Payload, args...); got != (hookclienttest.Output{Stdout: r.Denied + "\n"}) {
			t.Errorf("%s: got %+v", r.Name, got)
		}
		harmless := strings.Replace(r.Payload, "rm -rf build/x", "ls", 1)
		if got := hooked(t, nothing, harmless, append(args, "--fail-closed")...); got != (hookclienttest.Output{}) {
			t.Errorf("%s: a harmless call got %+v", r.Name, got)
		}
	}
	// An unreadable payload may be a call, so the next program denies it.
	both := programFolder(t, "hooktrail-capture", "publisher")
	if got := hooked(t, both, "nonsense", "codex", "--data-dir", dir, "--fail-closed"); got.Status != 2 || !strings.Contains(got.Stderr, "not a JSON object") {
		t.Errorf("an unreadable payload: got %+v", got)
	}
}

// Without a publisher, hooktrail-capture or publisher hook records the same payload.
//
//guarantee:hook-program
func TestMain_Offline(t *testing.T) {
	large := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", "echo "+strings.Repeat("a ", 100_000), 1)
	for _, programs := range [][]string{{"hooktrail-capture", "publisher"}, {"publisher"}} {
		path, dir := programFolder(t, programs...), t.TempDir()
		for _, payload := range []string{hookclienttest.Removals[0].Payload, hookclienttest.Removals[1].Payload, large} {
			tool := "claude-code"
			if strings.Contains(payload, "turn_id") {
				tool = "codex"
			}
			if got := hooked(t, path, payload, tool, "--data-dir", dir); got != (hookclienttest.Output{}) {
				t.Errorf("%v: got %+v", programs, got)
			}
		}
		hooks := hookclienttest.HooksFile(t, hookclienttest.NoRemoval)
		if got := hooked(t, path, hookclienttest.Removals[2].Payload, "gemini-cli", "--data-dir", dir, "--hooks", hooks); got.Stdout != hookclienttest.Removals[2].Denied+"\n" {
			t.Errorf("%v: with a hooks file: got %+v", programs, got)
		}
		if calls := hookclienttest.Calls(t, hookclienttest.Forwarded(t, natstest.Start(t), dir)); len(calls) != 4 {
			t.Errorf("%v: recorded %d calls, want 4", programs, len(calls))
		}
	}
	if got := hooked(t, programFolder(t), "{}", "codex", "--data-dir", t.TempDir()); got.Status != statusMissing || !strings.Contains(got.Stderr, "no program can answer") {
		t.Errorf("without programs: got %+v", got)
	}
}

// A publisher that hangs costs the time of one decision. Later ones do not wait, and the record says
// so. That is the same at the socket of another user.
//
//guarantee:hook-hung
func TestMain_Hung(t *testing.T) {
	path := programFolder(t, "hooktrail-capture", "publisher")
	for _, remote := range []bool{false, true} {
		dir := t.TempDir()
		args, socket := []string{"claude-code", "--data-dir", dir, "--timeout", "300ms"}, filepath.Join(dir, hooksocket.SocketName)
		if remote {
			socket = filepath.Join(t.TempDir(), "p.sock")
			args = append(args, "--publisher", "unix://"+socket)
		}
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		hooked(t, path, hookclienttest.Removals[0].Payload, args...)
		args[4] = "1m"
		began := time.Now()
		for range 2 {
			if got := hooked(t, path, hookclienttest.Removals[0].Payload, append(args, "--fail-closed")...); !strings.Contains(got.Stdout, `"deny"`) {
				t.Errorf("got %+v", got)
			}
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("later decisions took %v", took)
		}
		if remote {
			continue // its events are in the spool
		}
		said := false
		for _, e := range hookclienttest.Forwarded(t, natstest.Start(t), dir) {
			said = said || e.Kind() == events.Custom && bytes.Contains(e.Data, []byte("not asked again for a moment"))
		}
		if !said {
			t.Error("the record does not say so")
		}
	}
}

// A hook that takes longer than the wait for a response decides, because the publisher has said that
// it works.
func TestMain_SlowHook(t *testing.T) {
	dir := t.TempDir()
	slow := "hooks:\n  PreToolUse:\n    - {type: command, command: [/bin/sh, -c, \"/bin/sleep 0.4; echo slow >&2; exit 2\"]}\n"
	serve(t, programFolder(t), dir, "--hooks", hookclienttest.HooksFile(t, slow))
	got := hooked(t, programFolder(t), hookclienttest.Removals[0].Payload, "claude-code", "--data-dir", dir)
	if got.Status != 0 || !strings.Contains(got.Stdout, "slow") {
		t.Errorf("got %+v", got)
	}
}

// A publisher that is killed during the decision does not lose the call.
func TestMain_Killed(t *testing.T) {
	path, dir := programFolder(t, "hooktrail-capture", "publisher"), t.TempDir()
	slow := "hooks:\n  PreToolUse:\n    - {type: command, command: [\"/bin/sleep\", \"2\"]}\n"
	p := serve(t, path, dir, "--hooks", hookclienttest.HooksFile(t, slow))
	if got := hooked(t, path, hookclienttest.Removals[1].Payload, "codex", "--data-dir", t.TempDir()); got.Status != 0 {
		t.Fatalf("got %+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "hook-ids.key"), []byte("unkeyed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(300*time.Millisecond, func() { _ = p.Process.Signal(syscall.SIGKILL) })
	if got := hooked(t, path, hookclienttest.Removals[0].Payload, "claude-code", "--data-dir", dir); got.Status != 0 || got.Stdout != "" {
		t.Errorf("got %+v", got)
	}
	calls := hookclienttest.Calls(t, hookclienttest.Forwarded(t, natstest.Start(t), dir))
	if len(calls) != 1 || !json.Valid(calls[0].Args) {
		t.Errorf("recorded %+v", calls)
	}
}

// A command that takes too many steps to judge is denied, and the next plain one as well.
//
//guarantee:long-command
func TestMain_LongCommand(t *testing.T) {
	const policies = "policies:\n  blockedCommands: [\"git reset --hard\"]\n  presets: [destructive-commands, secret-files, system-changes, supply-chain]\n"
	path, dir := programFolder(t, "hooktrail-capture", "publisher"), t.TempDir()
	serve(t, path, dir, "--hooks", hookclienttest.HooksFile(t, policies))
	for id, command := range []string{"git reset --hard", strings.Repeat("env ", 30_000) + "rm -rf /opt/x", "git reset --hard"} {
		payload := strings.Replace(hookclienttest.Removals[0].Payload, "rm -rf build/x", command, 1)
		if got := hooked(t, path, payload, "claude-code", "--data-dir", dir, "--timeout", "30s"); !strings.Contains(got.Stdout, `"deny"`) {
			t.Errorf("call %d: got %+v", id, got)
		}
	}
}

// A publisher that begins to answer and is slow works, so the next call asks it.
func TestMain_SlowPublisher(t *testing.T) {
	path, dir := programFolder(t, "hooktrail-capture", "publisher"), t.TempDir()
	hooks := "hooks:\n  PreToolUse:\n    - {type: command, command: [/bin/sh, -c, 'case \"$(/bin/cat)\" in *build/slow*) /bin/sleep 20;; esac; echo no >&2; exit 2']}\n"
	serve(t, path, dir, "--hooks", hookclienttest.HooksFile(t, hooks))
	call := func(file string, flags ...string) hookclienttest.Output {
		payload := strings.Replace(hookclienttest.Removals[0].Payload, "build/x", "build/"+file, 1)
		return hooked(t, path, payload, append([]string{"claude-code", "--data-dir", dir}, flags...)...)
	}
	call("first") // it makes the key for ids, so the next call is short
	began := time.Now()
	if got := call("slow", "--timeout", "1s", "--fail-closed"); !strings.Contains(got.Stdout, "did not decide in time") {
		t.Errorf("the slow call: got %+v after %v", got, time.Since(began))
	}
	if hooksocket.BreakerOf(dir, "").IsOpen() {
		t.Error("the breaker is open")
	}
	if got := call("next", "--timeout", "30s"); !strings.Contains(got.Stdout, `"deny"`) {
		t.Errorf("the next call: got %+v", got)
	}
}
