//go:build !linux

package hookfile

// await reaps the program, so in theory another process has its id at the kill.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
