//go:build !linux

package siem

import "net"

// unacknowledged is not known on this system.
func unacknowledged(*net.TCPConn) (int, error) { return 0, nil }
