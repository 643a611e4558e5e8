//go:build unix && !linux

package hookfile

import (
	"os"
	"os/exec"
	"syscall"
)

// process is a running program, which leads a process group.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has ended
}

// start starts cmd. The caller must call end.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		cmd.Wait() //nolint:errcheck // ProcessState has the result
	}()
	return p, nil
}

// exited is closed when the program has ended.
func (p *process) exited() <-chan struct{} { return p.gone }

// end kills all processes of the group and returns the state of the program. The
// program may have been reaped already, so in theory the id can belong to another
// group. Only Linux can wait without reaping.
func (p *process) end() *os.ProcessState {
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // the group may be empty
	<-p.gone
	return p.cmd.ProcessState
}
