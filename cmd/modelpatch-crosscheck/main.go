// Command modelpatch-crosscheck has foreign code compute an attention for modelpatch verify, which finds
// it beside itself or on PATH. It links gorgonia.org/gorgonia and gorgonia.org/tensor, whose licence
// forbids commercial profit without a contribution: it is in no package, and built by who wants it
// (docs/decisions/0004-dependencies.md).
package main

import (
	"context"
	"os"

	"github.com/modelpatch/modelpatch/verify/crosscheck"
	"github.com/modelpatch/modelpatch/verify/engine"
)

func main() { os.Exit(engine.Serve(engine.CrosscheckName, answer)) }

func answer(_ context.Context, r engine.Request) engine.Answer {
	if r.Crosscheck == nil {
		return engine.Unknown()
	}
	out, err := crosscheck.Run(r.Crosscheck.Case())
	if err != nil {
		return engine.Answer{Error: err.Error()}
	}
	return engine.Answer{Output: engine.Numbers(out)}
}
