package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await waits for the exit of the program. It does not reap the process, so that the ids of the
// process and its group stay reserved until kill has been called.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
