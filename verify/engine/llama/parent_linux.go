package llama

import "syscall"

// endWithParent has the kernel end the process when the thread that started it ends:
// the caller must hold on to its thread (runtime.LockOSThread).
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
