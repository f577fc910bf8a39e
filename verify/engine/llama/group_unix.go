//go:build unix

package llama

import (
	"os/exec"
	"syscall"
)

// ownGroup has c start a group of processes, so that those that it starts end with it.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(c.SysProcAttr)
}

// endGroup asks the group of c to end, or ends it.
func endGroup(c *exec.Cmd, hard bool) error {
	signal := syscall.SIGTERM
	if hard {
		signal = syscall.SIGKILL
	}
	return syscall.Kill(-c.Process.Pid, signal)
}
