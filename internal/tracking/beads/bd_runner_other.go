//go:build !linux

package beads

import "syscall"

// killWithParent does nothing, because only Linux supports it.
func killWithParent(*syscall.SysProcAttr) {}
