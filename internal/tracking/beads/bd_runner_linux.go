package beads

import "syscall"

// killWithParent makes Linux kill bd when this process dies. Otherwise two processes could write to
// the workspace at once.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
