package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

const limit = 3 * time.Minute

type process struct {
	cmd    *exec.Cmd
	stdout printed
	stderr printed
	done   chan struct{} // closed at the end
	err    error         // of Wait; read it after done
}

type printed struct {
	mu   sync.Mutex // guards text; the process may still be writing
	text bytes.Buffer
}

// Write implements io.Writer.
func (p *printed) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func start(t testing.TB, stdin []byte, name string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startProgram(t, self, nil, stdin, name, args...)
}

// startProgram is start with a copy of this program and a user.
func startProgram(t testing.TB, program string, user *syscall.Credential, stdin []byte, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(program, args...), done: make(chan struct{})}
	if user != nil {
		p.cmd.Dir, p.cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: user}
	}
	// The race detector would sleep for a second at the end.
	p.cmd.Env = append(os.Environ(), commandEnv+"="+name, "GORACE=atexit_sleep_ms=0")
	p.cmd.Stdin = bytes.NewReader(stdin)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() { p.kill() })
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

func (p *process) status(t testing.TB) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		t.Fatalf("%v did not end in %v; stderr:\n%s", p.cmd.Args[1:], limit, p.stderr.String())
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("wait for %v: %v", p.cmd.Args[1:], p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

func run(t testing.TB, want int, name string, args ...string) string {
	t.Helper()
	return feed(t, nil, want, name, args...)
}

func feed(t testing.TB, stdin []byte, want int, name string, args ...string) string {
	t.Helper()
	p := start(t, stdin, name, args...)
	if got := p.status(t); got != want {
		t.Fatalf("%s %v: got exit status %d, want %d; stdout:\n%s\nstderr:\n%s",
			name, args, got, want, p.stdout.String(), p.stderr.String())
	}
	return p.stdout.String()
}
