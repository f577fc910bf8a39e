//go:build unix

package regular

import "syscall"

const nonblocking = syscall.O_NONBLOCK
