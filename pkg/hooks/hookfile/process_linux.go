package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await waits for the program but does not reap it, so that no other process gets its process id
// before the kill.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
