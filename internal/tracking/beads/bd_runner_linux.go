package beads

import "syscall"

// killWithParent makes Linux kill bd when this process dies. Otherwise bd could write to a
// workspace that the next process uses.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
