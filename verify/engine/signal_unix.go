//go:build unix

package engine

import "syscall"

// endSignal asks an executable to end what it started, then itself.
const endSignal = syscall.SIGTERM
