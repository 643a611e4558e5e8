// Package sshagent runs real ssh-agent processes for tests.
package sshagent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Agent is a running ssh-agent.
type Agent struct {
	Socket string

	tb  testing.TB
	cmd *exec.Cmd
	dir string
}

// Start starts an agent and sets SSH_AUTH_SOCK, or skips the test. If HOOKTRAIL_TEST_REQUIRE is 1,
// the test fails instead.
func Start(tb testing.TB) *Agent {
	tb.Helper()
	for _, name := range []string{"ssh-agent", "ssh-add", "ssh-keygen"} {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
			tb.Fatalf("%s is missing: install openssh-client", name)
		}
		tb.Skipf("%s is missing: install openssh-client", name)
	}
	dir, err := os.MkdirTemp("", "agent") //nolint:usetesting // a socket has a short path
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := &Agent{Socket: filepath.Join(dir, "s"), tb: tb, dir: dir}
	a.Run()
	if t, ok := tb.(interface{ Setenv(key, value string) }); ok {
		t.Setenv("SSH_AUTH_SOCK", a.Socket)
	}
	return a
}

// Run starts the process. After [Agent.Kill], it restarts the process without keys.
func (a *Agent) Run() {
	a.tb.Helper()
	a.cmd = exec.Command("ssh-agent", "-D", "-a", a.Socket)
	if err := a.cmd.Start(); err != nil {
		a.tb.Fatal(err)
	}
	cmd := a.cmd
	a.tb.Cleanup(func() { stop(cmd) })
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(a.Socket); err == nil {
			return
		}
		if time.Now().After(end) {
			a.tb.Fatal("ssh-agent did not start")
		}
	}
}

// Kill ends the process and removes its socket.
func (a *Agent) Kill() {
	stop(a.cmd)
	_ = os.Remove(a.Socket)
}

func stop(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Signal sends a signal to the process.
func (a *Agent) Signal(s os.Signal) {
	a.tb.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		a.tb.Fatal(err)
	}
}

// Add makes a key and adds it to the agent. It returns the fingerprint and the private file.
func (a *Agent) Add(name string) (fingerprint, path string) {
	a.tb.Helper()
	path = filepath.Join(a.dir, name)
	if _, err := os.Stat(path); err != nil {
		a.exec("", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", path)
	}
	a.exec("", "ssh-add", "-q", path)
	fields := strings.Fields(a.exec("", "ssh-keygen", "-l", "-f", path))
	return fields[1], path
}

// Lock locks the agent with a password.
func (a *Agent) Lock() { a.exec("secret", "ssh-add", "-x") }

// Unlock unlocks the agent.
func (a *Agent) Unlock() { a.exec("secret", "ssh-add", "-X") }

func (a *Agent) exec(password, name string, args ...string) string {
	a.tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK="+a.Socket)
	if password != "" {
		ask := filepath.Join(a.dir, "ask")
		if err := os.WriteFile(ask, []byte("#!/bin/sh\necho "+password+"\n"), 0o700); err != nil {
			a.tb.Fatal(err)
		}
		cmd.Env = append(cmd.Env, "SSH_ASKPASS="+ask, "SSH_ASKPASS_REQUIRE=force", "DISPLAY=:0")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		a.tb.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return string(out)
}
