package beads

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxAnswer = 64 << 20
	maxErrors = 1 << 20
)

// What a call of bd may come to beside an answer.
var (
	errHung    = errors.New("bd did not answer in time")
	errTooLong = errors.New("answer is too long")
)

// Versions of Beads.
var (
	oldest  = release{1, 0, 3} // the first that answers in an envelope
	counted = release{1, 0, 5} // the first whose show has comments only when it is asked for them
)

// release is a version without what comes behind its numbers.
type release [3]int

// answer is what bd said.
type answer struct {
	command        string
	stdout, stderr []byte
	code           int
}

// call runs bd in a workspace. The arguments that come from elsewhere are values
// of flags, in the same word: --title=…; no shell sees them.
func (b *BD) call(ctx context.Context, dir string, args ...string) (answer, error) {
	return b.callFor(ctx, b.opts.Deadline, dir, args...)
}

func (b *BD) callFor(ctx context.Context, limit time.Duration, dir string, args ...string) (answer, error) {
	timed, cancel := context.WithTimeoutCause(ctx, limit, errHung)
	defer cancel()
	stdout, stderr := &bounded{most: maxAnswer, cancel: cancel}, &bounded{most: maxErrors}
	cmd := exec.CommandContext(timed, b.opts.Path, args...)
	cmd.Dir, cmd.Env = dir, b.environment(dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithUs(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = killGrace
	err := runWhole(cmd)
	if timed.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of its group
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
		return answer{}, fmt.Errorf("run %s, the Beads CLI that --bd names: %w: %w", b.opts.Path, ErrUnavailable, err)
	}
	return answer{command, stdout.Bytes(), stderr.Bytes(), 0}, nil
}

// runWhole runs cmd on one thread: the system ends a child when the thread ends
// that started it.
func runWhole(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		done <- cmd.Run()
	}()
	return <-done
}

// environment is that of bd: what it needs of ours, and nothing that would have
// it look at another workspace or ask a person.
func (b *BD) environment(dir string) []string {
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
	return append(env, b.opts.Env...)
}

// actor is who Beads says it was.
const actor = "hooktrail"

// bounded keeps the first bytes of what is written to it.
type bounded struct {
	bytes.Buffer
	most   int
	full   bool
	cancel func() // what to do when there is more; nil: nothing
}

// Write implements io.Writer. It never fails: a program is not to be stopped by
// what it says.
func (w *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if room := w.most - w.Len(); n > room {
		p = p[:room]
		if w.full = true; w.cancel != nil {
			w.cancel()
		}
	}
	w.Buffer.Write(p)
	return n, nil
}

// data decodes what an answer has in its envelope: {"schema_version":1,"data":…}.
func (a answer) data(v any) error {
	var envelope struct {
		Version int             `json:"schema_version"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(a.stdout, &envelope); err != nil || envelope.Data == nil {
		return fmt.Errorf("bd %s: answer is cut off or none of Beads: %w", a.command, ErrTransient)
	}
	if envelope.Version != 1 {
		return fmt.Errorf("bd %s: answer has schema version %d, want 1: %w", a.command, envelope.Version, ErrUnavailable)
	}
	if err := json.Unmarshal(envelope.Data, v); err != nil {
		return fmt.Errorf("bd %s: answer is of another shape: %w", a.command, ErrTransient)
	}
	return nil
}

// says reports whether bd said one of these. How it is used, which it tells when it
// refuses something, is not meant: there it speaks of locks, for one.
func (a answer) says(texts ...string) bool {
	all := bytes.ToLower(append(bytes.Clone(a.stdout), a.stderr...))
	all, _, _ = bytes.Cut(all, []byte("\nusage:"))
	return slices.ContainsFunc(texts, func(t string) bool { return bytes.Contains(all, []byte(t)) })
}

// checkVersion makes sure, until the version is forgotten, that bd is Beads: other
// programs have the name.
func (b *BD) checkVersion(ctx context.Context, dir string) error {
	b.spaceMu.Lock()
	known := b.version != ""
	b.spaceMu.Unlock()
	if known {
		return nil
	}
	a, err := b.call(ctx, dir, "version", "--json")
	if err != nil {
		return err
	}
	var v struct {
		Version string `json:"version"`
	}
	if a.data(&v) != nil {
		_ = json.Unmarshal(a.stdout, &v) // what is older has no envelope
	}
	if v.Version == "" || a.code != 0 {
		return fmt.Errorf("%s is another program than the Beads CLI (it does not answer to bd version --json): name that with --bd: %w",
			b.opts.Path, ErrUnavailable)
	}
	if oldest.isAfter(v.Version) {
		return fmt.Errorf("%s is Beads %.20q, %d.%d.%d or later is needed: name one with --bd: %w",
			b.opts.Path, v.Version, oldest[0], oldest[1], oldest[2], ErrUnavailable)
	}
	b.spaceMu.Lock()
	b.version = v.Version
	b.spaceMu.Unlock()
	return nil
}

// forgetVersion has bd asked for its version again: it can be replaced at any time.
func (b *BD) forgetVersion() {
	b.spaceMu.Lock()
	defer b.spaceMu.Unlock()
	b.version = ""
}

// isAfter reports whether version comes before r.
func (r release) isAfter(version string) bool {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts := strings.Split(version, ".")
	for n, number := range r {
		have := 0
		if n < len(parts) {
			have, _ = strconv.Atoi(parts[n])
		}
		if have != number {
			return have < number
		}
	}
	return false
}

// fine reports whether bd did what it was to do. That there was nothing to do is
// fine too: it then ends with 1.
func (a answer) fine() bool { return a.code == 0 || a.says("nothing to commit") }

func (a answer) isBusy() bool {
	return a.says("failed to open database", "connection refused", "database is locked", "database is read only",
		"exclusive lock", "lock wait timeout", "lock busy", "locked by another", "held by another process", "restarting transaction")
}

// without returns the answer without commands that bd repeats in it: what they say
// comes from agents.
func (a answer) without(commands []command) answer {
	for _, c := range commands {
		if text, err := json.Marshal(c.text); err == nil {
			a.stderr = bytes.ReplaceAll(a.stderr, text[1:len(text)-1], nil)
		}
	}
	return a
}

// withFile has do read content from a file that nobody else can read, and that is
// gone afterwards.
func (b *BD) withFile(sp *space, content []byte, do func(path string) (answer, error)) (a answer, err error) {
	f, err := os.CreateTemp(sp.dir, tempPattern)
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return answer{}, fmt.Errorf("%w: %w: %w", errWorkspace, ErrTransient, err)
	}
	return do(f.Name())
}

const tempPattern = ".hooktrail-*.jsonl"
