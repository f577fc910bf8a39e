// Command modelpatch reads and changes the position encodings of ONNX and GGUF
// models. See modelpatch --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run()) }

// run is main without os.Exit, so that tests can call it.
func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	return execute(ctx, os.Args[1:], &console{out: os.Stdout, err: os.Stderr, color: wantsColor()})
}
