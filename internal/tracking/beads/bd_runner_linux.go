package beads

import "syscall"

// killWithParent prevents bd from outliving this process. Otherwise two processes could write to
// the workspace at once.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
