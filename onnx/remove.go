package onnx

import (
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/patch"
)

// minExternal is the size from which a new table goes where a model has its other
// constants; PyTorch's exporters and ONNX's own helper draw the line there.
const minExternal = 1 << 10

// externalTable is a new constant whose content is appended to a data file.
type externalTable struct {
	frame    *frame
	head     []byte // its name, type and dimensions
	location string // the data file as the model has it now
	at, size int64
	why      string
}

// tableChanges are the new constants in data files, by the names that these get.
func (e *Editor) tableChanges() []change {
	var out []change
	for _, t := range e.tables {
		location := t.location
		if name := e.dataName[location]; name != "" {
			location = name
		}
		b := slices.Concat(t.head, encodeEntry(13, "location", location), encodeEntry(13, "offset", strconv.FormatInt(t.at, 10)), encodeEntry(13, "length", strconv.FormatInt(t.size, 10)))
		const external = 1 // TensorProto.DataLocation
		out = append(out, change{frame: t.frame, at: t.frame.end, new: patch.Bytes(appendMessage(nil, 5, appendInt(b, 14, external))), why: t.why})
	}
	return out
}

// dataOf is the data file of a graph's constants, nil where they are in the model file.
func (e *Editor) dataOf(g *Graph) *externalFile {
	for _, t := range g.Initializers {
		if t.External() {
			if f, err := e.file.externalFile(t); err == nil {
				return f
			}
		}
	}
	return nil
}

// AddTable is AddInitializer for content that is made while it is written; it goes into
// the data file where the graph's other constants have one. A function's body has no
// initializers: it is an error there.
func (e *Editor) AddTable(g *Graph, name string, t DataType, dims []int64, data patch.Source, why string) (string, error) {
	if n, ok := (&Tensor{Dims: dims}).elements(); !ok || t.Size(n) != data.Size() {
		return "", &UnsupportedError{Place: "a new table", What: "its bytes are not those of its dimensions"}
	}
	if g.isFunction(e.file) {
		return "", &UnsupportedError{Place: "the body of a function", What: "a table cannot be added there"}
	}
	name = e.FreshName(name)
	if file := e.dataOf(g); file != nil && data.Size() >= minExternal {
		at := e.appendData(file, data)
		e.tables = append(e.tables, externalTable{g.frame, encodeTensor(name, t, dims, nil), file.location, at, data.Size(), why})
		return name, nil
	}
	content := patch.Concat(patch.Bytes(encodeTensor(name, t, dims, nil)), rawData(data))
	head := protowire.AppendVarint(protowire.AppendTag(nil, 5, protowire.BytesType), uint64(content.Size()))
	m := patch.Concat(patch.Bytes(head), content)
	if e.file.IRVersion < minFreeInitializers && g.Parent == nil {
		m = patch.Concat(m, patch.Bytes(appendMessage(nil, 11, NewValue{Name: name, Type: t, Dims: dims}.encode())))
	}
	e.record(g.frame, g.frame.end, 0, m, why)
	return name, nil
}

// ReplaceNode puts nodes in the place of one; what it gave has to be given by them,
// under the same names.
func (e *Editor) ReplaceNode(n *Node, nodes []NewNode, why string) {
	if len(nodes) > 0 {
		e.InsertNodes(n, nodes, why)
	}
	e.remove(n, why)
}

// RemoveNode takes a node away that nothing reads.
func (e *Editor) RemoveNode(n *Node, why string) { e.remove(n, why) }

func (e *Editor) remove(n *Node, why string) {
	if e.gone[n] {
		return
	}
	if e.gone == nil {
		e.gone = map[*Node]bool{}
	}
	if n.joins != nil { // and what would become of the other?
		e.inFunction = n
	}
	e.gone[n] = true
	e.record(n.frame.parent, n.frame.tag, n.frame.end-n.frame.tag, nil, why)
}

// Removed reports whether a node has been removed or replaced.
func (e *Editor) Removed(n *Node) bool { return e.gone[n] }

// RemoveUnread takes away what only removed nodes have read, or nodes that read
// something else now: the nodes behind them, and constants. What was unread before stays.
func (e *Editor) RemoveUnread(why string) {
	readers, makers := e.readers(), e.file.Graph.makers()
	var pending []*Node
	for n := range e.gone {
		pending = append(pending, n)
	}
	for _, n := range e.renames { // what they have read may be read no more
		if !e.gone[n] {
			pending = append(pending, n)
		}
	}
	slices.SortFunc(pending, func(a, b *Node) int { return a.index - b.index })
	seen, unmade := map[string]bool{}, map[string]bool{}
	for len(pending) > 0 {
		n := pending[0]
		pending = pending[1:]
		if n.Graph.isFunction(e.file) || n.Graph.Parent != nil {
			continue // names mean other values there
		}
		for i := range n.inputs {
			name := n.Written(i)
			if name == "" || seen[name] || readers[name] > 0 {
				continue
			}
			seen[name] = true
			if t := n.Graph.Initializer(name); t != nil && t.Name == name && !e.Replaced(t) && !e.unread[t] && !n.Graph.takes(name) {
				if e.unread == nil {
					e.unread = map[*Tensor]bool{}
				}
				e.unread[t] = true
				e.record(t.frame.parent, t.frame.tag, t.frame.end-t.frame.tag, nil, why)
			}
			p := makers[name]
			if p == nil || e.gone[p] || p.inner() || slices.ContainsFunc(p.Outputs, func(o string) bool { return o != "" && readers[o] > 0 }) {
				continue
			}
			e.remove(p, why)
			for _, o := range p.Outputs {
				unmade[o] = true
			}
			for k := range p.inputs {
				readers[e.reads(p, k)]--
			}
			pending = append(pending, p)
		}
	}
	for _, v := range e.file.Graph.ValueInfos {
		if v.Name != "" && unmade[v.Name] {
			e.DropValueInfo(v, why)
		}
	}
}

// Gives reports whether an output of the graph bears a name.
func (g *Graph) Gives(name string) bool {
	return slices.ContainsFunc(g.Outputs, func(v *ValueInfo) bool { return v.Name == name })
}

// takes reports whether an input of the graph bears a name, whose initializer is then
// its default.
func (g *Graph) takes(name string) bool {
	return slices.ContainsFunc(g.Inputs, func(v *ValueInfo) bool { return v.Name == name })
}

// makers are the nodes that make values, by the names that stand in the file: a do-nothing node
// makes one, too.
func (g *Graph) makers() map[string]*Node {
	out := make(map[string]*Node, len(g.Nodes))
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			if o != "" {
				out[o] = n
			}
		}
	}
	return out
}

// inner reports whether a node has graphs of its own, which may read anything.
func (n *Node) inner() bool {
	return slices.ContainsFunc(n.Attributes, func(a *Attribute) bool { return a.Graph != nil || a.Graphs != nil })
}

// reads is the name that an input of a node has after the renames.
func (e *Editor) reads(n *Node, i int) string {
	if r, ok := e.renamed[n][i]; ok {
		return r.name
	}
	return n.Written(i)
}

// readers counts who reads each name: nodes that stay or are new, in all graphs, and
// outputs of graphs.
func (e *Editor) readers() map[string]int {
	out := map[string]int{}
	e.file.Graphs(func(g *Graph) {
		for _, n := range g.Nodes {
			if e.gone[n] {
				continue
			}
			for i := range n.inputs {
				out[e.reads(n, i)]++
			}
			for i, r := range e.renamed[n] {
				if i >= len(n.inputs) {
					out[r.name]++
				}
			}
		}
		for _, v := range g.Outputs {
			out[v.Name]++
		}
	})
	for _, fn := range e.file.Functions {
		for _, o := range fn.Outputs {
			out[o]++
		}
	}
	for _, name := range e.reading {
		out[name]++
	}
	return out
}

// Import makes the model import a domain of operators, where it does not.
func (e *Editor) Import(domain string, version int64, why string) {
	if _, ok := e.file.Opsets[domain]; ok || e.imported[domain] {
		return
	}
	if e.imported == nil {
		e.imported = map[string]bool{}
	}
	e.imported[domain] = true
	e.record(e.file.top, e.file.top.end, 0, patch.Bytes(appendMessage(nil, 8, appendInt(appendText(nil, 1, domain), 2, version))), why)
}
