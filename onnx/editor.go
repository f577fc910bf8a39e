package onnx

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/patch"
)

// Editor collects changes to a File and turns them into byte-range edits.
// Untouched bytes, unknown fields and the order of fields stay as they are;
// length prefixes of enclosing messages are recomputed.
type Editor struct {
	file        *File
	changes     []change
	replaced    map[*Tensor]replacement // how a tensor was replaced, to see repeats
	renamed     map[*Node]map[int]rename
	renames     []*Node                   // the keys of renamed, in the order of first mention
	names       map[string]bool           // that values and nodes bear, new ones included
	last        map[string]int            // the number that was last put behind a name
	appends     map[string][]patch.Source // data file location → new bytes at its end
	tables      []externalTable           // new constants whose content is in appends
	ends        map[string]int64          // its size with those
	dataName    map[string]string         // location → name in the output
	dropped     map[*ValueInfo]bool
	inFunction  *Node               // a call whose function would have to change
	redeclared  map[*ValueInfo]bool // those of constants, with new dimensions
	sized       map[*ValueInfo]bool // those of which a dimension was set
	gone        map[*Node]bool      // that were removed or replaced
	imported    map[string]bool     // domains that were added
	unread      map[*Tensor]bool    // that were removed
	reading     []string            // inputs of new nodes
	copied      []copied
	readBefore  map[*wire][]*Node // who read values before there were copies
	nodesBefore map[*Node]Node    // before they read copies
}

// change is an edit inside the message frame, whose length prefix and those of
// the messages around it follow; or of bytes in the data file at location.
type change struct {
	frame    *frame
	location string // "" in the model file
	at, old  int64
	new      patch.Source
	why      string
}

// replacement is what a tensor was replaced by.
type replacement struct {
	dims []int64
	data patch.Source
	why  string
}

// rename is what an input of a node was renamed to.
type rename struct{ name, why string }

// NewEditor returns an editor without changes.
func NewEditor(f *File) *Editor {
	return &Editor{file: f, replaced: map[*Tensor]replacement{}, renamed: map[*Node]map[int]rename{},
		appends: map[string][]patch.Source{}, ends: map[string]int64{}, dropped: map[*ValueInfo]bool{}, redeclared: map[*ValueInfo]bool{}, sized: map[*ValueInfo]bool{}}
}

// File is the model that the editor changes.
func (e *Editor) File() *File { return e.file }

// Changed reports whether any change was recorded.
func (e *Editor) Changed() bool {
	return len(e.changes) > 0 || len(e.renames) > 0 || len(e.tables) > 0 || len(e.copied) > 0
}

func (e *Editor) record(fr *frame, at, old int64, new patch.Source, why string) {
	e.changes = append(e.changes, change{frame: fr, at: at, old: old, new: new, why: why})
}

func (e *Editor) replaceField(fr *frame, f field, new []byte, why string) {
	e.record(fr, f.tag, f.end-f.tag, patch.Bytes(new), why)
}

// ReplaceTensor gives t new dimensions and elements of the same type. data is
// little-endian, as raw_data. Replacing a tensor twice by the same bytes is
// one change; by others it is an error.
func (e *Editor) ReplaceTensor(t *Tensor, dims []int64, data patch.Source, why string) error {
	if reason := t.Editable(); reason != "" {
		return &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: reason}
	}
	if n, ok := (&Tensor{Dims: dims}).elements(); !ok || t.Type.Size(n) != data.Size() {
		return &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: fmt.Sprintf("%d bytes for %v of %s", data.Size(), dims, t.Type)}
	}
	if earlier, ok := e.replaced[t]; ok {
		if slices.Equal(earlier.dims, dims) && sameBytes(earlier.data, data) {
			return nil
		}
		return &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "two changes want it differently: " + earlier.why + "; " + why}
	}
	e.replaced[t] = replacement{slices.Clone(dims), data, why}
	if !slices.Equal(dims, t.Dims) {
		e.replaceDims(t, dims, why)
		e.redeclare(t, dims, why)
	}
	if t.isExt {
		return e.replaceExternal(t, data, why)
	}
	e.replaceInline(t, data, why)
	return nil
}

// sameBytes reports whether two sources give the same bytes.
func sameBytes(a, b patch.Source) bool {
	if a.Size() != b.Size() {
		return false
	}
	x, y := a.Open(), b.Open()
	bufX, bufY := make([]byte, 1<<16), make([]byte, 1<<16)
	for left := a.Size(); left > 0; {
		n := min(left, int64(len(bufX)))
		_, err1 := io.ReadFull(x, bufX[:n])
		_, err2 := io.ReadFull(y, bufY[:n])
		if err1 != nil || err2 != nil || !bytes.Equal(bufX[:n], bufY[:n]) {
			return false
		}
		left -= n
	}
	return true
}

// Replaced reports whether a tensor has been replaced already.
func (e *Editor) Replaced(t *Tensor) bool { _, ok := e.replaced[t]; return ok }

// redeclare gives the declared type of a constant its new dimensions, where it is an input as well (its default value, IR §"Graphs"), or
// stands beside those of values, as some tools write it.
func (e *Editor) redeclare(t *Tensor, dims []int64, why string) {
	if t.Name == "" || e.file.Graph.Initializer(t.Name) != t {
		return
	}
	for _, v := range slices.Concat(e.file.Graph.Inputs, e.file.Graph.ValueInfos) {
		if v.Name != t.Name || len(v.Dims) != len(dims) || e.dropped[v] {
			continue
		}
		set := e.redeclared[v] || e.sized[v] // by another change
		e.redeclared[v] = true
		for i, d := range v.Dims {
			if d.Value >= 0 && d.Value != dims[i] && !set {
				e.SetDim(v, i, dims[i], why)
			}
		}
	}
}

func (e *Editor) replaceDims(t *Tensor, dims []int64, why string) {
	encoded := encodeDims(dims)
	if len(t.dims) == 0 {
		e.record(t.frame, t.frame.start, 0, patch.Bytes(encoded), why)
		return
	}
	for i, f := range t.dims {
		if i > 0 {
			encoded = nil
		}
		e.replaceField(t.frame, f, encoded, why)
	}
}

func (e *Editor) replaceInline(t *Tensor, data patch.Source, why string) {
	switch {
	case t.raw != nil && t.raw.end-t.raw.start == data.Size():
		// The same size: only the content changes, in place.
		e.record(t.frame, t.raw.start, data.Size(), data, why)
	case t.raw != nil:
		e.record(t.frame, t.raw.tag, t.raw.end-t.raw.tag, rawData(data), why)
	case len(t.typed) > 0:
		for i, f := range t.typed {
			if i == 0 {
				e.record(t.frame, f.tag, f.end-f.tag, rawData(data), why)
				continue
			}
			e.replaceField(t.frame, f, nil, why)
		}
	default:
		e.record(t.frame, t.frame.end, 0, rawData(data), why)
	}
}

// replaceExternal writes the new elements at the end of the tensor's data
// file, so that every other tensor's offset stays true, or over the old ones
// when the size is the same.
func (e *Editor) replaceExternal(t *Tensor, data patch.Source, why string) error {
	file, err := e.file.externalFile(t)
	if err != nil {
		return err
	}
	if shared, n, err := e.file.externalRange(t); err != nil {
		return err
	} else if n == data.Size() && !e.file.sharesData(t, shared, n) {
		e.dropChecksum(t, why)
		e.changes = append(e.changes, change{location: file.location, at: shared, old: n, new: data, why: why})
		return nil
	}
	e.setEntry(t, "offset", fmt.Sprint(e.appendData(file, data)), why)
	e.setEntry(t, "length", fmt.Sprint(data.Size()), why)
	e.dropChecksum(t, why)
	return nil
}

// appendData puts content at the end of a data file and returns where.
func (e *Editor) appendData(file *externalFile, data patch.Source) (at int64) {
	end, ok := e.ends[file.location]
	if !ok {
		end = file.size
	}
	const align = 4096 // what exporters align to, so that readers may map it
	pad := (align - end%align) % align
	if data.Size() < align {
		pad = (64 - end%64) % 64
	}
	e.appends[file.location] = append(e.appends[file.location], patch.Zeros(pad), data)
	e.ends[file.location] = end + pad + data.Size()
	return end + pad
}

// dropChecksum removes the digest of bytes that change.
func (e *Editor) dropChecksum(t *Tensor, why string) {
	if f, ok := t.external["checksum"]; ok {
		e.replaceField(t.frame, f, nil, why)
	}
}

// setEntry sets a key of a tensor's external data.
func (e *Editor) setEntry(t *Tensor, key, value, why string) {
	encoded := encodeEntry(13, key, value)
	if f, ok := t.external[key]; ok {
		e.replaceField(t.frame, f, encoded, why)
		return
	}
	e.record(t.frame, t.frame.end, 0, patch.Bytes(encoded), why)
}

// sharesData reports whether another tensor reads the bytes [at, at+n) of the
// same data file.
func (f *File) sharesData(t *Tensor, at, n int64) bool {
	shared := false
	f.Tensors(func(o *Tensor, _ *Graph) {
		if o == t || o.DataFile() != t.DataFile() {
			return
		}
		if from, size, err := f.externalRange(o); err == nil && from < at+n && at < from+size {
			shared = true
		}
	})
	return shared
}

// RenameInput makes input i of a node read another value. The last name counts.
func (e *Editor) RenameInput(n *Node, i int, name, why string) {
	if e.renamed[n] == nil {
		e.renamed[n] = map[int]rename{}
		e.renames = append(e.renames, n)
	}
	e.renamed[n][i] = rename{name, why}
}

// renameChanges are the changes of node inputs. Inputs beyond those that a
// node has follow them, with empty names where there are gaps.
func (e *Editor) renameChanges() []change {
	var out []change
	made := make(map[*Node]bool, len(e.copied))
	for _, c := range e.copied {
		made[c.node] = true
	}
	for _, n := range e.renames {
		if e.gone[n] || made[n] { // a copy is written with its names
			continue
		}
		last, more, why := len(n.inputs)-1, []byte(nil), ""
		for i, r := range e.renamed[n] {
			if i >= len(n.inputs) {
				last, why = max(last, i), r.why
			}
		}
		if n.calls && last >= len(n.inputs) {
			e.inFunction = n
			continue
		}
		for i := range last + 1 {
			r, renamed := e.renamed[n][i]
			switch {
			case i >= len(n.inputs):
				more = appendText(more, 1, r.name)
			case renamed && r.name != n.Written(i):
				f := n.inputs[i]
				out = append(out, change{frame: n.frame, at: f.tag, old: f.end - f.tag, new: patch.Bytes(appendText(nil, 1, r.name)), why: r.why})
			}
		}
		if more == nil {
			continue
		}
		at := n.frame.start
		if k := len(n.inputs); k > 0 {
			at = n.inputs[k-1].end
		}
		out = append(out, change{frame: n.frame, at: at, new: patch.Bytes(more), why: why})
	}
	return out
}

// minFreeInitializers is the IR version from which an initializer need not be
// declared as a graph input as well.
const minFreeInitializers = 4

// AddInitializer adds a constant to a graph and returns its name, made from
// the wanted one. The body of a function, which has no initializers, gets a
// Constant node.
func (e *Editor) AddInitializer(g *Graph, name string, t DataType, dims []int64, raw []byte, why string) string {
	name = e.FreshName(name)
	if g.isFunction(e.file) {
		value := appendInt(appendMessage(appendText(nil, 1, "value"), 5, encodeTensor("", t, dims, raw)), 20, 4)
		node := NewNode{Op: "Constant", Outputs: []string{name}}.encode(e.FreshName("modelpatch/Constant"))
		m := appendMessage(nil, 7, appendMessage(node, 5, value))
		at := g.frame.end
		if len(g.Nodes) > 0 { // before whatever reads it
			at = g.Nodes[0].frame.tag
		}
		e.record(g.frame, at, 0, patch.Bytes(m), why)
		return name
	}
	m := appendMessage(nil, 5, encodeTensor(name, t, dims, raw))
	if e.file.IRVersion < minFreeInitializers && g.Parent == nil {
		m = appendMessage(m, 11, NewValue{Name: name, Type: t, Dims: dims}.encode())
	}
	e.record(g.frame, g.frame.end, 0, patch.Bytes(m), why)
	return name
}

// InsertNodes adds nodes to a graph right before an existing one, so that
// the graph stays in topological order.
func (e *Editor) InsertNodes(before *Node, nodes []NewNode, why string) {
	var b []byte
	number := protowire.Number(1)
	if before.Graph.isFunction(e.file) {
		number = 7
	}
	for _, n := range nodes {
		b = appendMessage(b, number, n.encode(e.FreshName("modelpatch/"+n.Op)))
		e.reading = append(e.reading, n.Inputs...)
	}
	e.record(before.frame.parent, before.frame.tag, 0, patch.Bytes(b), why)
}

func (g *Graph) isFunction(f *File) bool {
	for _, fn := range f.Functions {
		if fn.Graph == g {
			return true
		}
	}
	return false
}

// SetInt sets an integer attribute of a node.
func (e *Editor) SetInt(n *Node, name string, v int64, why string) {
	encoded := NewAttribute{name, v}.encode()
	e.setAttribute(n, name, encoded, why)
}

// SetFloat sets a float attribute of a node.
func (e *Editor) SetFloat(n *Node, name string, v float32, why string) {
	e.setAttribute(n, name, NewAttribute{name, v}.encode(), why)
}

func (e *Editor) setAttribute(n *Node, name string, encoded []byte, why string) {
	if n.calls {
		e.inFunction = n
		return
	}
	m := appendMessage(nil, 5, encoded)
	if a := n.Attribute(name); a != nil {
		e.record(n.frame, a.frame.tag, a.frame.end-a.frame.tag, patch.Bytes(m), why)
		return
	}
	e.record(n.frame, n.frame.end, 0, patch.Bytes(m), why)
}

// SetDim makes dimension i of a declared value a fixed size.
func (e *Editor) SetDim(v *ValueInfo, i int, size int64, why string) {
	e.sized[v] = true
	d := v.Dims[i]
	encoded := appendInt(nil, 1, size)
	if len(d.fields) == 0 {
		e.record(d.frame, d.frame.start, 0, patch.Bytes(encoded), why)
		return
	}
	for _, f := range d.fields {
		e.replaceField(d.frame, f, encoded, why)
		encoded = nil
	}
}

// FreeDim takes the size of a declared dimension away: it may be any then.
func (e *Editor) FreeDim(v *ValueInfo, i int, why string) {
	e.sized[v] = true
	d := v.Dims[i]
	for _, f := range d.fields {
		e.replaceField(d.frame, f, nil, why)
	}
}

// DropValueInfo removes the declared type of an inner value, which readers
// then infer; it is what to do when a change contradicts it.
func (e *Editor) DropValueInfo(v *ValueInfo, why string) {
	if e.dropped[v] || e.redeclared[v] {
		return
	}
	e.dropped[v] = true
	e.record(v.frame.parent, v.frame.tag, v.frame.end-v.frame.tag, nil, why)
}

// Dropped reports whether the declared type of an inner value is removed.
func (e *Editor) Dropped(v *ValueInfo) bool { return e.dropped[v] }

// AddValueInfo declares the type of an inner value that had no declared one.
func (e *Editor) AddValueInfo(g *Graph, v NewValue, why string) {
	e.record(g.frame, g.frame.end, 0, patch.Bytes(appendMessage(nil, 13, v.encode())), why)
}

// FreshName returns a name that no value or node of the model bears.
func (e *Editor) FreshName(wanted string) string {
	if e.names == nil {
		e.names, e.last = map[string]bool{}, map[string]int{}
		e.file.Graphs(func(g *Graph) {
			for _, n := range g.Nodes {
				e.names[n.Name] = true
				for _, o := range slices.Concat(n.Inputs, n.Outputs) {
					e.names[o] = true
				}
			}
			for _, v := range slices.Concat(g.Inputs, g.Outputs, g.ValueInfos) {
				e.names[v.Name] = true
			}
			for _, s := range g.Sparse {
				e.names[s.Values.Name] = true
			}
			for _, t := range g.Initializers {
				e.names[t.Name] = true
			}
		})
		for _, fn := range e.file.Functions {
			for _, o := range slices.Concat(fn.Inputs, fn.Outputs) {
				e.names[o] = true
			}
		}
	}
	name, i := wanted, e.last[wanted]
	for e.names[name] {
		i++
		name = fmt.Sprintf("%s_%d", wanted, i)
	}
	e.names[name], e.last[wanted] = true, i
	return name
}

// NameData tells the editor the path of the model to be written, so that data
// files are named after it: MODEL.onnx.data, MODEL.onnx.data.1 and so on.
func (e *Editor) NameData(target string) {
	e.dataName = map[string]string{}
	base := filepath.Base(target) + ".data"
	for i, d := range e.file.DataFiles() {
		name := base
		if i > 0 {
			name = fmt.Sprintf("%s.%d", base, i)
		}
		e.dataName[d.Location] = name
	}
}

// Plan returns the changes as edits of the model file and its data files.
func (e *Editor) Plan() (patch.Plan, error) {
	p := patch.Plan{Inputs: []patch.Input{{Path: e.file.Path, Size: e.file.Size, Info: e.file.info, Reader: e.file.Reader()}}, Outputs: []patch.Output{{}}}
	copies, err := e.copyChanges()
	if err != nil {
		return p, err
	}
	changes := slices.Concat(e.changes, e.renameChanges(), e.tableChanges(), copies)
	if n := e.inFunction; n != nil {
		return p, &UnsupportedError{Place: n.Title(), What: "it calls a function of the file, or is one of two nodes that act as one operator, and its attributes and inputs are not changed: inline the functions first (onnx.inliner)"}
	}
	taken := map[string]bool{}
	for _, d := range e.file.DataFiles() {
		if d.Err != nil {
			return p, d.Err
		}
		index := len(p.Inputs)
		p.Inputs = append(p.Inputs, patch.Input{Path: d.Path, Size: d.Size, Info: d.Info, Reader: d.reader})
		name := e.dataName[d.Location]
		if name == "" {
			name = filepath.Base(d.Path)
			for i := 1; taken[name]; i++ {
				name = fmt.Sprintf("%s.%d", filepath.Base(d.Path), i)
			}
			taken[name] = true
		} else if name != d.Location {
			changes = append(changes, e.relocate(d.Location, name)...)
		}
		p.Outputs = append(p.Outputs, patch.Output{Input: index, Name: name})
		for _, c := range changes {
			if c.location == d.Location {
				p.Edits = append(p.Edits, patch.Edit{File: index, At: c.at, Old: c.old, New: c.new, Why: c.why})
			}
		}
		if sources := e.appends[d.Location]; len(sources) > 0 {
			p.Edits = append(p.Edits, patch.Edit{File: index, At: d.Size, New: patch.Concat(sources...), Why: "new tables at the end of the data file"})
		}
	}
	changes = slices.DeleteFunc(changes, func(c change) bool { return c.location != "" })
	p.Edits = append(p.Edits, prefixEdits(changes)...)
	p = p.Normalize()
	if err := p.Check(); err != nil {
		return p, err
	}
	if size := p.OutputSize(0); size > maxRoot && e.file.Size <= maxRoot {
		return p, &UnsupportedError{Place: "the model file", What: fmt.Sprintf("%d bytes, and no reader of protobuf takes more than %d", size, maxRoot)}
	}
	return p, nil
}

// maxRoot is the largest message that implementations of protobuf read.
const maxRoot = math.MaxInt32

// relocate points every tensor of a data file to its new name.
func (e *Editor) relocate(location, name string) []change {
	var out []change
	e.file.Tensors(func(t *Tensor, _ *Graph) {
		if f, ok := t.external["location"]; ok && t.DataFile() == location && !e.unread[t] {
			out = append(out, change{frame: t.frame, at: f.tag, old: f.end - f.tag,
				new: patch.Bytes(encodeEntry(13, "location", name)), why: "name of the data file"})
		}
	})
	return out
}

// prefixEdits turns changes into edits and adds those of the length prefixes
// around them: innermost messages first, since a prefix that grows makes the
// message around it longer too.
func prefixEdits(changes []change) []patch.Edit {
	// What is added at the end of a message comes before what is added behind
	// it, although both stand at the same byte.
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.frame.depth(), a.frame.depth()))
	})
	var edits []patch.Edit
	growth := map[*frame]int64{}
	var frames []*frame
	touch := func(fr *frame) {
		for ; fr != nil; fr = fr.parent {
			if _, seen := growth[fr]; seen {
				return
			}
			growth[fr] = 0
			frames = append(frames, fr)
		}
	}
	for _, c := range changes {
		touch(c.frame)
		size := int64(0)
		if c.new != nil {
			size = c.new.Size()
		}
		growth[c.frame] += size - c.old
		edits = append(edits, patch.Edit{At: c.at, Old: c.old, New: c.new, Why: c.why})
	}
	// An inner message starts after the one around it.
	slices.SortFunc(frames, func(a, b *frame) int { return cmp.Compare(b.start, a.start) })
	slices.SortStableFunc(frames, func(a, b *frame) int { return cmp.Compare(b.depth(), a.depth()) })
	for _, fr := range frames {
		grown := growth[fr]
		if fr.parent == nil || grown == 0 {
			continue
		}
		prefix := protowire.AppendVarint(nil, uint64(fr.end-fr.start+grown))
		old := fr.start - fr.length
		edits = append(edits, patch.Edit{At: fr.length, Old: old, New: patch.Bytes(prefix), Why: "protobuf length prefix"})
		growth[fr.parent] += grown + int64(len(prefix)) - old
	}
	return edits
}

func (fr *frame) depth() int {
	d := 0
	for ; fr.parent != nil; fr = fr.parent {
		d++
	}
	return d
}

// Source is the bytes of n elements from element first as they stand in the
// file, for copying.
func (t *Tensor) Source(first, n int64) (patch.Source, error) {
	r, size, err := t.reader()
	if err != nil {
		return nil, err
	}
	width := int64(t.Type.Bits() / 8)
	if width == 0 || (first+n)*width > size {
		return nil, &UnsupportedError{Place: fmt.Sprintf("tensor %s", quoted(t.Name)), What: "its elements cannot be copied one by one"}
	}
	return patch.Region(r, first*width, n*width), nil
}

// WholeSource is all bytes of the tensor's elements, of any type: for strings
// the fields that hold them.
func (t *Tensor) WholeSource() (patch.Source, error) {
	if r, size, err := t.reader(); err == nil {
		return patch.Region(r, 0, size), nil
	} else if t.isExt {
		return nil, err
	}
	return patch.Region(t.file.r, t.frame.start, t.frame.end-t.frame.start), nil
}
