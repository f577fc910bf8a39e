//go:build unix && !linux

package llama

import "syscall"

// endWithParent does nothing where the kernel has no such thing.
func endWithParent(*syscall.SysProcAttr) {}
