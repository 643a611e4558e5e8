package agents

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// limit is the time of a session, which normally takes a few seconds.
const limit = 2 * time.Minute

// Box is the environment of an agent, with a home folder, a project and programs.
type Box struct {
	Agent   *Agent
	Home    string
	Project string
	Bin     string   // first folder of the PATH
	Env     []string // environment of the agent and its hooks

	modules string
}

// NewBox makes the folders of an agent below dir, and writes its settings.
func NewBox(tb testing.TB, a *Agent, modules, dir string, m *Model) *Box {
	tb.Helper()
	b := &Box{
		Agent: a, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Bin: filepath.Join(dir, "bin"),
		modules: modules,
	}
	for _, folder := range []string{b.Home, b.Project, b.Bin, filepath.Join(dir, "tmp")} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			tb.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(tb.Context(), "git", "init", "--quiet", b.Project).CombinedOutput(); err != nil {
		tb.Fatalf("git init: %v\n%s", err, out)
	}
	for name, text := range a.settings {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(withURL(text, m.URL)), 0o600)); err != nil {
			tb.Fatal(err)
		}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		tb.Fatal(err)
	}
	const nowhere = "http://127.0.0.1:1" // a proxy that does not exist
	b.Env = []string{
		"HOME=" + b.Home, "PATH=" + strings.Join([]string{b.Bin, filepath.Dir(node), "/usr/local/bin", "/usr/bin", "/bin"}, ":"),
		"TMPDIR=" + filepath.Join(dir, "tmp"), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb",
		"HTTP_PROXY=" + nowhere, "HTTPS_PROXY=" + nowhere, "http_proxy=" + nowhere, "https_proxy=" + nowhere,
		"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
	}
	for _, variable := range a.env {
		b.Env = append(b.Env, withURL(variable, m.URL))
	}
	return b
}

// Session is a session of an agent that has ended.
type Session struct {
	Status int
	Output string // stdout and stderr
	Took   time.Duration
	CPU    time.Duration // of the agent and its children
}

// Run runs a session. It ends the processes of the agent that remain afterwards.
func (b *Box) Run(tb testing.TB) Session {
	tb.Helper()
	var out bytes.Buffer
	s := b.start(tb, &out, &out, b.Agent.args...)
	s.Output = out.String()
	return s
}

// Transcript returns the file with the transcript of a session.
func (b *Box) Transcript(tb testing.TB, session string) string {
	tb.Helper()
	if b.Agent.export == nil {
		found, err := filepath.Glob(filepath.Join(b.Home, b.Agent.transcript))
		if err != nil || len(found) != 1 {
			tb.Fatalf("transcripts at %s: %v, %v, want one", b.Agent.transcript, found, err)
		}
		return found[0]
	}
	file, err := os.Create(filepath.Join(filepath.Dir(b.Home), "transcript"))
	if err != nil {
		tb.Fatal(err)
	}
	var errs bytes.Buffer
	s := b.start(tb, file, &errs, append(b.Agent.export, session)...)
	if err := file.Close(); err != nil || s.Status != 0 {
		tb.Fatalf("export the session: status %d, %v\n%s", s.Status, err, errs.String())
	}
	return file.Name()
}

func (b *Box) start(tb testing.TB, stdout, stderr io.Writer, args ...string) Session {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.Agent.program(b.modules), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.Project, b.Env, stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second // hooks may run on and hold stdout open
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	if cmd.ProcessState == nil {
		tb.Fatalf("start %s: %v", b.Agent.Name, err)
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if ctx.Err() != nil {
		tb.Fatalf("%s did not end within %v; stderr:\n%v", b.Agent.Name, limit, stderr)
	}
	s := cmd.ProcessState
	return Session{Status: s.ExitCode(), Took: took, CPU: s.UserTime() + s.SystemTime()}
}

// Has reports whether the project has a file.
func (b *Box) Has(name string) bool {
	_, err := os.Stat(filepath.Join(b.Project, name))
	return err == nil
}
