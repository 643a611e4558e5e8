package beads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	maxAnswer = 64 << 20
	maxErrors = 1 << 20
)

var (
	errHung    = errors.New("bd did not answer in time")
	errTooLong = errors.New("answer is too long")
)

type runner struct {
	path     string
	deadline time.Duration
	env      []string
}

// call returns the output for every exit status. Pass texts as --flag=value, because a text can
// look like a flag.
func (r *runner) call(ctx context.Context, dir string, args ...string) (answer, error) {
	return r.callFor(ctx, r.deadline, dir, args...)
}

func (r *runner) callFor(ctx context.Context, limit time.Duration, dir string, args ...string) (answer, error) {
	timed, cancel := context.WithTimeoutCause(ctx, limit, errHung)
	defer cancel()
	stdout, stderr := &bounded{limit: maxAnswer, cancel: cancel}, &bounded{limit: maxErrors}
	cmd := exec.CommandContext(timed, r.path, args...)
	cmd.Dir, cmd.Env = dir, r.environment(dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	killWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := runOnOneThread(cmd)
	if timed.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	command := args[0]
	var exit *exec.ExitError
	switch {
	case stdout.full:
		return answer{}, fmt.Errorf("bd %s: %w: %w", command, ErrTransient, errTooLong)
	case ctx.Err() != nil:
		return answer{}, fmt.Errorf("bd %s: %w: %w", command, ErrTransient, ctx.Err())
	case timed.Err() != nil:
		return answer{}, fmt.Errorf("bd %s: %w: %w", command, ErrTransient, context.Cause(timed))
	case errors.As(err, &exit) && !exit.Exited():
		return answer{}, fmt.Errorf("bd %s was ended by a signal: %w", command, ErrTransient)
	case errors.As(err, &exit):
		return answer{command, stdout.Bytes(), stderr.Bytes(), exit.ExitCode()}, nil
	case err != nil:
		return answer{}, fmt.Errorf("run %s, the Beads CLI that --bd names: %w: %w", r.path, ErrUnavailable, err)
	}
	return answer{command, stdout.Bytes(), stderr.Bytes(), 0}, nil
}

func (r *runner) callWithFile(ctx context.Context, dir string, content []byte, args func(path string) []string) (a answer, err error) {
	f, err := os.CreateTemp(dir, tempPattern)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return answer{}, fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	return r.call(ctx, dir, args(f.Name())...)
}

const tempPattern = ".hooktrail-*.jsonl"

// runOnOneThread keeps the thread alive, because Linux kills a child with Pdeathsig when the thread
// that started it ends.
func runOnOneThread(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	return <-done
}

// environment passes few variables, because other variables could select another workspace or make
// bd wait for input.
func (r *runner) environment(dir string) []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		wanted := slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ"}, name)
		if wanted || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "BEADS_DOLT_") {
			env = append(env, v)
		}
	}
	env = append(env, "BD_JSON_ENVELOPE=1", "BD_NON_INTERACTIVE=1",
		"BD_DISABLE_METRICS=1", "DO_NOT_TRACK=1", "DOLT_METRICS_DISABLED=1", "DOLT_DISABLE_EVENT_FLUSH=1",
		"BD_NO_PAGER=1", "NO_COLOR=1", "BEADS_ACTOR="+actor, "BD_ACTOR="+actor,
		"BEADS_DIR="+filepath.Join(dir, ".beads"), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	return append(env, r.env...)
}

const actor = "hooktrail"

type bounded struct {
	bytes.Buffer
	limit  int
	full   bool
	cancel func() // called when bytes are discarded, or nil
}

// Write never fails, because os/exec would stop reading the output of bd after an error.
func (w *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := w.limit - w.Len(); n > room {
		p = p[:room]
		if w.full = true; w.cancel != nil {
			w.cancel()
		}
	}
	w.Buffer.Write(p)
	return n, nil
}
