//go:build !linux

package groupsocket

import (
	"errors"
	"net"
)

// PeerUID returns an error, because only Linux provides the user id.
func PeerUID(net.Conn) (uid int, err error) {
	return 0, errors.New("user of a connection: not supported on this system")
}
