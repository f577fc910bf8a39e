//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// writer is a flag that writes a file: a command in a folder with m.gguf and n.gguf, where OUT stands for
// the file. old is what the file may hold before.
type writer struct {
	flag string
	args string
	old  string
	ends string // how what it writes ends, "" where the same command gives the same bytes
	adds bool   // it adds to the old file
}

// writers are all flags that write.
var writers = []writer{
	{flag: "check --format", args: "check --fail-on never --format text,sarif=OUT m.gguf", old: "old"},
	{flag: "check --write-baseline", args: "check --write-baseline --baseline OUT m.gguf", old: "{}"},
	{flag: "check --journal", args: "check --journal OUT m.gguf", old: `{"schema":"modelpatch.journal/1"}` + "\n", ends: "}\n", adds: true},
	{flag: "inspect --journal", args: "inspect --json --journal OUT m.gguf", old: `{"schema":"modelpatch.journal/1"}` + "\n", ends: "}\n", adds: true},
	{flag: "inspect --html", args: "inspect -f --html OUT m.gguf", old: "<html>"},
	{flag: "plot -o", args: "plot -f --format svg -o OUT m.gguf", old: "<svg>"},
	{flag: "--edits", args: "extend --len 64 -f --edits OUT m.gguf", old: "[]"},
	{flag: "--provenance", args: "extend --len 64 -f -o new.gguf --provenance OUT m.gguf", old: "{}", ends: "}\n"},
	{flag: "-o", args: "extend --len 64 -f -o OUT m.gguf", old: "old"},
	{flag: "--patch-only", args: "extend --len 64 -f --patch-only -o OUT m.gguf", old: "old"},
	{flag: "diff --patch", args: "diff -f --patch OUT m.gguf n.gguf", old: "old"},
}

// to is the command for a target.
func (w writer) to(target string) []string {
	args := strings.Fields(w.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "OUT", target)
	}
	return args
}

// folder makes the models and the configuration beside them.
func (w writer) folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	model, err := os.ReadFile("../../testdata/gguf/llama-plain.gguf")
	if err != nil {
		t.Fatal(err)
	}
	other := append(slices.Clone(model), "more"...)
	for name, content := range map[string][]byte{"m.gguf": model, "n.gguf": other, "config.json": []byte(`{"max_position_embeddings": 32}`)} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// run runs a command in a folder, by a shell line that ends in "$@" where one is given.
func (w writer) run(t *testing.T, dir, shell string, args []string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, "modelpatch", args...)
	if shell != "" {
		c = exec.CommandContext(ctx, "sh", append([]string{"-c", shell, "modelpatch"}, args...)...)
	}
	c.Dir, c.WaitDelay = dir, time.Second
	b, _ := c.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("%s hangs", strings.Join(args, " "))
	}
	return c.ProcessState.ExitCode(), string(b)
}

// state is every file below a folder, with its kind and content.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content := []byte(nil)
		if d.Type().IsRegular() {
			content, err = os.ReadFile(path)
		}
		name, _ := filepath.Rel(dir, path)
		out[name] = d.Type().String() + string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestOutputsRefused: no flag writes over an input, through a link, or into a pipe or a device; nothing in the
// folder changes.
func TestOutputsRefused(t *testing.T) {
	places := []struct {
		name string
		make func(dir, target string) error
		is   string // the target; "": a free name
	}{
		{name: "input", is: "m.gguf"},
		{name: "file beside the input", is: "config.json"},
		{name: "model", make: func(dir, target string) error { return os.Rename(filepath.Join(dir, "n.gguf"), target) }},
		{name: "link", make: func(dir, target string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "precious"), []byte("{}"), 0o600), os.Symlink("precious", target))
		}},
		{name: "link that leads nowhere", make: func(dir, target string) error { return os.Symlink("nowhere", target) }},
		{name: "pipe", make: func(dir, target string) error { return syscall.Mkfifo(target, 0o600) }},
		{name: "device", make: func(dir, target string) error {
			return syscall.Mknod(target, syscall.S_IFCHR|0o666, 1<<8|3)
		}},
		{name: "folder", make: func(dir, target string) error { return os.MkdirAll(filepath.Join(target, "x"), 0o700) }},
	}
	for _, w := range writers {
		for _, p := range places {
			t.Run(w.flag+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				dir, target, named := w.folder(t), p.is, p.is
				if target == "" {
					target, named = "out", "out"
				}
				if strings.HasSuffix(w.flag, "patch") || w.flag == "--patch-only" {
					named += ".mpatch"
				}
				switch own := w.flag == "-o" || named != target; {
				case own && p.name == "model", w.flag == "diff --patch" && p.name == "model":
					t.Skip("its own kind of file, which --force replaces")
				case own && strings.HasPrefix(p.name, "link"):
					t.Skip("--force replaces the link itself, see inplace-refused.txtar")
				case named != target && p.is != "":
					t.Skip("a patch has a name of its own")
				}
				if p.make != nil {
					if err := p.make(dir, filepath.Join(dir, named)); errors.Is(err, fs.ErrPermission) {
						t.Skip("skipped by name: a device (no right to make one)")
					} else if err != nil {
						t.Fatal(err)
					}
				}
				before := state(t, dir)
				code, out := w.run(t, dir, "", w.to(target))
				if code != 2 && code != 4 && code != 5 || w.flag == "-o" && p.name == "file beside the input" && code != 2 {
					t.Errorf("exit code %d: %s", code, out)
				}
				for name, content := range before {
					if now := state(t, dir)[name]; now != content {
						t.Errorf("%s changed: %d bytes, were %d: %s", name, len(now), len(content), out)
					}
				}
				if p.is == "" || p.name == "input" {
					unwritten(t, dir, before, w)
				}
			})
		}
	}
}

// unwritten fails where a folder has more than before.
func unwritten(t *testing.T, dir string, before map[string]string, w writer) {
	t.Helper()
	for name := range state(t, dir) {
		if _, ok := before[name]; !ok {
			t.Errorf("%s leaves %s", w.flag, name)
		}
	}
}

// TestOutputsOfOneRun: two flags do not write one file, by whatever name.
func TestOutputsOfOneRun(t *testing.T) {
	w := writers[0]
	for _, args := range []string{
		"check --format sarif=o,junit=o m.gguf",
		"check --format sarif=o,junit=./o m.gguf",
		"check --format sarif=o --write-baseline --baseline o m.gguf",
		"check --format sarif=o --journal o m.gguf",
		"check --format sarif=-,junit=/dev/stdout m.gguf",
		"inspect --json --html o --journal o m.gguf",
		"extend --len 64 --edits o --provenance o -o new.gguf m.gguf",
		"extend --len 64 --edits o -o o m.gguf",
		"extend --len 64 --provenance o -o ./o m.gguf",
		"extend --len 64 --patch-only -o o --edits o.mpatch m.gguf",
	} {
		for _, there := range []bool{false, true} {
			dir := w.folder(t)
			if there {
				if err := os.WriteFile(filepath.Join(dir, "o"), []byte(`{"schema":"modelpatch.journal/1"}`+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			before := state(t, dir)
			if code, out := w.run(t, dir, "", strings.Fields(args)); code != 2 && !(there && code == 5) {
				t.Errorf("%s: exit code %d: %s", args, code, out)
			}
			unwritten(t, dir, before, w)
			for name, content := range before {
				if state(t, dir)[name] != content {
					t.Errorf("%s: %s changed", args, name)
				}
			}
		}
	}
}

// TestOutputsFollow: --follow writes what a link leads to, and the link stays.
func TestOutputsFollow(t *testing.T) {
	w := writers[0]
	dir := w.folder(t)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "real"), []byte("old"), 0o640), os.Symlink("real", filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	if code, out := w.run(t, dir, "", append(w.to("out"), "--follow")); code != 0 {
		t.Fatal(code, out)
	}
	s := state(t, dir)
	info, err := os.Stat(filepath.Join(dir, "real"))
	if !strings.Contains(s["real"], "sarif") || !strings.HasPrefix(s["out"], "L") || err != nil || info.Mode() != 0o640 {
		t.Error(s["real"], s["out"], info.Mode(), err)
	}
	for target, text := range map[string]string{"-": "sarif", "/dev/stdout": "sarif", "/dev/stderr": "sarif"} {
		if code, out := w.run(t, dir, "", strings.Fields("check --format sarif="+target+" m.gguf")); code != 0 || !strings.Contains(out, text) {
			t.Error(target, code, out)
		}
	}
}

// TestOutputsMode: a new file has the mode that the umask gives.
func TestOutputsMode(t *testing.T) {
	for _, w := range writers {
		if slices.Contains([]string{"-o", "--edits", "--patch-only", "diff --patch"}, w.flag) {
			continue // what holds bytes of a model has its mode
		}
		dir := w.folder(t)
		if code, out := w.run(t, dir, `umask 027 && exec "$0" "$@"`, w.to("out")); code != 0 {
			t.Fatal(w.flag, code, out)
		}
		if info, err := os.Stat(filepath.Join(dir, "out")); err != nil || info.Mode() != 0o640 {
			t.Error(w.flag, info.Mode(), err)
		}
	}
}

// TestOutputsFullDisk: where nothing can be written the old file stays, or none, and no other is left.
func TestOutputsFullDisk(t *testing.T) {
	for _, w := range writers {
		for _, there := range []bool{false, true} {
			t.Run(fmt.Sprint(w.flag, "/", there), func(t *testing.T) {
				t.Parallel()
				dir := w.folder(t)
				if there {
					w.put(t, dir)
				}
				before := state(t, dir)
				if code, out := w.run(t, dir, `ulimit -f 0 && exec "$0" "$@"`, w.to("out")); code != 5 {
					t.Errorf("exit code %d: %s", code, out)
				}
				unwritten(t, dir, before, w)
				for name, content := range before {
					if now := state(t, dir)[name]; now != content {
						t.Errorf("%s changed: %q", name, now)
					}
				}
			})
		}
	}
}

// made is the name of what a flag writes for the target out.
func (w writer) made() string {
	if w.flag == "--patch-only" || w.flag == "diff --patch" {
		return "out.mpatch"
	}
	return "out"
}

// put writes the old file.
func (w writer) put(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, w.made()), []byte(w.old), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOutputsKilled: a kill leaves the old file, or none, or the new one, and never a part.
func TestOutputsKilled(t *testing.T) {
	kills := 6
	if testing.Short() {
		kills = 1
	}
	for _, w := range writers {
		t.Run(w.flag, func(t *testing.T) {
			t.Parallel()
			dir := w.folder(t)
			began := time.Now()
			if code, out := w.run(t, dir, "", w.to("out")); code > 1 {
				t.Fatal(code, out)
			}
			took := time.Since(began)
			whole, err := os.ReadFile(filepath.Join(dir, w.made()))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 * kills {
				dir := w.folder(t)
				if i%2 == 1 {
					w.put(t, dir)
				}
				c := exec.Command("modelpatch", w.to("out")...)
				c.Dir = dir
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(took * time.Duration(i/2+1) / time.Duration(kills))
				c.Process.Kill()
				c.Wait()
				got, err := os.ReadFile(filepath.Join(dir, w.made()))
				switch {
				case err != nil && i%2 == 0:
				case err == nil && i%2 == 1 && string(got) == w.old:
				case err == nil && w.ends == "" && string(got) == string(whole):
				case err == nil && w.ends != "" && strings.HasSuffix(string(got), w.ends) && (w.adds || json.Valid(got)):
				default:
					t.Errorf("kill %d: %v, %d bytes: %.80q", i, err, len(got), got)
				}
			}
		})
	}
}
