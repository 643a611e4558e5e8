package beads

import "syscall"

// killWithParent makes Linux kill the child when this process dies. Otherwise the child
// could still write after the next process has started.
func killWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
