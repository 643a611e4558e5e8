//go:build !linux

package groupsocket

import (
	"errors"
	"net"
)

// PeerUID always returns an error, because this system does not support it. Only Linux does.
func PeerUID(net.Conn) (uid int, err error) {
	return 0, errors.New("user of a connection: not supported on this system")
}
