package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await does not reap the program, so that its process id is not reused before the kill.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
