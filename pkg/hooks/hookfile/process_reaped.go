//go:build !linux

package hookfile

// await waits for the exit of the program and reaps it, because only Linux can wait without
// reaping. In theory, kill can then hit another process group with the same id.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
