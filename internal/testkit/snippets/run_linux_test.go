package snippets

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	pageEnv = "SNIPPETS_PAGE"
	pause   = 50 * time.Millisecond
)

// services run until a signal. A service is ready when its log matches, or when it holds the lock of
// a file if it logs nothing then.
var services = []struct{ command, ready *regexp.Regexp }{
	{regexp.MustCompile(`^hooktrail up\b`), regexp.MustCompile("hooktrail started")},
	{regexp.MustCompile(`^hooktrail run tail( +[-#]|$)`), regexp.MustCompile(".")},
	{regexp.MustCompile(`^publisher +serve\b`), regexp.MustCompile("publisher listening|publisher serves")},
	{regexp.MustCompile(`^auditor +serve\b`), regexp.MustCompile("uploads checkpoints now|waits")},
	{regexp.MustCompile(`^tracker +serve\b`), nil},
	{regexp.MustCompile(`^metrics +serve\b`), regexp.MustCompile("metrics served")},
	{regexp.MustCompile(`^auditor stream\b`), nil},
	{regexp.MustCompile(`^publisher import --follow\b`), nil},
	{regexp.MustCompile(`^nats-server -c [a-z.]+$`), regexp.MustCompile("Server is ready")},
}

// A shell runs lines like a person in a terminal does.
type shell struct {
	env  []string
	jobs []*job
}

type job struct {
	line   string
	log    *regexp.Regexp // matches when the service is ready
	cmd    *exec.Cmd
	output *os.File
	done   chan struct{} // closed at the end
	err    error         // of Wait; read it after done
}

func (s *shell) command(line string) *exec.Cmd {
	cmd := exec.Command("sh", "-e", "-c", line)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = home, s.env, &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// run runs a line, requires its exit status, and returns its output. While services run, it repeats
// a line that fails.
func (s *shell) run(t *testing.T, line string, want int) string {
	t.Helper()
	for _, service := range services {
		if service.command.MatchString(line) && !strings.Contains(line, "--drain") && want == 0 {
			s.start(t, line, service.ready)
			return ""
		}
	}
	exported := strings.HasPrefix(line, "export ")
	if exported {
		line += "\nenv -0"
	}
	for end := time.Now().Add(limit); ; time.Sleep(pause) {
		cmd := s.command(line)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Start()
		if err == nil {
			killer := time.AfterFunc(limit, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
			err = cmd.Wait()
			killer.Stop()
		}
		if got := cmd.ProcessState.ExitCode(); got == want {
			if exported {
				s.env = strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
			} else {
				t.Logf("$ %s\n%s%s", line, shorten(out.String()), shorten(errs.String()))
			}
			return out.String()
		}
		if len(s.jobs) == 0 || time.Now().After(end) {
			for _, j := range s.jobs {
				t.Logf("%s\n%s", j.line, j.printed())
			}
			t.Errorf("%s\n%v, want exit status %d\n%s%s", line, err, want, out.String(), errs.String())
			return ""
		}
	}
}

func shorten(text string) string {
	const most = 1500
	if len(text) > most {
		return text[:most] + "…\n"
	}
	return text
}

// start starts a service and waits until it is ready.
func (s *shell) start(t *testing.T, line string, ready *regexp.Regexp) {
	t.Helper()
	output, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	j := &job{line: line, log: ready, cmd: s.command("exec " + strings.TrimSuffix(line, " &")), output: output, done: make(chan struct{})}
	j.cmd.Stdout, j.cmd.Stderr = output, output
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()
	s.jobs = append(s.jobs, j)
	for end := time.Now().Add(limit); !j.ready(t); time.Sleep(pause) {
		select {
		case <-j.done:
			t.Fatalf("%s\nended with %v\n%s", line, j.err, j.printed())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%s\nis not ready\n%s", line, j.printed())
		}
	}
}

func (j *job) printed() string {
	text, err := os.ReadFile(j.output.Name())
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (j *job) ready(t *testing.T) bool {
	t.Helper()
	if j.log != nil {
		return j.log.MatchString(j.printed())
	}
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		t.Fatal(err)
	}
	for lock := range strings.Lines(string(locks)) {
		if fields := strings.Fields(lock); len(fields) > 4 && fields[4] == strconv.Itoa(j.cmd.Process.Pid) {
			return true
		}
	}
	return false
}

// stop ends the services, the latest first, and requires that each drains.
func (s *shell) stop(t *testing.T) {
	t.Helper()
	for len(s.jobs) > 0 {
		j := s.jobs[len(s.jobs)-1]
		s.jobs = s.jobs[:len(s.jobs)-1]
		if err := j.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		select {
		case <-j.done:
		case <-time.After(limit):
			_ = j.cmd.Process.Kill()
			<-j.done
		}
		t.Logf("$ %s\n%s", j.line, shorten(j.printed()))
		// A service that logs nothing may still be at its start.
		if j.err != nil && (j.log != nil || !strings.Contains(j.printed(), "context canceled")) {
			t.Errorf("%s\nended with %v\n%s", j.line, j.err, j.printed())
		}
		j.output.Close()
	}
}
