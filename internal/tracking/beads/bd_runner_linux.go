package beads

import "syscall"

// killWithParent makes Linux kill bd when this process dies. Otherwise bd could write while the
// next process uses the workspace.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
