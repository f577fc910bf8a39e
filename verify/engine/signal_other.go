//go:build !unix

package engine

import "os"

// endSignal ends an executable.
var endSignal = os.Kill
