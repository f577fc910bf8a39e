package gguf

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/patch"
)

// Editor collects changes to a File. Plan turns them into byte-range edits:
// counts, offsets, alignment and padding follow by themselves.
type Editor struct {
	file    *File
	keys    map[string]keyEdit
	tensors map[*Tensor]tensorEdit
	added   []newTensor
	room    int64 // see Room
	err     error
}

// keyEdit sets a key, or removes it.
type keyEdit struct {
	value  Value
	remove bool
	why    string
}

// tensorEdit gives a tensor other data, or removes it. The first keep bytes
// stay, data follows them.
type tensorEdit struct {
	shape  []int64
	kind   TensorType
	keep   int64
	data   patch.Source
	remove bool
	why    string
}

// newTensor is a tensor to be added.
type newTensor struct {
	name  string
	kind  TensorType
	shape []int64
	data  patch.Source
	why   string
}

// Edit returns an editor without changes.
func (f *File) Edit() *Editor {
	return &Editor{file: f, keys: map[string]keyEdit{}, tensors: map[*Tensor]tensorEdit{}}
}

// Set stores a value in a key, which is added when it is not there. Storing
// what is there already is no change.
func (e *Editor) Set(key string, v Value, why string) {
	if was, ok := e.keys[key]; ok && !was.remove && string(was.value.bytes(e.file.Parts[0].Order)) != string(v.bytes(e.file.Parts[0].Order)) {
		e.conflict("key " + clip(key) + " is to be both " + was.value.String() + " and " + v.String())
		return
	}
	if p := e.file.Find(key); p != nil && v.equal(p) {
		delete(e.keys, key)
		return
	}
	e.keys[key] = keyEdit{value: v, why: why}
}

// Edited reports whether a key is to be set or removed.
func (e *Editor) Edited(key string) bool { _, ok := e.keys[key]; return ok }

// Delete removes a key when it is there.
func (e *Editor) Delete(key, why string) {
	delete(e.keys, key)
	if e.file.Find(key) != nil {
		e.keys[key] = keyEdit{remove: true, why: why}
	}
}

// Resize gives a matrix another number of rows (its second dimension). The
// first keep rows stay, as the bytes they are; data holds the others.
func (e *Editor) Resize(t *Tensor, rows, keep int64, data patch.Source, why string) {
	if !t.IsMatrix() || keep > t.Rows() || keep > rows || !t.Known() {
		e.conflict(fmt.Sprintf("tensor %s of shape %v cannot keep %d and hold %d rows", clip(t.Name), t.Shape, keep, rows))
		return
	}
	if want := (rows - keep) * t.RowBytes(); data.Size() != want {
		e.conflict(fmt.Sprintf("tensor %s: %d bytes of new rows, not %d", clip(t.Name), data.Size(), want))
		return
	}
	shape := slices.Clone(t.Shape)
	shape[1] = rows
	e.change(t, tensorEdit{shape: shape, kind: t.Type, keep: keep * t.RowBytes(), data: data, why: why})
}

// Replace gives a tensor other data of the same type and shape.
func (e *Editor) Replace(t *Tensor, data patch.Source, why string) {
	if data.Size() != t.Size || !t.Known() {
		e.conflict(fmt.Sprintf("tensor %s: %d bytes of new data, not %d", clip(t.Name), data.Size(), t.Size))
		return
	}
	e.change(t, tensorEdit{shape: t.Shape, kind: t.Type, data: data, why: why})
}

// Remove takes a tensor out of the file.
func (e *Editor) Remove(t *Tensor, why string) { e.change(t, tensorEdit{remove: true, why: why}) }

// Keep takes back what was to be done with a tensor.
func (e *Editor) Keep(t *Tensor) { delete(e.tensors, t) }

// Add appends a tensor to the first part. One of its name must not be there,
// or must be removed by the same editor.
func (e *Editor) Add(name string, kind TensorType, shape []int64, data patch.Source, why string) {
	if t := e.file.Tensor(name); t != nil && !e.tensors[t].remove || slices.ContainsFunc(e.added, func(n newTensor) bool { return n.name == name }) {
		e.conflict("tensor " + clip(name) + " is there already")
		return
	}
	e.added = append(e.added, newTensor{name, kind, shape, data, why})
}

// Changed reports whether any change was collected.
func (e *Editor) Changed() bool { return len(e.keys)+len(e.tensors)+len(e.added) > 0 }

func (e *Editor) change(t *Tensor, c tensorEdit) {
	if _, twice := e.tensors[t]; twice {
		e.conflict("tensor " + clip(t.Name) + " is to be changed twice")
		return
	}
	e.tensors[t] = c
}

// conflict records the first contradiction; Plan reports it.
func (e *Editor) conflict(why string) {
	if e.err == nil {
		e.err = fmt.Errorf("conflicting edits: %s", why)
	}
}

// Plan returns all changes as byte-range edits of the parts, one output a
// part. A file that an engine refuses as it stands, because of how it is laid
// out, is not edited: the result would be refused too (facts/BAD-INPUTS H04).
func (e *Editor) Plan() (patch.Plan, error) {
	var plan patch.Plan
	for i, p := range e.file.Parts {
		plan.Inputs = append(plan.Inputs, patch.Input{Path: p.Path, Size: p.Size, Info: p.Info, Reader: p.distant})
		plan.Outputs = append(plan.Outputs, patch.Output{Input: i, Name: p.base(i)})
	}
	if e.err != nil {
		return plan, e.err
	}
	e.countSplit()
	for i, p := range e.file.Parts {
		b := builder{editor: e, part: p, number: i}
		edits, err := b.edits()
		if err != nil {
			return plan, err
		}
		plan.Edits = append(plan.Edits, edits...)
	}
	return plan, nil
}

// View reads the header of the model as the changes make it, without writing it. It is read from the same
// files, which must stay open.
func (e *Editor) View() (*File, error) {
	plan, err := e.Plan()
	if err != nil {
		return nil, err
	}
	var parts []*Part
	for i, p := range e.file.Parts {
		part, err := readPart(newCursor(plan.View(i, p.r), plan.OutputSize(i)), p.Path)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return join(parts)
}

// countSplit keeps a split model's total of tensors right.
func (e *Editor) countSplit() {
	total, ok := e.file.Find(keySplitTensors).Uint()
	if !ok {
		return
	}
	now := int(total) + len(e.added)
	for _, c := range e.tensors {
		if c.remove {
			now--
		}
	}
	if now != int(total) {
		e.Set(keySplitTensors, Int32(int32(now)), "number of tensors")
	}
}

// sortedKeys gives the keys in an order that does not change from run to run.
func (e *Editor) sortedKeys() []string { return slices.Sorted(maps.Keys(e.keys)) }
