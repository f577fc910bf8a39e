package main

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"modelpatch": func() { os.Exit(run()) }})
}

// TestScripts runs the scripts in testdata/script. MODELS is the folder of
// small real models.
func TestScripts(t *testing.T) {
	models, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODELS", models)
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "bytes": sameBytes},
	})
}

// exits CODE COMMAND… runs the command and checks its exit code, which "!
// exec" cannot.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if e, ok := err.(interface{ ExitCode() int }); ok {
		code = e.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// sameBytes FILE FILE N checks that two files differ in N bytes.
func sameBytes(ts *testscript.TestScript, _ bool, args []string) {
	a, b := ts.ReadFile(args[0]), ts.ReadFile(args[1])
	if len(a) != len(b) {
		ts.Fatalf("%d and %d bytes", len(a), len(b))
	}
	n := 0
	for i := range len(a) {
		if a[i] != b[i] {
			n++
		}
	}
	if strconv.Itoa(n) != args[2] {
		ts.Fatalf("%d bytes differ, want %s", n, args[2])
	}
}
