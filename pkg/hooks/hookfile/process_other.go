//go:build !unix

package hookfile

import (
	"os"
	"os/exec"
)

// process is a running program. This system has no process groups, so the
// children of the program outlive it.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has ended
}

// start starts cmd. The caller must call end.
func start(cmd *exec.Cmd) (*process, error) {
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

// end kills the program and returns its state.
func (p *process) end() *os.ProcessState {
	p.cmd.Process.Kill() //nolint:errcheck // it has ended
	<-p.gone
	return p.cmd.ProcessState
}
