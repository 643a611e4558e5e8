package hook

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

var (
	fullPrograms = [][]string{{"publisher", "hook"}}
	programs     = [][]string{{"hooktrail-capture"}, {"publisher", "hook"}}
)

// statusMissing is the exit status that a shell returns for a missing program.
const statusMissing = 127

func replace(list [][]string, args []string, payload []byte) int {
	var err error
	if payload != nil {
		err = setStdin(payload)
	}
	if err == nil {
		err = run(list, args)
	}
	say("no program can answer this hook: " + err.Error() + "; install publisher into the same folder")
	return statusMissing
}

func run(list [][]string, args []string) (err error) {
	for _, program := range list {
		path, failed := find(program[0])
		if failed == nil {
			failed = syscall.Exec(path, slices.Concat(program, args), os.Environ()) //nolint:gosec // our programs, with our arguments
		}
		err = errors.Join(err, failed)
	}
	return err
}

func find(program string) (string, error) {
	if self, err := os.Executable(); err == nil {
		if path, err := exec.LookPath(filepath.Join(filepath.Dir(self), program)); err == nil {
			return path, nil
		}
	}
	return exec.LookPath(program)
}

const (
	pipeSize  = 64 << 10
	pipeGrace = 100 * time.Millisecond
)

func setStdin(payload []byte) error {
	if len(payload) > pipeSize {
		return setFile(payload)
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	if err := w.SetWriteDeadline(time.Now().Add(pipeGrace)); err != nil {
		return err
	}
	if _, err := w.Write(payload); err != nil {
		return setFile(payload)
	}
	return errors.Join(w.Close(), unix.Dup2(int(r.Fd()), 0))
}

func setFile(payload []byte) error {
	f, err := os.CreateTemp("", "hooktrail-")
	if err != nil {
		return err
	}
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	if _, err := f.Write(payload); err != nil {
		return err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return unix.Dup2(int(f.Fd()), 0)
}
