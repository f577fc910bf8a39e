package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/report"
)

// standIn names what this test's own executable does in the place of modelpatch-engine.
const standIn = "MODELPATCH_TEST_ENGINE"

func TestMain(m *testing.M) {
	if does := os.Getenv(standIn); does != "" {
		stand(does)
	}
	os.Exit(m.Run())
}

// stand reads a request, says what it is at, and does something that no engine should.
func stand(does string) {
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		os.Exit(9)
	}
	fmt.Fprintln(os.Stderr, "loads before.onnx")
	fmt.Fprintln(os.Stderr, "loads after.onnx")
	switch does {
	case "crash":
		fmt.Print(`{"checks":[{"name":"engine","verdict":"pass"`)
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		time.Sleep(time.Minute)
		panic(err)
	case "panic":
		panic("no engine")
	case "exit":
		os.Exit(3)
	case "hang":
		time.Sleep(time.Hour)
	case "stubborn":
		signal.Ignore(endSignal)
		time.Sleep(time.Hour)
	case "words":
		fmt.Println("all is well")
	case "half":
		fmt.Print(`{"checks":[{"name":"engine","verdict":"pass"}`)
	case "number":
		fmt.Print(`42`)
	case "nothing":
	case "endless":
		for line := strings.Repeat("x", 1<<16); ; {
			if _, err := fmt.Print(line); err != nil {
				os.Exit(1)
			}
		}
	case "pass":
		fmt.Print(`{"checks":[{"name":"engine","verdict":"pass","why":"both files"}]}`)
	}
	os.Exit(0)
}

// TestEngineThatFails has executables in the engine's place that crash, hang or answer
// rubbish: each is a failed check, and a sentence.
func TestEngineThatFails(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ does, want string }{
		{"crash", "modelpatch-engine crashed (signal: killed); it said last: loads after.onnx"},
		{"panic", "modelpatch-engine ended with exit code 2 and without an answer; it said last: "},
		{"exit", "modelpatch-engine ended with exit code 3 and without an answer; it said last: loads after.onnx"},
		{"words", `modelpatch-engine gave no answer in JSON (invalid character 'a' looking for beginning of value): "all is well\n"; it said last: loads after.onnx`},
		{"half", "modelpatch-engine gave no answer in JSON (unexpected end of JSON input)"},
		{"number", "modelpatch-engine gave no answer in JSON (json: cannot unmarshal number"},
		{"nothing", "modelpatch-engine gave no answer in JSON (unexpected end of JSON input)"},
		{"endless", "modelpatch-engine answered with more than 67108864 bytes"},
	} {
		t.Run(c.does, func(t *testing.T) {
			if c.does == "crash" && runtime.GOOS == "windows" {
				t.Skip("no signals")
			}
			t.Setenv(standIn, c.does)
			checks, refuses := Whole(t.Context(), self, Pair{Format: "onnx"})
			if len(checks) != 1 || checks[0].Name != report.CheckEngine || checks[0].Verdict != report.CheckFail || !strings.HasPrefix(checks[0].Why, c.want) || refuses != "" {
				t.Errorf("got %+v, want %q", checks, c.want)
			}
			if v := (report.Verify{Checks: checks}); !Ran(v) {
				t.Error("a crash counts as an engine that was not there")
			}
		})
	}
	t.Setenv(standIn, "pass")
	if checks, _ := Whole(t.Context(), self, Pair{}); len(checks) != 1 || checks[0].Verdict != report.CheckPass || checks[0].Why != "both files" {
		t.Errorf("a sound one: %+v", checks)
	}
}

// TestEngineThatHangs gives an executable that never answers its time.
func TestEngineThatHangs(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hangs := []string{"hang"}
	if !testing.Short() && runtime.GOOS != "windows" {
		hangs = append(hangs, "stubborn") // is killed when the time of grace is over
	}
	for _, does := range hangs {
		t.Setenv(standIn, does)
		start := time.Now()
		checks, _ := whole(t.Context(), self, Pair{}, 2*time.Second)
		if len(checks) != 1 || checks[0].Verdict != report.CheckSkipped || checks[0].Why != "not run: modelpatch-engine gave no answer in 2s and was ended; it said last: loads after.onnx" {
			t.Errorf("%s: %+v", does, checks)
		}
		if d := time.Since(start); d > graceTime+10*time.Second {
			t.Errorf("%s: ended after %s", does, d)
		}
	}
	// A user who ends modelpatch is no failure of the engine.
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the user"))
	defer cancel()
	t.Setenv(standIn, "hang")
	if checks, _ := Whole(ctx, self, Pair{}); len(checks) != 1 || checks[0].Verdict != report.CheckSkipped {
		t.Errorf("stopped: %+v", checks)
	}
}
