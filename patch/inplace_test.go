package patch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInPlaceAndUndo(t *testing.T) {
	dir := t.TempDir()
	old := strings.Repeat("0123456789", 30000)
	path := writeFile(t, dir, "m", old)
	undo := filepath.Join(dir, "m.undo.mpatch")
	p := filePlan(path, Edit{At: 7, Old: 3, New: Text("abc"), Why: "a key"}, Edit{At: int64(len(old)), New: Text("tail")})
	u, err := InPlace(context.Background(), p, InPlaceOptions{Undo: undo, Change: "test"})
	if err != nil {
		t.Fatal(err)
	}
	want := old[:7] + "abc" + old[10:] + "tail"
	if readFile(t, path) != want {
		t.Fatal("wrong bytes")
	}
	onlyFiles(t, dir, "m", "m.undo.mpatch")
	if u.Path != undo || u.Bytes == 0 {
		t.Errorf("%+v", u)
	}
	f, err := os.Open(undo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	back, err := ReadPatch(f)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	fits(t, back, want, false, true)
	if _, err := InPlace(context.Background(), back.Reverse(path), InPlaceOptions{}); err != nil {
		t.Fatal(err)
	}
	if readFile(t, path) != old {
		t.Error("not the old bytes again")
	}
	fits(t, back, old, true, false)
}

// fits checks of which side of a patch a content is.
func fits(t *testing.T, p *PatchFile, content string, before, after bool) {
	t.Helper()
	for _, late := range []bool{false, true} {
		how, err := p.Differs(strings.NewReader(content), int64(len(content)), late)
		want := before
		if late {
			want = after
		}
		if err != nil || (how == "") != want {
			t.Errorf("after %v: %q, %v", late, how, err)
		}
	}
}

func TestInPlaceCheckFails(t *testing.T) {
	path := writeFile(t, t.TempDir(), "m", "0123456789")
	refused := errors.New("not what was planned")
	check := func(path string) error {
		if got := readFile(t, path); got != "X123456789" {
			t.Errorf("check sees %q", got)
		}
		return refused
	}
	_, err := InPlace(context.Background(), filePlan(path, Edit{Old: 1, New: Text("X")}), InPlaceOptions{Check: check})
	if !errors.Is(err, refused) || readFile(t, path) != "0123456789" || Unfinished(path, nil) {
		t.Error(err, readFile(t, path))
	}
}

func TestInPlaceRefusals(t *testing.T) {
	change := Edit{Old: 1, New: Text("X")}
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, dir string) string
		edit  Edit
		want  error
	}{
		{"moves bytes", func(t *testing.T, dir string) string { return writeFile(t, dir, "m", "0123") }, Edit{At: 1, New: Text("X")}, &RefusedError{}},
		{"link", func(t *testing.T, dir string) string {
			writeFile(t, dir, "n", "0123")
			os.Symlink("n", filepath.Join(dir, "m"))
			return filepath.Join(dir, "m")
		}, change, &RefusedError{}},
		{"hard link", func(t *testing.T, dir string) string {
			os.Link(writeFile(t, dir, "n", "0123"), filepath.Join(dir, "m"))
			return filepath.Join(dir, "m")
		}, change, &RefusedError{}},
		{"digest as name", func(t *testing.T, dir string) string {
			return writeFile(t, dir, "sha256-"+strings.Repeat("ab", 32), "0123")
		}, change, &RefusedError{}},
		{"blob", func(t *testing.T, dir string) string {
			os.Mkdir(filepath.Join(dir, "blobs"), 0o700)
			return writeFile(t, filepath.Join(dir, "blobs"), "m", "0123")
		}, change, &RefusedError{}},
		{"locked", func(t *testing.T, dir string) string {
			path := writeFile(t, dir, "m", "0123")
			f, _ := OS.Open(path)
			t.Cleanup(func() { f.Close() })
			if free, err := f.TryLock(); err != nil || !free {
				t.Skip("no locks here")
			}
			return path
		}, change, &OutputError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.setup(t, t.TempDir())
			_, err := InPlace(context.Background(), filePlan(path, c.edit), InPlaceOptions{})
			if !sameErrorType(err, c.want) {
				t.Errorf("got %T %v, want %T", err, err, c.want)
			}
			if got := readFile(t, path); got != "0123" {
				t.Errorf("changed to %q", got)
			}
		})
	}
}

// TestRecoverForeign holds that recovery leaves files alone that the edit
// cannot have left.
func TestRecoverForeign(t *testing.T) {
	old := strings.Repeat("0123456789", 100)
	leave := func(t *testing.T) string {
		path := writeFile(t, t.TempDir(), "m", old)
		p := filePlan(path, Edit{At: 500, Old: 4, New: Text("WXYZ")})
		// The check's panic stands for a crash right after the edit.
		func() {
			defer func() { recover() }()
			InPlace(context.Background(), p, InPlaceOptions{Check: func(string) error { panic("crash") }})
		}()
		if !Unfinished(path, nil) {
			t.Fatal("no journal")
		}
		return path
	}
	for _, c := range []struct {
		name string
		tear func(t *testing.T, path string)
		want error
	}{
		{"complete", func(*testing.T, string) {}, nil},
		{"mixture", func(t *testing.T, path string) { overwrite(t, path, 501, "1") }, nil},
		{"foreign byte", func(t *testing.T, path string) { overwrite(t, path, 501, "?") }, &RefusedError{}},
		{"foreign start", func(t *testing.T, path string) { overwrite(t, path, 0, "?") }, &RefusedError{}},
		{"foreign size", func(t *testing.T, path string) { overwrite(t, path, 1000, "?") }, &RefusedError{}},
		{"cut", func(t *testing.T, path string) { os.Truncate(path, 900) }, &RefusedError{}},
		{"damaged journal", func(t *testing.T, path string) { overwrite(t, journalPath(path), 40, "?") }, &InputError{}},
		{"empty journal", func(t *testing.T, path string) { os.Truncate(journalPath(path), 0) }, &InputError{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := leave(t)
			c.tear(t, path)
			before := readFile(t, path)
			did, err := Recover(path, nil)
			if c.want == nil {
				if err != nil || did == RecoveredNothing || Unfinished(path, nil) {
					t.Error(did, err)
				}
				return
			}
			if !sameErrorType(err, c.want) {
				t.Errorf("got %T %v, want %T", err, err, c.want)
			}
			if readFile(t, path) != before || !Unfinished(path, nil) {
				t.Error("something was written")
			}
		})
	}
}

func overwrite(t *testing.T, path string, at int64, s string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(s), at); err != nil {
		t.Fatal(err)
	}
}
