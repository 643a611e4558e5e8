//go:build !linux

package hookfile

// await waits for the exit of the program and reaps it. In theory, a new process group can get its
// id and be killed. Only Linux can wait without reaping.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
