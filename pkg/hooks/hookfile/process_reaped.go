//go:build !linux

package hookfile

// await waits until the program has exited and reaps it, because only Linux can wait without
// reaping. Afterwards the system can reuse the id of the process group. In theory, kill can then
// hit another group.
func (p *process) await() {
	p.cmd.Wait() //nolint:errcheck // ProcessState has the result
}
