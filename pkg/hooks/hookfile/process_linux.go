package hookfile

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
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
	go p.watch()
	return p, nil
}

// watch waits for the program without reaping it: until then its id, and with it
// that of the group, can be nobody else's.
func (p *process) watch() {
	defer close(p.gone)
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// exited is closed when the program has ended.
func (p *process) exited() <-chan struct{} { return p.gone }

// end kills the whole group, whoever of it is left, and returns how the program
// itself ended.
func (p *process) end() *os.ProcessState {
	unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) //nolint:errcheck // nobody left
	<-p.gone
	p.cmd.Wait() //nolint:errcheck // the state says it
	return p.cmd.ProcessState
}
