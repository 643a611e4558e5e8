//go:build unix && !linux

package hookfile

import (
	"os"
	"os/exec"
	"syscall"
)

// process is a running program that leads a process group of its own.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// start starts cmd. The caller ends it.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		cmd.Wait() //nolint:errcheck // the state says it
	}()
	return p, nil
}

// exited is closed when the program has ended.
func (p *process) exited() <-chan struct{} { return p.gone }

// end kills the whole group, whoever of it is left, and returns how the program
// itself ended. The program may have been reaped already, so that in theory the
// id of its group is somebody else's by now; only Linux can wait without reaping.
func (p *process) end() *os.ProcessState {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // nobody left
	<-p.gone
	return p.cmd.ProcessState
}
