package hookfile

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
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
	go p.watch()
	return p, nil
}

// watch waits for the program without reaping it, so that the system cannot reuse
// its id and the id of the group.
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

// end kills all processes of the group and returns the state of the program.
func (p *process) end() *os.ProcessState {
	unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) //nolint:errcheck // the group may be empty
	<-p.gone
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
	return p.cmd.ProcessState
}
