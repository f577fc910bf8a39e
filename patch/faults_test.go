package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// faultFS fails one operation, the one that is counted as failing. With crash,
// all later ones fail too, as if the process had died there.
type faultFS struct {
	FS
	count   int
	failing int
	crash   bool
}

var errFault = fmt.Errorf("injected: %w", syscall.EIO)

func (f *faultFS) step() error {
	f.count++
	if f.count == f.failing || f.crash && f.failing > 0 && f.count > f.failing {
		return errFault
	}
	return nil
}

func (f *faultFS) file(open func() (File, error)) (File, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	got, err := open()
	if err != nil {
		return nil, err
	}
	return &faultFile{got, f}, nil
}

func (f *faultFS) Open(p string) (File, error) {
	return f.file(func() (File, error) { return f.FS.Open(p) })
}
func (f *faultFS) Create(p string) (File, error) {
	return f.file(func() (File, error) { return f.FS.Create(p) })
}
func (f *faultFS) CreateShared(p string) (File, error) {
	return f.file(func() (File, error) { return f.FS.CreateShared(p) })
}
func (f *faultFS) OpenWrite(p string) (File, error) {
	return f.file(func() (File, error) { return f.FS.OpenWrite(p) })
}
func (f *faultFS) OpenDir(p string) (File, error) {
	return f.file(func() (File, error) { return f.FS.OpenDir(p) })
}

func (f *faultFS) Stat(p string) (fs.FileInfo, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.FS.Stat(p)
}

func (f *faultFS) Lstat(p string) (fs.FileInfo, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.FS.Lstat(p)
}

func (f *faultFS) ReadDir(p string) ([]fs.DirEntry, error) {
	if err := f.step(); err != nil {
		return nil, err
	}
	return f.FS.ReadDir(p)
}

func (f *faultFS) Mkdir(p string) error { return errors.Join(f.step(), f.unless(f.FS.Mkdir, p)) }
func (f *faultFS) Remove(p string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Remove(p)
}
func (f *faultFS) Rename(a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Rename(a, b)
}
func (f *faultFS) RenameIn(folder, a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.RenameIn(folder, a, b)
}
func (f *faultFS) RenameNew(a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.RenameNew(a, b)
}
func (f *faultFS) Link(a, b string) error {
	if err := f.step(); err != nil {
		return err
	}
	return f.FS.Link(a, b)
}

// unless runs op when the step before it did not fail.
func (f *faultFS) unless(op func(string) error, p string) error {
	if f.count == f.failing || f.crash && f.failing > 0 && f.count > f.failing {
		return nil
	}
	return op(p)
}

type faultFile struct {
	File
	fs *faultFS
}

func (f *faultFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.fs.step(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}

// WriteAt fails half-way.
func (f *faultFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.fs.step(); err != nil {
		if f.fs.count > f.fs.failing {
			return 0, err
		}
		n, _ := f.File.WriteAt(p[:len(p)/2], at)
		return n, err
	}
	return f.File.WriteAt(p, at)
}

func (f *faultFile) Sync() error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Truncate(n int64) error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

// Close lets go in any case, as the system does.
func (f *faultFile) Close() error { return errors.Join(f.fs.step(), f.File.Close()) }

func (f *faultFile) InsertRange(at, n int64) error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.InsertRange(at, n)
}

func (f *faultFile) CollapseRange(at, n int64) error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.CollapseRange(at, n)
}

func (f *faultFile) CopyRange(at int64, src File, srcAt, n int64) (int64, error) {
	if err := f.fs.step(); err != nil {
		return 0, err
	}
	return f.File.CopyRange(at, src.(*faultFile).File, srcAt, n)
}

func (f *faultFile) CloneRange(at int64, src File, srcAt, n int64) error {
	return f.File.CloneRange(at, src.(*faultFile).File, srcAt, n)
}

func (f *faultFile) CopyAttributes(src File) error {
	if err := f.fs.step(); err != nil {
		return err
	}
	return f.File.CopyAttributes(src.(*faultFile).File)
}

// everyFault runs a scenario with a fault at each operation, once as an error
// and once as a crash, until it runs through without meeting one.
func everyFault(t *testing.T, run func(t *testing.T, files *faultFS)) {
	for _, crash := range []bool{false, true} {
		for n := 1; ; n++ {
			files := &faultFS{FS: OS, failing: n, crash: crash}
			t.Run(fmt.Sprintf("crash %v at %d", crash, n), func(t *testing.T) { run(t, files) })
			if files.count < n {
				t.Logf("%d operations", files.count)
				break
			}
		}
	}
}

func TestWriteNewFaults(t *testing.T) {
	const old, new = "old content", "new"
	for _, several := range []bool{false, true} {
		everyFault(t, func(t *testing.T, files *faultFS) {
			dir := t.TempDir()
			in := writeFile(t, dir, "in", "0123456789")
			out := writeFile(t, dir, outRoot, old)
			p := filePlan(in, Edit{At: 0, Old: 10, New: Text(new)})
			names := []string{"in", outRoot}
			if several {
				writeFile(t, dir, outData, old)
				p.Inputs = append(p.Inputs, Input{})
				p.Outputs = append(p.Outputs, Output{Input: 1, Name: outData})
				p.Edits = append(p.Edits, Edit{File: 1, New: Text(new)})
				names = append(names, outData)
			}
			check := func(path string) error {
				if got := readFile(t, path); got != new {
					t.Errorf("check sees %q", got)
				}
				return nil
			}
			_, err := WriteNew(context.Background(), p, out, WriteOptions{Force: true, FS: files, Check: check})
			if err == nil && readFile(t, out) != new {
				t.Error("success, and yet the old content")
			}
			for _, name := range names[1:] {
				got := readFile(t, filepath.Join(dir, name))
				if got != old && got != new {
					t.Errorf("%s is neither old nor new: %q", name, got)
				}
				if err != nil && !files.crash && !isSyncFolder(err) && !isForgotten(err) && got != old {
					t.Errorf("%v, and yet %s has the new content", err, name)
				}
			}
			if !files.crash && !isRemoval(err) && !Unfinished(out, nil) {
				onlyFilesOrStale(t, dir, names)
			}
			if _, err := Recover(out, nil); err != nil {
				t.Fatal(err)
			}
			if several && readFile(t, out) != readFile(t, filepath.Join(dir, outData)) {
				t.Error("one file is old, the other new")
			}
			// Whatever a crash left is gone after the next run.
			if _, err := WriteNew(context.Background(), p, out, WriteOptions{Force: true}); err != nil {
				t.Fatal(err)
			}
			onlyFiles(t, dir, names...)
		})
	}
}

func isSyncFolder(err error) bool {
	o, ok := errors.AsType[*OutputError](err)
	return ok && o.Op == "sync folder"
}

func isRemoval(err error) bool {
	o, ok := errors.AsType[*OutputError](err)
	return ok && o.Op == "remove temporary file"
}

// onlyFilesOrStale allows one temporary file: the one whose removal failed
// after the outcome was decided.
func onlyFilesOrStale(t *testing.T, dir string, names []string) {
	t.Helper()
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	entries, _ := os.ReadDir(dir)
	if len(left) > 1 || len(entries)-len(left) != len(names) {
		t.Errorf("folder holds %v", entries)
	}
}

func TestInPlaceFaults(t *testing.T) {
	old := bytes.Repeat([]byte("old bytes "), 20000)
	for _, c := range []struct {
		name  string
		edits []Edit
	}{
		{"replace", []Edit{{At: 100, Old: 70000, New: Zeros(70000)}, {At: 150000, Old: 3, New: Text("abc")}}},
		{"append", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: int64(len(old)), New: Zeros(100000)}}},
		{"cut", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: 1000, Old: int64(len(old)) - 1000}}},
		{"insert at the start", []Edit{{New: Text(strings.Repeat("b", leastBlock))}, {At: 9000, Old: 3, New: Text("abc")}}},
		{"insert and append", []Edit{{At: 4000, Old: 1, New: Text("!")}, {At: 5, Old: 1, New: Text("!")},
			{At: 5000, Old: 100, New: Text(strings.Repeat("b", 100+2*leastBlock))}, {At: 9000, Old: 3, New: Text("abc")}, {At: int64(len(old)) - 1, Old: 1, New: Text("the end")}}},
		{"remove and cut", []Edit{{At: 5000, Old: 2 * leastBlock}, {At: 190000, Old: 10000, New: Text("the end")}}},
		{"remove", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: 4100, Old: 1, New: Text("!")}, {At: 5000, Old: 100 + 2*leastBlock, New: Text(strings.Repeat("b", 100))}, {At: 90000, Old: 3, New: Text("abc")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel() // it waits for the disk
			if c.name != "replace" && c.name != "append" && c.name != "cut" {
				needsInsertion(t)
			}
			new := applyNaively(old, c.edits)
			everyFault(t, func(t *testing.T, files *faultFS) {
				dir := t.TempDir()
				path := writeFile(t, dir, "m", string(old))
				undo, spent := filepath.Join(dir, "m.undo.2.mpatch"), writeFile(t, dir, "m.undo.mpatch", "spent")
				beside, config := besideFile(t, dir)
				_, err := InPlace(context.Background(), filePlan(path, c.edits...), InPlaceOptions{FS: files, Undo: undo, Spent: spent, Files: beside})
				if !files.crash && err != nil && !Unfinished(path, nil) {
					if got := readFile(t, path); got != string(old) && !isForgotten(err) && !decided(err) {
						t.Errorf("%v, and yet not the old bytes", err)
					}
				}
				did, rerr := Recover(path, nil)
				if rerr != nil {
					t.Fatalf("recovery after %v: %v", err, rerr)
				}
				got := readFile(t, path)
				switch {
				case got != string(old) && got != string(new):
					t.Errorf("neither old nor new after %v, %s", err, did)
				case err == nil && got != string(new):
					t.Error("success, and yet the old bytes")
				case did == RecoveredOld && got != string(old), did == RecoveredNew && got != string(new):
					t.Errorf("%s is not so", did)
				}
				if Unfinished(path, nil) {
					t.Error("the journal is still there")
				}
				if _, err := os.Lstat(undo); err != nil && got == string(new) {
					t.Error("the change cannot be taken back")
				}
				if want := map[bool]string{true: newConfig, false: oldConfig}[got == string(new)]; readFile(t, config) != want {
					t.Errorf("the file beside says %q, want %q", readFile(t, config), want)
				}
				if _, err := os.Lstat(spent); err != nil && got == string(old) {
					t.Error("the spent patch is gone, and the bytes are old")
				}
			})
		})
	}
}

const oldConfig, newConfig = `{"n": 32}`, `{"n": 4096}`

// besideFile is a file that changes together with another in its folder.
func besideFile(t *testing.T, dir string) ([]Beside, string) {
	t.Helper()
	path := writeFile(t, dir, "config.json", oldConfig)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return []Beside{{Path: path, Info: info, Old: []byte(oldConfig), New: []byte(newConfig)}}, path
}

// removingFS still removes files when nothing else works.
type removingFS struct{ *faultFS }

func (r removingFS) Remove(p string) error { return OS.Remove(p) }

// TestUndoStaysWithJournal: where the old bytes could not be put back, recovery
// may keep the new ones; then their undo patch must be there.
func TestUndoStaysWithJournal(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "m", "old bytes")
	files := &faultFS{FS: OS, crash: true}
	check := func(string) error {
		files.failing = files.count // from the next one on
		return errors.New("no")
	}
	_, err := InPlace(context.Background(), filePlan(path, Edit{Old: 3, New: Text("new")}), InPlaceOptions{FS: removingFS{files}, Undo: path + ".undo", Check: check})
	if err == nil || !Unfinished(path, nil) {
		t.Fatalf("the test tests nothing: %v", err)
	}
	if did, err := Recover(path, nil); err != nil || readFile(t, path) == "new bytes" && !exists(path+".undo") {
		t.Errorf("%s, %v: the new bytes, and no patch that takes them back", did, err)
	}
}

// needsInsertion skips a test where the file system cannot insert blocks.
func needsInsertion(t *testing.T) {
	t.Helper()
	path := writeFile(t, t.TempDir(), "m", strings.Repeat("x", 3*leastBlock))
	if block, err := InsertBlock(path, nil); err != nil || block != leastBlock {
		t.Skipf("blocks of %d cannot be inserted here: %v", leastBlock, err)
	}
}

// isForgotten is a fault after the edit was complete: the journal is gone, its
// folder not synced.
func isForgotten(err error) bool {
	o, ok := errors.AsType[*OutputError](err)
	return ok && o.Op == "remove journal"
}

// TestRecoverFaults crashes an edit and then its recovery, at every pair of
// operations.
func TestRecoverFaults(t *testing.T) {
	const old, new = "0123456789", "01XX456789++"
	edits := []Edit{{At: 2, Old: 2, New: Text("XX")}, {At: 10, New: Text("++")}}
	for first := 1; ; first++ {
		crashed := &faultFS{FS: OS, failing: first, crash: true}
		for second := 1; ; second++ {
			path := writeFile(t, t.TempDir(), "m", old)
			crashed.count = 0
			InPlace(context.Background(), filePlan(path, edits...), InPlaceOptions{FS: crashed})
			again := &faultFS{FS: OS, failing: second, crash: true}
			Recover(path, again)
			if _, err := Recover(path, nil); err != nil {
				t.Fatalf("crashes at %d and %d: %v", first, second, err)
			}
			if got := readFile(t, path); got != old && got != new {
				t.Fatalf("crashes at %d and %d: %q", first, second, got)
			}
			if again.count < second {
				break
			}
		}
		if crashed.count < first {
			return
		}
	}
}

// applyNaively makes an edited file in memory, the obvious way.
func applyNaively(old []byte, edits []Edit) []byte {
	var out []byte
	for at := int64(0); ; at++ {
		skip := int64(0)
		for _, inserts := range []bool{true, false} {
			for _, e := range edits {
				if e.At != at || (e.Old == 0) != inserts {
					continue
				}
				if e.New != nil {
					b, _ := io.ReadAll(e.New.Open())
					out = append(out, b...)
				}
				skip += e.Old
			}
		}
		if skip > 0 {
			at += skip - 1
			continue
		}
		if at >= int64(len(old)) {
			return out
		}
		out = append(out, old[at])
	}
}
