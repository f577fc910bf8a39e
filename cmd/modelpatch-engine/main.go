// Command modelpatch-engine runs what would weigh on modelpatch itself: foreign
// code that checks its numbers, and the engines that serve whole models. It reads one JSON request on standard input and
// answers with one JSON object (package verify/engine has both). modelpatch
// verify finds it beside itself or on PATH.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/modelpatch/modelpatch/verify/crosscheck"
	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/whole"
)

// maxRequest bounds what is read.
const maxRequest = 1 << 30

func main() {
	runtime.LockOSThread() // processes that it starts end with this thread
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "modelpatch-engine is started by modelpatch verify; it takes no arguments and reads a request on standard input")
		os.Exit(2)
	}
	var request engine.Request
	if err := json.NewDecoder(io.LimitReader(os.Stdin, maxRequest)).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "modelpatch-engine: no JSON request:", err)
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer(ctx, request)); err != nil {
		fmt.Fprintln(os.Stderr, "modelpatch-engine:", err)
		os.Exit(5)
	}
}

func answer(ctx context.Context, r engine.Request) engine.Answer {
	switch {
	case r.Whole != nil:
		checks, refuses := whole.Run(ctx, *r.Whole)
		return engine.Answer{Checks: checks, Refuses: refuses}
	case r.Crosscheck == nil:
		return engine.Answer{Error: "the request asks for nothing that this version knows"}
	}
	out, err := crosscheck.Run(r.Crosscheck.Case())
	if err != nil {
		return engine.Answer{Error: err.Error()}
	}
	return engine.Answer{Output: engine.Numbers(out)}
}
