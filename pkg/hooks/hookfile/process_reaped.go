//go:build !linux

package hookfile

// await waits for the exit of the program and reaps it. In theory, its id can then belong to
// another process at kill.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
