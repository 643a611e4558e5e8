package groupsocket

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// PeerUID returns the user id at the other end of a connection, which the client cannot choose.
func PeerUID(conn net.Conn) (uid int, err error) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a connection of a Unix socket")
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("user of a connection: %w", err)
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("user of a connection: %w", err)
	}
	return int(cred.Uid), nil
}
