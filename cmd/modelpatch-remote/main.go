// Command modelpatch-remote reads model files from servers for modelpatch, which starts it when a
// model is named by an address. Requests come on its standard input and answers go to its standard
// output (package remote/process); it is of no use by itself.
package main

import (
	"context"
	"errors"
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
	switch {
	case len(os.Args) == 2 && (os.Args[1] == "--help" || os.Args[1] == "-h"):
		fmt.Print(help)
		return 0
	case len(os.Args) > 1 || isDevice(os.Stdin):
		return alone()
	}
	signal.Ignore(os.Interrupt) // modelpatch, which gets it too, decides; its end closes the input
	err := process.Serve(context.Background(), os.Stdin, os.Stdout, connect)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, io.EOF): // before any request
		return alone()
	}
	fmt.Fprintln(os.Stderr, "modelpatch-remote:", err)
	return 1
}

const help = `modelpatch-remote reads models at addresses for modelpatch, which starts it.

It takes no arguments: requests come on its standard input, answers go to its
standard output. Give modelpatch the address of a model; docs/remote.md says more.

Usage:
  modelpatch inspect hf://ORG/REPO/FILE
`

// alone says what to do instead to somebody who started it.
func alone() int {
	fmt.Fprintln(os.Stderr, "modelpatch-remote: no request: it is started by modelpatch, which reads models by their address")
	fmt.Fprintln(os.Stderr, "hint: modelpatch inspect hf://ORG/REPO/FILE")
	return 2
}

// isDevice reports whether a file is a terminal or the null device, from which no request comes.
func isDevice(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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
