// Command modelpatch-engine runs what would weigh on modelpatch itself: foreign
// code that checks its numbers. It reads one JSON request on standard input and
// answers with one JSON object (package verify/engine has both). modelpatch
// verify finds it beside itself or on PATH.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/modelpatch/modelpatch/verify/crosscheck"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// maxRequest bounds what is read.
const maxRequest = 1 << 30

func main() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "modelpatch-engine is started by modelpatch verify; it takes no arguments and reads a request on standard input")
		os.Exit(2)
	}
	var request engine.Request
	if err := json.NewDecoder(io.LimitReader(os.Stdin, maxRequest)).Decode(&request); err != nil {
		fmt.Fprintln(os.Stderr, "modelpatch-engine: no JSON request:", err)
		os.Exit(2)
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer(request)); err != nil {
		fmt.Fprintln(os.Stderr, "modelpatch-engine:", err)
		os.Exit(5)
	}
}

func answer(r engine.Request) engine.Answer {
	if r.Crosscheck == nil {
		return engine.Answer{Error: "the request asks for nothing that this version knows"}
	}
	out, err := crosscheck.Run(r.Crosscheck.Case())
	if err != nil {
		return engine.Answer{Error: err.Error()}
	}
	return engine.Answer{Output: engine.Numbers(out)}
}
