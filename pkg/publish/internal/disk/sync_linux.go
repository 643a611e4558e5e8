package disk

import (
	"os"
	"strings"
	"syscall"
)

// Sync syncs the content of f to disk.
func Sync(f *os.File) error {
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

// BootID returns an id of the current boot, or "" if unknown.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
