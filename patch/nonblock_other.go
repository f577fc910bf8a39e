//go:build !unix

package patch

// nonblock has no meaning where pipes are not among the files.
const nonblock = 0
