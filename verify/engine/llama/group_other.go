//go:build !unix

package llama

import "os/exec"

// ownGroup does nothing where there are no groups of processes.
func ownGroup(*exec.Cmd) {}

// endGroup ends c alone.
func endGroup(c *exec.Cmd, _ bool) error { return c.Process.Kill() }
