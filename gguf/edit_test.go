package gguf

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
)

// apply runs an editor's plan in memory and reads the result.
func apply(t *testing.T, f *File, e *Editor) (*File, []byte) {
	t.Helper()
	plan, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	for i := range plan.Inputs { // parts made from memory have no path
		if plan.Inputs[i].Path == "" {
			plan.Inputs[i].Path = "memory"
		}
	}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(plan.NewReader(0, io.NewSectionReader(f.Parts[0].r, 0, f.Parts[0].Size)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := NewFile(bytes.NewReader(out), int64(len(out)))
	if err != nil {
		t.Fatalf("the result is broken: %v", err)
	}
	for _, o := range again.Oddities() {
		if o.Refused {
			t.Errorf("the result has what llama.cpp refuses: %s", o.Says)
		}
	}
	return again, out
}

// content is a tensor's raw bytes.
func content(t *testing.T, f *File, name string) []byte {
	t.Helper()
	tensor := f.Tensor(name)
	if tensor == nil {
		t.Fatalf("tensor %s is gone", name)
	}
	b, err := f.Parts[tensor.Part].read(f.Range(tensor)[0], tensor.Size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sameBut checks that all tensors but one kept their bytes.
func sameBut(t *testing.T, before, after *File, but string) {
	t.Helper()
	for name := range before.index {
		if name != but && !bytes.Equal(content(t, before, name), content(t, after, name)) {
			t.Errorf("tensor %s changed", name)
		}
	}
}

func eachSingleFile(t *testing.T, do func(t *testing.T, f *File)) {
	files, _ := filepath.Glob("../testdata/gguf/*.gguf")
	more, _ := filepath.Glob("../../shared/corpus/gguf/edit-*.gguf")
	for _, path := range append(files, more...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			do(t, f)
		})
	}
}

func TestSetKeys(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		e := f.Edit()
		e.Set("x.number", Uint32(41), "")
		e.Set("x.text", String("words"), "")
		e.Set("x.real", Float32(1.5), "")
		e.Set("x.list", Int32s(1, 2, 3, 4), "")
		e.Delete("general.architecture", "")
		after, _ := apply(t, f, e)
		sameBut(t, f, after, "")
		if n, _ := after.Find("x.number").Uint(); n != 41 {
			t.Errorf("x.number is %d", n)
		}
		if s, _ := after.String("x.text"); s != "words" {
			t.Errorf("x.text is %q", s)
		}
		if v, _ := after.Numbers("x.list"); len(v) != 4 || v[3] != 4 {
			t.Errorf("x.list is %v", v)
		}
		if after.Find("general.architecture") != nil {
			t.Error("a deleted key is there")
		}
	})
}

func TestSameSizeEditsAreTiny(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		arch, _ := f.String("general.architecture")
		p := f.Find(arch + ".context_length")
		if p == nil || p.Type != TypeUint32 {
			t.Skip("no context_length")
		}
		e := f.Edit()
		e.Set(p.Key, Uint32(77777), "")
		plan, err := e.Plan()
		if err != nil || len(plan.Edits) != 1 || plan.Edits[0].Old != 4 || plan.Edits[0].New.Size() != 4 {
			t.Fatalf("%v, %+v", err, plan.Edits)
		}
		_, out := apply(t, f, e)
		if int64(len(out)) != f.Parts[0].Size {
			t.Error("the size changed")
		}
	})
}

func TestResizeAddRemove(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		var table *Tensor
		for i := range f.Parts[0].Tensors {
			if c := &f.Parts[0].Tensors[i]; len(c.Shape) == 2 && c.Known() {
				table = c
				break
			}
		}
		if table == nil {
			t.Skip("no table")
		}
		rows := table.Rows()
		e := f.Edit()
		e.Resize(table, rows*3, rows, patch.Zeros(2*table.Size), "")
		e.Add("added.weight", F32, []int64{5}, patch.Bytes(make([]byte, 20)), "")
		after, _ := apply(t, f, e)
		sameBut(t, f, after, table.Name)
		if got := content(t, after, table.Name); !bytes.Equal(got[:table.Size], content(t, f, table.Name)) {
			t.Error("kept rows changed")
		}
		if after.Tensor(table.Name).Rows() != 3*rows || after.Tensor("added.weight").Size != 20 {
			t.Error("shapes are wrong")
		}

		e = after.Edit()
		e.Resize(after.Tensor(table.Name), rows, rows, patch.Zeros(0), "")
		e.Remove(after.Tensor("added.weight"), "")
		back, out := apply(t, after, e)
		sameBut(t, f, back, "")
		if p := f.Parts[0]; pad(int64(len(out)), p.Alignment) != pad(p.Size, p.Alignment) {
			t.Errorf("%d bytes, %d at first", len(out), p.Size)
		}
	})
}
