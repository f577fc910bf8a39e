package patch

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

// replacePlan is a change of a root that says where its data lie, and of the
// data, to which a table is added.
func replacePlan(t *testing.T, dir string) (p Plan, root, data string) {
	root = writeFile(t, dir, "m.onnx", "table at 0, 5 bytes")
	data = writeFile(t, dir, "m.onnx.data", "table and weights")
	p = filePlan(root, Edit{At: 9, Old: 10, New: Text("17, 12 bytes")})
	in := filePlan(data, Edit{At: 17, New: Text("longer table")})
	p.Inputs = append(p.Inputs, in.Inputs[0])
	p.Outputs = append(p.Outputs, Output{Input: 1, Name: "m.onnx.data"})
	in.Edits[0].File = 1
	p.Edits = append(p.Edits, in.Edits[0])
	return p, root, data
}

const (
	oldRoot, newRoot = "table at 0, 5 bytes", "table at 17, 12 bytes"
	oldData, newData = "table and weights", "table and weightslonger table"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	p, root, data := replacePlan(t, dir)
	if _, err := InPlace(context.Background(), p, InPlaceOptions{}); !is[*RefusedError](err) {
		t.Errorf("without Replace: %v", err)
	}
	undo := root + ".undo"
	if _, err := InPlace(context.Background(), p, InPlaceOptions{Replace: true, Undo: undo}); err != nil {
		t.Fatal(err)
	}
	if readFile(t, root) != newRoot || readFile(t, data) != newData {
		t.Errorf("%q, %q", readFile(t, root), readFile(t, data))
	}
	onlyFiles(t, dir, "m.onnx", "m.onnx.data", "m.onnx.undo")
	back, err := OpenPatch(undo)
	if err != nil || !back.Replace {
		t.Fatal(back, err)
	}
	defer back.Close()
	if _, err := InPlace(context.Background(), back.Reverse(root), InPlaceOptions{Replace: back.Replace}); err != nil {
		t.Fatal(err)
	}
	if readFile(t, root) != oldRoot {
		t.Errorf("%q", readFile(t, root))
	}
}

// TestReplaceFaults holds that a root never points to data that are not there,
// and that a failure that is no crash leaves both files as they were.
func TestReplaceFaults(t *testing.T) {
	t.Run("alone", func(t *testing.T) { replaceFaults(t, false) })
	t.Run("with a file beside", func(t *testing.T) { replaceFaults(t, true) })
}

func replaceFaults(t *testing.T, withBeside bool) {
	everyFault(t, func(t *testing.T, files *faultFS) {
		dir := t.TempDir()
		p, root, data := replacePlan(t, dir)
		o, config := InPlaceOptions{Replace: true, Undo: filepath.Join(dir, "undo"), FS: files}, ""
		if withBeside {
			o.Files, config = besideFile(t, dir)
			o.Spent = writeFile(t, dir, "m.onnx.undo.mpatch", "spent")
		}
		_, err := InPlace(context.Background(), p, o)
		if _, rerr := Recover(root, nil); rerr != nil {
			t.Fatal(rerr)
		}
		if want := map[bool]string{true: newConfig, false: oldConfig}[readFile(t, root) == newRoot]; withBeside && readFile(t, config) != want {
			t.Errorf("%v: the file beside says %q, want %q", err, readFile(t, config), want)
		}
		if spent := withBeside && !exists(o.Spent); spent && readFile(t, root) == oldRoot {
			t.Errorf("%v: the spent patch is gone", err)
		}
		gotRoot, gotData := readFile(t, root), readFile(t, data)
		switch {
		case gotRoot == newRoot && gotData == newData:
		case gotRoot == oldRoot && strings.HasPrefix(gotData, oldData) && err != nil:
			if !files.crash && gotData != oldData && !strings.Contains(err.Error(), "put back") {
				t.Errorf("%v, and yet the data have changed", err)
			}
		default:
			t.Errorf("%v: %q with %q", err, gotRoot, gotData)
		}
		if err == nil && gotRoot != newRoot {
			t.Error("success, and yet the old root")
		}
		if !files.crash && gotRoot == oldRoot && exists(filepath.Join(dir, "undo")) {
			t.Errorf("%v: an undo patch of a change that was not made", err)
		}
	})
}

// TestProbeFaults: what the disk does is told as that, and not as a file system
// that cannot insert.
func TestProbeFaults(t *testing.T) {
	path := writeFile(t, t.TempDir(), "m", strings.Repeat("x", 4*mostBlock))
	if _, err := InsertBlock(path, nil); err != nil {
		t.Skip("skipped by name: faults of the probe for insertions (", err, ")")
	}
	for n, done := 1, false; !done; n++ {
		files := &faultFS{FS: OS, failing: n}
		_, err := InsertBlock(path, files)
		if done = files.count < n; err != nil && !is[*OutputError](err) && !is[*InputError](err) {
			t.Errorf("operation %d: %v", n, err)
		}
	}
}
