//go:build !linux

package beads

import "syscall"

// dieWithUs does nothing: only Linux can.
func dieWithUs(*syscall.SysProcAttr) {}
