// Command modelpatch-remote reads model files from servers for modelpatch, which starts it when a
// model is named by an address. Requests come on its standard input and answers go to its standard
// output (package remote/process); it is of no use by itself.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/modelpatch/modelpatch/remote"
	"github.com/modelpatch/modelpatch/remote/process"
)

func main() { os.Exit(run()) }

// run is main without os.Exit, so that tests can call it.
func run() int {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "modelpatch-remote is started by modelpatch, which reads models by their address: modelpatch inspect hf://ORG/REPO/FILE")
		return 2
	}
	signal.Ignore(os.Interrupt) // modelpatch, which gets it too, decides; its end closes the input
	if err := process.Serve(context.Background(), os.Stdin, os.Stdout, connect); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// client is remote.Client as process.Serve wants it.
type client struct{ *remote.Client }

func connect(ctx context.Context, o process.Options) process.Client {
	return client{remote.New(ctx, remote.Options{Offline: o.Offline, MaxBytes: o.MaxBytes, AllowPrivate: o.AllowPrivate, Agent: o.Agent})}
}

// Reader opens the file at an address.
func (c client) Reader(ctx context.Context, at string) (io.ReaderAt, int64, bool, error) {
	f, err := c.Open(ctx, at)
	if err != nil {
		return nil, 0, false, err
	}
	return f, f.Size(), f.Pinned(), nil
}
