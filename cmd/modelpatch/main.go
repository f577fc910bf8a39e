// Command modelpatch reads and changes the position encodings of ONNX and GGUF
// models. See modelpatch --help.
package main

import (
	"context"
	"os"
)

func main() { os.Exit(run()) }

// run is main without os.Exit, so that tests can call it.
func run() int {
	return execute(context.Background(), os.Args[1:], &console{out: &stdout{w: os.Stdout}, err: os.Stderr, color: wantsColor(), width: terminalWidth()})
}
