package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
)

// place runs an editor's plan for edits in place in memory: edits that change
// their size must add whole blocks, at most one of them away from the end.
func place(t *testing.T, f *File, e *Editor, block int64) (*File, []byte) {
	t.Helper()
	plan, err := e.PlanInPlace(block)
	if err != nil {
		t.Fatal(err)
	}
	for i := range plan.Inputs {
		plan.Inputs[i].Path = "memory"
	}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	moves := 0
	for _, edit := range plan.Edits {
		grows := size(edit.New) - edit.Old
		if grows == 0 || edit.At+edit.Old == f.Parts[0].Size {
			continue
		}
		if moves++; block == 0 || grows%block != 0 {
			t.Errorf("%s: grows by %d", edit.Why, grows)
		}
	}
	if moves > 1 {
		t.Errorf("%d edits move what follows", moves)
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
		if o.Refused && len(f.Oddities()) == 0 {
			t.Errorf("the result has what llama.cpp refuses: %s", o.Says)
		}
	}
	return again, out
}

// sameKeys checks that all keys but some have the bytes that they had.
func sameKeys(t *testing.T, before, after *File, but ...string) {
	t.Helper()
	for _, p := range before.Parts[0].Pairs {
		if slices.Contains(but, p.Key) || strings.HasPrefix(p.Key, ReserveKey) {
			continue
		}
		q := after.Find(p.Key)
		if q == nil {
			t.Errorf("key %s is gone", p.Key)
			continue
		}
		a, _ := before.Parts[0].read(p.ValueAt, p.End-p.ValueAt)
		b, _ := after.Parts[0].read(q.ValueAt, q.End-q.ValueAt)
		if !bytes.Equal(a, b) {
			t.Errorf("key %s changed", p.Key)
		}
	}
}

const testBlock = 4096

func TestInsertFront(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		if len(f.Parts[0].Tensors) == 0 || f.Parts[0].splitCount() > 1 {
			t.Skip("no whole model")
		}
		e := f.Edit()
		long := strings.Repeat("long ", 100)
		e.Set("new.number", Uint32(7), "a number")
		e.Set("new.text", String(long), "a text")
		again, out := place(t, f, e, testBlock)
		if int64(len(out)) != f.Parts[0].Size+testBlock {
			t.Errorf("grew by %d", int64(len(out))-f.Parts[0].Size)
		}
		if again.Parts[0].Pairs[0].Key != "new.number" || again.Parts[0].Pairs[2].Key != ReserveKey {
			t.Error("the new keys do not come first")
		}
		text, _ := again.Parts[0].Text("new.text")
		if n, _ := again.Find("new.number").Uint(); n != 7 || text != long {
			t.Error("the new keys are not what was set")
		}
		sameKeys(t, f, again)
		sameBut(t, f, again, "")

		// The next change takes from the reserve, and moves nothing.
		e = again.Edit()
		e.Set("more.text", String(long), "more")
		e.Set("new.text", String("short"), "another length")
		third, out3 := place(t, again, e, 0)
		if len(out3) != len(out) {
			t.Errorf("grew by %d", len(out3)-len(out))
		}
		if text, _ := third.Parts[0].Text("new.text"); text != "short" {
			t.Errorf("new.text is %q", text)
		}
		sameKeys(t, again, third, "new.text")
		sameBut(t, again, third, "")
	})
}

func TestRetiredKeys(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		p := f.Parts[0]
		if len(p.Pairs) < 3 {
			t.Skip("few keys")
		}
		e := f.Edit()
		gone := []string{}
		for i := 0; i < len(p.Pairs) && len(gone) < 4; i += 2 {
			if key := p.Pairs[i].Key; key != "general.alignment" && !strings.HasPrefix(key, "split.") {
				gone = append(gone, key)
				e.Delete(key, "gone")
			}
		}
		again, out := place(t, f, e, 0)
		if int64(len(out)) != p.Size {
			t.Errorf("grew by %d", int64(len(out))-p.Size)
		}
		for _, key := range gone {
			if again.Find(key) != nil {
				t.Errorf("%s is still there", key)
			}
		}
		sameKeys(t, f, again, gone...)
		sameBut(t, f, again, "")
	})
}

// TestFreeName retires keys whose names meet.
func TestFreeName(t *testing.T) {
	b := placer{builder: builder{editor: &Editor{}, part: &Part{}}}
	for _, key := range []string{"abc.rope.scaling.type", "xyz.rope.scaling.type", "a", "b", "c", "modelpatch.x"} {
		name := b.freeName(key)
		if len(name) != len(key) {
			t.Errorf("%q for %q", name, key)
		}
	}
	if len(b.taken) != 6 {
		t.Errorf("names repeat: %v", b.taken)
	}
}

func TestGrowTable(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		for i := range f.Parts[0].Tensors {
			tensor := &f.Parts[0].Tensors[i]
			if len(tensor.Shape) != 2 || !tensor.Known() || tensor.Rows() < 2 {
				continue
			}
			rows := tensor.Rows()
			for ; (pad(rows*tensor.RowBytes(), f.Parts[0].Alignment)-pad(tensor.Size, f.Parts[0].Alignment))%testBlock != 0 || rows == tensor.Rows(); rows++ {
			}
			grow := func(rows int64) *Editor {
				e := f.Edit()
				e.Resize(tensor, rows, tensor.Rows(), patch.Zeros((rows-tensor.Rows())*tensor.RowBytes()), "rows")
				return e
			}
			again, _ := place(t, f, grow(rows), testBlock)
			sameBut(t, f, again, tensor.Name)
			if got := again.Tensor(tensor.Name).Rows(); got != rows {
				t.Errorf("%d rows, not %d", got, rows)
			}
			_, err := grow(rows + 1).PlanInPlace(testBlock)
			refusal, ok := errors.AsType[*PlaceError](err)
			last := f.Parts[0].DataStart+pad(tensor.Offset+tensor.Size, f.Parts[0].Alignment) >= f.Parts[0].Size
			if last || err == nil { // it ends the file, or the padding takes the row
				continue
			}
			if !ok || !slices.Contains(refusal.Fit, rows) {
				t.Errorf("%d rows: %v, which names %v", rows+1, err, refusal.Fit)
			}
			for _, n := range refusal.Fit {
				if _, err := grow(n).PlanInPlace(testBlock); err != nil {
					t.Errorf("%d rows fit, it says, and yet %v", n, err)
				}
			}
			break
		}
	})
}

func TestAddTensorInPlace(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		if len(f.Parts[0].Tensors) == 0 || f.Parts[0].splitCount() > 1 {
			t.Skip("no whole model")
		}
		e := f.Edit()
		e.Set("new.text", String("text"), "a key")
		e.Add("new.weight", F32, []int64{5}, patch.Bytes(bytes.Repeat([]byte{1}, 20)), "a tensor")
		again, _ := place(t, f, e, testBlock)
		if got := content(t, again, "new.weight"); !bytes.Equal(got, bytes.Repeat([]byte{1}, 20)) {
			t.Errorf("new.weight is %v", got)
		}
		sameKeys(t, f, again)
		sameBut(t, f, again, "")
	})
}

func TestReserve(t *testing.T) {
	eachSingleFile(t, func(t *testing.T, f *File) {
		if len(f.Parts[0].Tensors) == 0 || f.Parts[0].splitCount() > 1 {
			t.Skip("no whole model")
		}
		e := f.Edit()
		e.Reserve(300)
		again, _ := apply(t, f, e)
		e = again.Edit()
		e.Set("new.text", String(strings.Repeat("x", 100)), "a key")
		third, _ := place(t, again, e, 0)
		sameKeys(t, f, third)
		sameBut(t, f, third, "")
		e = third.Edit()
		e.Set("more.text", String(strings.Repeat("x", 200)), "a key")
		if _, err := e.PlanInPlace(0); err == nil || !strings.Contains(err.Error(), "no room") {
			t.Errorf("a reserve used up: %v", err)
		}
	})
}

// TestOpenEdited opens what an edit in place left as a whole and by what was
// known of it before: both read the same.
func TestOpenEdited(t *testing.T) {
	lists := 0
	eachSingleFile(t, func(t *testing.T, f *File) {
		if len(f.Parts[0].Tensors) == 0 || f.Parts[0].splitCount() > 1 {
			t.Skip("no whole model")
		}
		raw, err := f.Parts[0].read(0, f.Parts[0].Size)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.gguf")
		before := written(t, path, raw)
		e := f.Edit()
		e.Set("new.number", Uint32(7), "a number")
		_, out := place(t, f, e, testBlock)
		want := written(t, path, out)
		got, err := OpenEdited(path, before)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Close()
		if !reflect.DeepEqual(got.Parts[0].Pairs, want.Parts[0].Pairs) || !reflect.DeepEqual(got.Parts[0].Tensors, want.Parts[0].Tensors) {
			t.Error("keys or tensors differ")
		}
		for i := range f.Parts[0].Pairs {
			if p := &f.Parts[0].Pairs[i]; p.Elem == TypeString && p.Count > 0 {
				lists++
				misfit(t, before, p, raw)
			}
		}
	})
	if lists == 0 {
		t.Error("no file has a list of strings")
	}
}

// written writes a file over what is there, as an edit in place does, and opens
// it.
func written(t *testing.T, path string, raw []byte) *File {
	t.Helper()
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// misfit makes the first string of a list longer, which no edit does: read by
// what was known before, the file makes no sense. A copy is another file, of
// which nothing is known.
func misfit(t *testing.T, before *File, p *Pair, raw []byte) {
	const more = 256 // keeps every alignment
	at := p.ValueAt + 12
	order := before.Parts[0].Order
	longer := slices.Insert(bytes.Clone(raw), int(at)+8, make([]byte, more)...)
	order.PutUint64(longer[at:], order.Uint64(raw[at:])+more)
	written(t, before.Parts[0].Path, longer)
	if again, err := OpenEdited(before.Parts[0].Path, before); err == nil {
		again.Close()
		t.Errorf("%s: a list that grew was not noticed", p.Key)
	}
	path := filepath.Join(t.TempDir(), "copy.gguf")
	written(t, path, longer)
	again, err := OpenEdited(path, before)
	if err != nil {
		t.Fatalf("%s: a copy: %v", p.Key, err)
	}
	again.Close()
}

// TestOpenEditedShards has lists of one key in two shards, which differ.
func TestOpenEditedShards(t *testing.T) {
	folder := t.TempDir()
	var first string
	for i, size := range []int{64, 128, 64} {
		name := fmt.Sprintf("split-gpt2-nofirst-%05d-of-00003.gguf", i+1)
		raw, err := os.ReadFile(filepath.Join("../testdata/gguf", name))
		if err != nil {
			t.Fatal(err)
		}
		le := binary.LittleEndian
		list := append(le.AppendUint64(nil, 7), "my.list"...)
		list = le.AppendUint32(le.AppendUint32(list, uint32(TypeArray)), uint32(TypeString))
		list = le.AppendUint64(le.AppendUint64(list, 1), uint64(size-len(list)-16))
		list = append(list, make([]byte, size-len(list))...)
		le.PutUint64(raw[16:], le.Uint64(raw[16:])+1)
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, slices.Insert(raw, 24, list...), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = path
		}
	}
	before, err := Open(first)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	again, err := OpenEdited(first, before)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	for i, p := range again.Parts {
		if !reflect.DeepEqual(p.Pairs, before.Parts[i].Pairs) {
			t.Errorf("part %d differs", i)
		}
	}
}
