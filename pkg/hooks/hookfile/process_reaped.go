//go:build !linux

package hookfile

// await waits for the program and reaps it. In theory, the kill can then hit another process with
// the same process id.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
