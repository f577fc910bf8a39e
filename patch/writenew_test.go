package patch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeFile makes a file in dir and returns its path.
func writeFile(t *testing.T, dir, name, content string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(content), 0o640); err != nil {
		t.Fatal(err)
	}
	return path
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// onlyFiles fails unless dir holds exactly the named files.
func onlyFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("folder holds %q, want %q", got, names)
	}
}

func filePlan(path string, edits ...Edit) Plan {
	info, err := os.Stat(path)
	if err != nil {
		panic(err)
	}
	p := onePlan(info.Size(), edits...)
	p.Inputs[0] = Input{Path: path, Size: info.Size(), Info: info}
	return p
}

func TestWriteNew(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "in", strings.Repeat("kept", 1<<20)+"tail")
	p := filePlan(in, Edit{At: 4, Old: 4, New: Text("new!!")}, Edit{At: 4 << 20, New: Text("+")})
	var last, total int64
	out := filepath.Join(dir, "out")
	written, err := WriteNew(context.Background(), p, out, WriteOptions{
		Digest:   true,
		Progress: func(d, n int64) { last, total = d, n },
		Check: func(path string) error {
			if filepath.Dir(path) != dir {
				t.Errorf("root is made in %s, not beside its target", path)
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "keptnew!!" + strings.Repeat("kept", 1<<20-2) + "+tail"
	if readFile(t, out) != want {
		t.Error("wrong bytes")
	}
	if last != total || total != int64(len(want)) {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	if w := written[0]; w.Path != out || w.Bytes != int64(len(want)) || len(w.SHA256) != 64 {
		t.Errorf("%+v", w)
	}
	if info, _ := os.Stat(out); info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v", info.Mode())
	}
	onlyFiles(t, dir, "in", "out")
}

func TestWriteNewSeveral(t *testing.T) {
	const first, second, third = "o-00001-of-00003.gguf", "o-00002-of-00003.gguf", "o-00003-of-00003.gguf"
	in, dir := t.TempDir(), t.TempDir()
	p := Plan{
		Inputs: []Input{
			{Path: writeFile(t, in, "m-00001-of-00003.gguf", "root"), Size: 4},
			{Path: writeFile(t, in, "m-00002-of-00003.gguf", "data"), Size: 4},
			{},
		},
		Outputs: []Output{{Input: 0}, {Input: 1, Name: second}, {Input: 2, Name: third}},
		Edits:   []Edit{{File: 1, At: 4, New: Text("+")}, {File: 2, New: Text("all new")}},
	}
	out := filepath.Join(dir, first)
	check := func(path string) error {
		if got := readFile(t, filepath.Join(filepath.Dir(path), second)); got != "data+" {
			t.Errorf("data beside the root is %q", got)
		}
		return nil
	}
	if _, err := WriteNew(context.Background(), p, out, WriteOptions{Check: check}); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, first, second, third)
	if readFile(t, filepath.Join(dir, third)) != "all new" {
		t.Error("wrong bytes")
	}
	written, err := WriteNew(context.Background(), p, out, WriteOptions{Backup: true})
	if err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, first, first+".bak", second, second+".bak", third, third+".bak")
	if written[1].Backup != filepath.Join(dir, second+".bak") {
		t.Error(written[1].Backup)
	}
	if _, err := WriteNew(context.Background(), p, out, WriteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, first, first+".bak", second, second+".bak", third, third+".bak")
}

// TestWriteNewReplacesShardsOnly: under names that do not belong together, an
// existing file stays, for its journal could not be told from a foreign one.
func TestWriteNewReplacesShardsOnly(t *testing.T) {
	for _, c := range []struct {
		root, other string
		ok          bool
	}{
		{"o-00001-of-00002.gguf", "o-00002-of-00002.gguf", true},
		{"o-00001-of-00002.gguf", "p-00002-of-00002.gguf", false},
		{"o-00001-of-00002.gguf", "o-00002-of-00003.gguf", false},
		{"o.onnx", "o.onnx.data", false},
		{"o.onnx", "README.md", false},
	} {
		dir := t.TempDir()
		in := writeFile(t, dir, "in", "root")
		p := filePlan(in)
		p.Inputs = append(p.Inputs, Input{})
		p.Outputs = append(p.Outputs, Output{Input: 1, Name: c.other})
		p.Edits = append(p.Edits, Edit{File: 1, New: Text("new")})
		writeFile(t, dir, c.other, "old")
		_, err := WriteNew(context.Background(), p, filepath.Join(dir, c.root), WriteOptions{Force: true})
		if got := readFile(t, filepath.Join(dir, c.other)); (err == nil) != c.ok || (got == "new") != c.ok {
			t.Errorf("%s with %s: %q, %v", c.root, c.other, got, err)
		}
	}
}

func TestWriteNewRefusals(t *testing.T) {
	type world struct{ dir, in, out string }
	link := func(w world) error { return os.Symlink("elsewhere", w.out) }
	hard := func(w world) error {
		writeFile(t, w.dir, "other", "other")
		return os.Link(filepath.Join(w.dir, "other"), w.out)
	}
	for _, c := range []struct {
		name  string
		setup func(world) error
		o     WriteOptions
		want  error // a pointer of the wanted type; nil: done
	}{
		{"exists", func(w world) error { writeFile(t, w.dir, "out", "old"); return nil }, WriteOptions{}, &OutputError{}},
		{"exists, force", func(w world) error { writeFile(t, w.dir, "out", "old"); return nil }, WriteOptions{Force: true}, nil},
		{"link", link, WriteOptions{}, &RefusedError{}},
		{"link, force", link, WriteOptions{Force: true}, nil},
		{"hard link", hard, WriteOptions{}, &RefusedError{}},
		{"hard link, force", hard, WriteOptions{Force: true}, nil},
		{"folder", func(w world) error { return os.Mkdir(w.out, 0o700) }, WriteOptions{Force: true}, &OutputError{}},
		{"link to the input", func(w world) error { return os.Symlink("in", w.out) }, WriteOptions{Force: true}, &SameFileError{}},
		{"hard link of the input", func(w world) error { return os.Link(w.in, w.out) }, WriteOptions{Force: true}, &SameFileError{}},
		{"input changed", func(w world) error { writeFile(t, w.dir, "in", "xnput"); return nil }, WriteOptions{}, &InputError{}},
		{"input gone", func(w world) error { return os.Remove(w.in) }, WriteOptions{}, &InputError{}},
		{"check fails", nil, WriteOptions{Check: func(string) error { return &PlanError{} }}, &PlanError{}},
		{"input changes meanwhile", nil, WriteOptions{Check: func(s string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(s), "in"), []byte("xnput"), 0o600)
		}}, &InputError{}},
		{"target appears meanwhile", nil, WriteOptions{Check: func(s string) error {
			return os.WriteFile(filepath.Join(filepath.Dir(s), "out"), []byte("other"), 0o600)
		}}, &OutputError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := world{dir, writeFile(t, dir, "in", "input"), filepath.Join(dir, "out")}
			p := filePlan(w.in, Edit{At: 5, New: Text("+")})
			if c.setup != nil {
				if err := c.setup(w); err != nil {
					t.Fatal(err)
				}
			}
			if c.name == "hard link of the input" {
				p.Inputs[0].Info = nil // a new name is a change too
			}
			_, err := WriteNew(context.Background(), p, w.out, c.o)
			if c.want == nil {
				if err != nil || readFile(t, w.out) != "input+" {
					t.Errorf("%v, %q", err, readFile(t, w.out))
				}
				return
			}
			if !sameErrorType(err, c.want) {
				t.Errorf("got %T %v, want %T", err, err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func sameErrorType(err, want error) bool {
	switch want.(type) {
	case *OutputError:
		return errors.As(err, new(*OutputError))
	case *InputError:
		return errors.As(err, new(*InputError))
	case *RefusedError:
		return errors.As(err, new(*RefusedError))
	case *SameFileError:
		return errors.As(err, new(*SameFileError))
	case *PlanError:
		return errors.As(err, new(*PlanError))
	}
	return false
}

// roomFS says how much room there is.
type roomFS struct {
	FS
	free int64
}

func (r roomFS) Free(string) (int64, error) { return r.free, nil }

// TestWriteNewRoom: what a file takes is enough room for it, and a byte less is
// refused before anything is written, with both numbers.
func TestWriteNewRoom(t *testing.T) {
	const size = 60_000
	dir := t.TempDir()
	in := writeFile(t, dir, "in", strings.Repeat("x", size-1))
	p := filePlan(in, Edit{At: size - 1, New: Text("+")})
	_, err := WriteNew(context.Background(), p, filepath.Join(dir, "out"), WriteOptions{FS: roomFS{OS, size - 1}})
	if o, ok := errors.AsType[*OutputError](err); !ok || !errors.Is(err, syscall.ENOSPC) || o.Hint != "60000 bytes are needed, 59999 are free" {
		t.Errorf("a byte less: %v", err)
	}
	onlyFiles(t, dir, "in")
	if _, err := WriteNew(context.Background(), p, filepath.Join(dir, "out"), WriteOptions{FS: roomFS{OS, size}}); err != nil {
		t.Errorf("as much as is needed: %v", err)
	}
}

func TestWriteNewInterrupted(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "in", "input")
	ctx, stop := context.WithCancel(context.Background())
	check := func(string) error { stop(); return nil }
	_, err := WriteNew(ctx, filePlan(in), filepath.Join(dir, "out"), WriteOptions{Check: check})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	onlyFiles(t, dir, "in")
}

// TestRecoverRemovesStale: what a killed run left beside a target that it had
// not made yet goes, and nothing that only looks like it.
func TestRecoverRemovesStale(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	writeFile(t, dir, ".out.modelpatch-0123456789ab", "dead")
	folder := filepath.Join(dir, ".out.modelpatch-00000000000f")
	os.Mkdir(folder, 0o700)
	writeFile(t, folder, "x", "dead")
	held, err := OS.Open(writeFile(t, dir, ".out.modelpatch-ba9876543210", "alive"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if free, err := held.TryLock(); err != nil || !free {
		t.Skip("no locks here:", err)
	}
	writeFile(t, elsewhere, "x", "not ours")
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".out.modelpatch-111111111111")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".out.modelpatch-0123456789abcd", ".out.modelpatch-0123456789aB", ".outer.modelpatch-0123456789ab"} {
		writeFile(t, dir, name, "not ours")
	}
	stay := []string{".out.modelpatch-0123456789aB", ".out.modelpatch-0123456789abcd", ".out.modelpatch-111111111111", ".out.modelpatch-ba9876543210", ".outer.modelpatch-0123456789ab"}
	for _, want := range []Recovered{RecoveredTemporary, RecoveredNothing} {
		if did, err := Recover(filepath.Join(dir, "out"), nil); err != nil || did != want {
			t.Errorf("%q, %v; want %q", did, err, want)
		}
		onlyFiles(t, dir, stay...)
	}
	onlyFiles(t, elsewhere, "x")
}

func TestWriteNewRemovesStale(t *testing.T) {
	dir := t.TempDir()
	in := writeFile(t, dir, "in", "input")
	writeFile(t, dir, ".out.modelpatch-0123456789ab", "dead")
	held, err := OS.Open(writeFile(t, dir, ".out.modelpatch-ba9876543210", "alive"))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if free, err := held.TryLock(); err != nil || !free {
		t.Skip("no locks here:", err)
	}
	folder := filepath.Join(dir, ".out.modelpatch-00000000000f")
	os.Mkdir(folder, 0o700)
	writeFile(t, folder, "x", "dead")
	if _, err := WriteNew(context.Background(), filePlan(in), filepath.Join(dir, "out"), WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, ".out.modelpatch-ba9876543210", "in", "out")
}
