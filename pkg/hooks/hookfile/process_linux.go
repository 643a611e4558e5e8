package hookfile

import (
	"errors"

	"golang.org/x/sys/unix"
)

// await waits until the program has exited but does not reap it. The process id and the id of the
// group therefore stay reserved until kill has been called.
func (p *process) await() {
	for {
		err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
