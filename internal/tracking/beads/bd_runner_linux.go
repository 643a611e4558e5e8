package beads

import "syscall"

// killWithParent makes Linux kill the child when this process dies. Otherwise, bd could still
// write to the workspace while the next process is already using it.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
