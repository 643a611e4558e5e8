package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await waits for the exit of the program without reaping it, so that its id stays reserved until
// kill.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
