package siem

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

func unacknowledged(conn *net.TCPConn) (n int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { n, failed = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return n, errors.Join(err, failed)
}
