//go:build unix

package patch

import "syscall"

// nonblock keeps an open of a FIFO from waiting for its other end.
const nonblock = syscall.O_NONBLOCK
