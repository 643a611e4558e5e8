package beads

import "syscall"

// dieWithUs has the system kill a child when this process is killed: what it does
// later would come on top of what the next process did meanwhile.
func dieWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
