//go:build !linux

package groupsocket

import (
	"errors"
	"net"
)

// PeerUID fails, because only Linux names the user of a connection this way.
func PeerUID(net.Conn) (uid int, err error) {
	return 0, errors.New("user of a connection: not supported on this system")
}
