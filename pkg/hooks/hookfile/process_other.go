//go:build !unix

package hookfile

import "os/exec"

func lead(*exec.Cmd) {}

func (p *process) kill() {
	p.cmd.Process.Kill() //nolint:errcheck // it has ended
}
