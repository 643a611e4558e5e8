package publish

import (
	"os"
	"strings"
	"syscall"
)

// syncData puts the contents of f on disk.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for {
		cerr := conn.Control(func(fd uintptr) { err = syscall.Fdatasync(int(fd)) })
		if cerr != nil {
			return cerr
		}
		if err != syscall.EINTR { //nolint:errorlint // straight from the system call
			return err
		}
	}
}

// bootID names the present boot of this machine; empty when it cannot be told.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
