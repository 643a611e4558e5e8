package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await waits for the program without reaping, so that the system cannot reuse
// its id and the id of the group before kill.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
