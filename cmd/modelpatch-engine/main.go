// Command modelpatch-engine has the engines that serve whole models, ONNX Runtime and llama.cpp, run
// them for modelpatch verify, which finds it beside itself or on PATH (package verify/engine has the
// protocol).
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/whole"
)

func main() {
	runtime.LockOSThread() // processes that it starts end with this thread
	os.Exit(engine.Serve(engine.Name, answer))
}

func answer(ctx context.Context, r engine.Request) engine.Answer {
	if r.Whole == nil {
		return engine.Unknown()
	}
	checks, refuses := whole.Run(ctx, *r.Whole)
	return engine.Answer{Checks: checks, Refuses: refuses}
}
