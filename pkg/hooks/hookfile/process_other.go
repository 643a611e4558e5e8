//go:build !unix

package hookfile

import (
	"os"
	"os/exec"
)

// process is a running program. There are no process groups here: what it has
// started itself outlives it.
type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has ended
}

// start starts cmd. The caller ends it.
func start(cmd *exec.Cmd) (*process, error) {
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

// end kills the program and returns how it ended.
func (p *process) end() *os.ProcessState {
	p.cmd.Process.Kill() //nolint:errcheck // it has ended
	<-p.gone
	return p.cmd.ProcessState
}
