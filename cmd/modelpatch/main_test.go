package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/internal/testhub"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

var update = flag.Bool("update", false, "rewrite the expected outputs in scripts")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"modelpatch": func() { os.Exit(run()) }, "stubborn": stubborn})
}

// built is one of the other executables, built once for the scripts that need a real one.
func built(t *testing.T, name string) func() string {
	return sync.OnceValue(func() string {
		folder := t.TempDir()
		c := exec.Command("go", "build", "-o", folder, "../"+name)
		c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=") // not with the counters of a run that measures coverage
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return folder
	})
}

// shortScripts are those that -short runs (as the race detector does, under which a start takes ten times as long): of commands
// that work on several files at a time, compare, write, or talk to another process.
var shortScripts = []string{"check", "fleet", "inplace", "inspect", "names", "recover", "remote", "verify", "verify_full"}

// TestScripts runs the scripts in testdata/script. MODELS is the folder of
// small real models, COMMANDS that of modelpatch alone; $ORT_LIB and $LLAMA_SERVER are
// those of the environment. A condition [onnxruntime] or [llama-server] is that they are set,
// and the command engine then puts modelpatch-engine on PATH. The command hub FOLDER does so with
// modelpatch-remote, and starts a hub ($HF_ENDPOINT, $HF_TOKEN) and a store ($STORE) that serve the folder.
func TestScripts(t *testing.T) {
	models, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	folder, files := "testdata/script", []string(nil)
	if testing.Short() {
		for _, name := range shortScripts {
			files = append(files, filepath.Join(folder, name+".txtar"))
		}
		folder = ""
	}
	engine, remote := built(t, "modelpatch-engine"), built(t, "modelpatch-remote")
	testscript.Run(t, testscript.Params{
		Dir:           folder,
		Files:         files,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Setenv("MODELS", models)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("COMMANDS", filepath.SplitList(env.Getenv("PATH"))[0])
			for _, name := range []string{"ORT_LIB", "LLAMA_SERVER"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "insert":
				return canInsert(t), nil
			case "onnxruntime":
				return os.Getenv("ORT_LIB") != "", nil
			case "llama-server":
				return os.Getenv("LLAMA_SERVER") != "", nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"engine": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Setenv("PATH", engine()+string(os.PathListSeparator)+ts.Getenv("PATH"))
		}, "hub": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Setenv("PATH", remote()+string(os.PathListSeparator)+ts.Getenv("PATH"))
			h := testhub.Start(t, ts.MkAbs(args[0]), 0)
			ts.Setenv("HF_ENDPOINT", h.Addr)
			ts.Setenv("HF_TOKEN", testhub.Token)
			ts.Setenv("STORE", h.Store)
			ts.Setenv("SECRET", testhub.Secret)
		}, "exits": exits, "hinted": hinted, "bytes": sameBytes, "block": block, "examples": examples, "halfedit": halfEdit, "lock": lock, "setkey": setKey},
	})
}

// examples FILE runs the commands of a Markdown file's blocks that begin with "$ ", in order, on copies of the files of
// testdata that they name, and compares what they print with what the block says; -update writes that instead.
func examples(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: examples FILE")
	}
	page, err := os.ReadFile(args[0])
	ts.Check(err)
	parts := strings.Split(string(page), "```")
	for i := 1; i < len(parts); i += 2 {
		if !strings.HasPrefix(parts[i], "\n$ ") {
			continue
		}
		printed := "\n"
		for line := range strings.Lines(parts[i]) {
			if !strings.HasPrefix(line, "$ ") {
				continue
			}
			command := strings.Fields(strings.TrimPrefix(line, "$ "))
			for _, arg := range command {
				if strings.HasPrefix(arg, "testdata/") {
					copyAll(ts, filepath.Join(ts.Getenv("MODELS"), "..", arg), ts.MkAbs(arg))
				}
			}
			if err := ts.Exec(command[0], command[1:]...); err != nil {
				ts.Logf("%s: %v", strings.Join(command, " "), err) // check and diff say no by their exit code
			}
			printed += line + ts.ReadFile("stdout")
		}
		if printed != parts[i] && !*update {
			ts.Fatalf("%s says\n%s\nand the commands print\n%s", filepath.Base(args[0]), parts[i], printed)
		}
		parts[i] = printed
	}
	if *update {
		ts.Check(os.WriteFile(args[0], []byte(strings.Join(parts, "```")), 0o666))
	}
}

// copyAll copies a file, or a folder.
func copyAll(ts *testscript.TestScript, from, to string) {
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		ts.Check(os.RemoveAll(to))
		ts.Check(os.CopyFS(to, os.DirFS(from)))
		return
	}
	data, err := os.ReadFile(from)
	ts.Check(err)
	ts.Check(os.MkdirAll(filepath.Dir(to), 0o777))
	ts.Check(os.WriteFile(to, data, 0o666))
}

// canInsert reports whether blocks of 4096 bytes can be inserted into files
// where the scripts run.
func canInsert(t *testing.T) bool {
	path := filepath.Join(t.TempDir(), "m")
	if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	block, err := patch.InsertBlock(path, nil)
	return err == nil && block == 4096
}

// hinted BEFORE AFTER has verify find two models different, and its hint typed into a shell find
// the planned change.
func hinted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hinted BEFORE AFTER")
	}
	exits(ts, false, append([]string{"1", "modelpatch", "verify", "--no-engine"}, args...))
	line, ok := strings.CutPrefix(strings.TrimSpace(ts.ReadFile("stderr")), "hint: ")
	if !ok {
		ts.Fatalf("no hint")
	}
	ts.Check(ts.Exec("sh", "-c", line))
	if out := ts.ReadFile("stdout"); !strings.HasPrefix(out, report.VerdictChangedAsPlanned+": ") {
		ts.Fatalf("%s: %s", line, out)
	}
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

// setKey FILE NEW [KEY TYPE VALUE]… copies a GGUF file, or makes one of nothing for -, with keys of
// type u32, i32, f32, str or i32s (numbers with commas between) in it; none removes a key, and
// tensor adds a tensor of the zeros that VALUE counts.
func setKey(ts *testscript.TestScript, _ bool, args []string) {
	was := append([]byte("GGUF\x03"), make([]byte, 19)...)
	if args[0] != "-" {
		was = []byte(ts.ReadFile(args[0]))
	}
	f, err := gguf.NewFile(bytes.NewReader(was), int64(len(was)))
	ts.Check(err)
	e := f.Edit()
	for set := args[2:]; len(set) > 0; set = set[3:] {
		key, kind, text := set[0], set[1], set[2]
		var list []int32
		x, _ := strconv.ParseFloat(text, 64)
		for word := range strings.SplitSeq(text, ",") {
			n, _ := strconv.Atoi(word)
			list = append(list, int32(n))
		}
		switch kind {
		case "none":
			e.Delete(key, "test")
		case "tensor":
			e.Add(key, gguf.F32, []int64{int64(x)}, patch.Zeros(int64(4*x)), "test")
		default:
			e.Set(key, map[string]gguf.Value{"u32": gguf.Uint32(uint32(x)), "i32": gguf.Int32(int32(x)), "f32": gguf.Float32(float32(x)),
				"str": gguf.String(text), "i32s": gguf.Int32s(list...)}[kind], "test")
		}
	}
	plan, err := e.Plan()
	ts.Check(err)
	content, err := io.ReadAll(plan.NewReader(0, bytes.NewReader(was)))
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), content, 0o600))
}

// halfEdit FILE leaves an edit in place as a crash in its middle does.
func halfEdit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	plan := patch.Plan{Inputs: []patch.Input{{Path: path, Size: info.Size()}}, Outputs: []patch.Output{{}},
		Edits: []patch.Edit{{At: info.Size() - 4, Old: 4, New: patch.Text("half")}}}
	defer func() {
		if recover() == nil {
			ts.Fatalf("the edit was finished")
		}
	}()
	patch.InPlace(context.Background(), plan, patch.InPlaceOptions{Check: func(string) error { panic("crash") }})
}

// block PAGE N FILE writes the Nth fenced block of a page of Markdown, from 1, to a file.
func block(ts *testscript.TestScript, _ bool, args []string) {
	parts := strings.Split("\n"+ts.ReadFile(args[0]), "\n```")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	if 2*n > len(parts)-1 {
		ts.Fatalf("%s has %d blocks", args[0], len(parts)/2)
	}
	_, text, _ := strings.Cut(parts[2*n-1], "\n") // behind the name of the language
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text+"\n"), 0o600))
}

// lock FILE holds the lock of a writer until the script ends.
func lock(ts *testscript.TestScript, _ bool, args []string) {
	f, err := patch.OS.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { f.Close() })
	free, err := f.TryLock()
	ts.Check(err)
	if !free {
		ts.Fatalf("locked already")
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

// TestLines: whatever stands in a message, no line of it is long or starts with
// a command for a CI runner.
func TestLines(t *testing.T) {
	long := strings.Repeat("name ", 1000)
	if got := shortened("m.onnx: " + long + ": why"); len([]rune(got)) > 1000 || !strings.HasPrefix(got, "m.onnx: ") || !strings.HasSuffix(got, ": why") {
		t.Errorf("%d: %.20s…%s", len(got), got, got[len(got)-20:])
	}
	for _, space := range []string{" ", "\u00a0", "\u1680", "\u2003", "\u3000"} {
		for n := range 100 {
			name := strings.Repeat("a", n) + space + "::error file=x::y"
			for line := range strings.Lines(fold(text(name), 20, 0, "  ")) {
				if strings.HasPrefix(strings.TrimSpace(line), "::") {
					t.Errorf("%q gives the line %q", name, line)
				}
			}
		}
	}
}

// TestStartedAlone: executables that modelpatch starts say so to somebody who starts them, whether
// nothing comes on their input or the null device does.
func TestStartedAlone(t *testing.T) {
	for name, hint := range map[string]string{"modelpatch-remote": "modelpatch inspect hf://", "modelpatch-engine": "modelpatch verify --engine"} {
		path := filepath.Join(built(t, name)(), name)
		for _, in := range []io.Reader{nil, strings.NewReader("")} { // nil is the null device
			c := exec.Command(path)
			var says strings.Builder
			c.Stdin, c.Stderr = in, &says
			err := c.Run()
			e, ok := errors.AsType[*exec.ExitError](err)
			if !ok || e.ExitCode() != modelpatch.ExitUsage || !strings.HasPrefix(says.String(), name+": no request: it is started by modelpatch") || !strings.Contains(says.String(), "\nhint: "+hint) {
				t.Errorf("%s: %v, %q", name, err, says.String())
			}
		}
		if out, err := exec.Command(path, "--help").Output(); err != nil || !strings.HasPrefix(string(out), name+" ") || !strings.Contains(string(out), "\nUsage:\n  "+hint) {
			t.Errorf("%s --help: %v, %q", name, err, out)
		}
	}
}
