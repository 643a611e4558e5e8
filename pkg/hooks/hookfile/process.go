package hookfile

import (
	"os"
	"os/exec"
)

type process struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the program has exited
}

// The caller of start must call end on the result.
func start(cmd *exec.Cmd) (*process, error) {
	lead(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, gone: make(chan struct{})}
	go func() {
		defer close(p.gone)
		p.await()
	}()
	return p, nil
}

func (p *process) exited() <-chan struct{} { return p.gone }

func (p *process) end() *os.ProcessState {
	p.kill()
	<-p.gone
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
	return p.cmd.ProcessState
}
