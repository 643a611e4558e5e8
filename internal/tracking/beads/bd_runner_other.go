//go:build !linux

package beads

import "syscall"

func killWithParent(*syscall.SysProcAttr) {}
