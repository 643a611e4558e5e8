//go:build !linux

package hookfile

// await waits for the exit of the program and reaps it. In theory, kill can then hit a new process
// group with its id.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
