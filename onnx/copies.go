package onnx

import (
	"cmp"
	"io"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/internal/block"
	"github.com/modelpatch/modelpatch/patch"
)

// Copies of nodes stand in the graph as it is read as well, so that it can be evaluated with them before
// anything is written: an unrolled recurrence goes on by copies of the nodes of its last step.

// copied is a copy of a node, and what it goes before.
type copied struct {
	node, before *Node
	why          string
}

// Copy makes a copy of a node with other inputs, and names of its own for what it gives. It is part of the graph
// once it is inserted.
func (e *Editor) Copy(n *Node, inputs []string) *Node {
	w := &n.Graph.wiring
	c := &Node{Name: e.FreshName("modelpatch/" + n.Op), Op: n.Op, Domain: n.Domain, Inputs: inputs, Attributes: n.Attributes, Graph: n.Graph, frame: n.frame}
	for _, in := range inputs {
		value := w.named(in)
		c.inputs = append(c.inputs, input{value: value, written: value})
	}
	for i, out := range n.Outputs {
		if out != "" {
			out = e.FreshName("modelpatch/" + out)
		}
		value := w.named(out)
		if value >= 0 {
			w.values[value].producer, w.values[value].place = c, int32(i)
		}
		c.Outputs, c.makes = append(c.Outputs, out), append(c.makes, value)
	}
	return c
}

// named is the number of a name, a new one if need be, −1 of that of an absent value.
func (w *Wiring) named(name string) int32 {
	if name == "" {
		return -1
	}
	return w.number(name, new(block.Of[wire]))
}

// InsertCopies puts copies before nodes of the file, in the order given. before has a node for each of them. In Graph.Nodes they
// stand behind all others, so that no node's Index changes; InOrder has them at their place.
func (e *Editor) InsertCopies(copies, before []*Node, why string) {
	if len(copies) == 0 {
		return
	}
	g := copies[0].Graph
	added := map[*Node][]*Node{}
	for i, c := range copies {
		e.copied = append(e.copied, copied{c, before[i], why})
		e.reading = append(e.reading, c.Inputs...)
		added[before[i]] = append(added[before[i]], c)
		for _, in := range c.inputs {
			if in.value >= 0 {
				e.read(g.wiring.values[in.value], c)
			}
		}
	}
	for _, n := range g.Nodes {
		g.order = append(append(g.order, added[n]...), n)
	}
	g.places = make(map[*Node]int, len(g.order))
	for i, n := range g.order {
		g.places[n] = i
	}
	for _, c := range copies {
		c.index = len(g.Nodes)
		if g.Nodes = append(g.Nodes, c); g.passing != nil {
			g.passing = append(g.passing, false)
		}
	}
}

// InOrder are the nodes in the order of the file, copies at the place where they will stand.
func (g *Graph) InOrder() []*Node {
	if g.order != nil {
		return g.order
	}
	return g.Nodes
}

// Place is where the node stands in InOrder: its Index, but for copies and beside them.
func (n *Node) Place() int {
	if n.Graph.order == nil {
		return n.index
	}
	return n.Graph.places[n]
}

// read notes a node as a reader of a value.
func (e *Editor) read(v *wire, n *Node) {
	if slices.Contains(v.readers, n) {
		return
	}
	if e.readBefore == nil {
		e.readBefore = map[*wire][]*Node{}
	}
	if _, known := e.readBefore[v]; !known {
		e.readBefore[v] = v.readers
	}
	v.readers = append(slices.Clip(v.readers), n)
}

// Rewire is RenameInput that the graph as it is read follows; one input more than there are is the last.
func (e *Editor) Rewire(n *Node, i int, name, why string) {
	e.RenameInput(n, i, name, why)
	e.keep(n)
	value := n.Graph.wiring.named(name)
	if i == len(n.inputs) {
		n.Inputs, n.inputs = append(n.Inputs, ""), append(n.inputs, input{written: -1})
	}
	n.Inputs[i], n.inputs[i].value = name, value
	e.read(n.Graph.wiring.values[value], n)
}

// AddOutputs gives a node outputs more, behind those that it has, in the file and in the graph as it is read.
func (e *Editor) AddOutputs(n *Node, names []string, why string) {
	w, b := &n.Graph.wiring, []byte(nil)
	e.keep(n)
	for _, name := range names {
		value := w.named(name)
		w.values[value].producer, w.values[value].place = n, int32(len(n.Outputs))
		n.Outputs, n.makes = append(n.Outputs, name), append(n.makes, value)
		b = appendText(b, 2, name)
	}
	e.record(n.frame, n.frame.end, 0, patch.Bytes(b), why)
}

// SetIntNow is SetInt of an attribute that the node has, which the graph as it is read follows.
func (e *Editor) SetIntNow(n *Node, name string, v int64, why string) {
	e.SetInt(n, name, v, why)
	e.keep(n)
	n.Attributes = slices.Clone(n.Attributes)
	for i, a := range n.Attributes {
		if a.Name == name {
			changed := *a
			changed.I, n.Attributes[i] = v, &changed
		}
	}
}

// keep remembers a node as it stands in the file, before it is changed.
func (e *Editor) keep(n *Node) {
	if e.nodesBefore == nil {
		e.nodesBefore = map[*Node]Node{}
	}
	if _, known := e.nodesBefore[n]; !known {
		e.nodesBefore[n] = *n
		n.Inputs, n.inputs, n.Outputs, n.makes = slices.Clone(n.Inputs), slices.Clone(n.inputs), slices.Clone(n.Outputs), slices.Clone(n.makes)
	}
}

// Restore makes the graph what the file has, without copies and with what nodes read and give there; what is
// written stays as it was decided.
func (e *Editor) Restore() {
	for v, readers := range e.readBefore {
		v.readers = readers
	}
	for n, was := range e.nodesBefore {
		*n = was
	}
	if g := e.file.Graph; g.order != nil {
		g.Nodes, g.order, g.places = g.Nodes[:len(g.Nodes)-len(e.copied)], nil, nil
		g.passing = g.passing[:min(len(g.passing), len(g.Nodes))]
	}
	e.readBefore, e.nodesBefore = nil, nil
}

// copyChanges are the changes that put copies into the file.
func (e *Editor) copyChanges() ([]change, error) {
	var out []change
	slices.SortStableFunc(e.copied, func(a, b copied) int { return cmp.Compare(a.before.frame.tag, b.before.frame.tag) })
	for i := 0; i < len(e.copied); {
		first, b := e.copied[i], []byte(nil)
		for ; i < len(e.copied) && e.copied[i].before == first.before; i++ {
			n := e.copied[i].node
			message, err := e.rest(n)
			if err != nil {
				return nil, err
			}
			written := NewNode{Outputs: n.Outputs}
			for k := range n.inputs {
				written.Inputs = append(written.Inputs, e.reads(n, k))
			}
			message = append(written.named(n.Name), message...)
			b = appendMessage(b, protowire.Number(1), message)
		}
		out = append(out, change{frame: first.before.frame.parent, at: first.before.frame.tag, new: patch.Bytes(b), why: first.why})
	}
	return out, nil
}

// rest is what the node of the file that a node is a copy of states, but for its name, inputs and outputs.
func (e *Editor) rest(n *Node) ([]byte, error) {
	raw := make([]byte, n.frame.end-n.frame.start)
	if _, err := e.file.r.ReadAt(raw, n.frame.start); err != nil && err != io.EOF {
		return nil, err
	}
	var out []byte
	for len(raw) > 0 {
		number, _, size := protowire.ConsumeField(raw)
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if number > 3 {
			out = append(out, raw[:size]...)
		}
		raw = raw[size:]
	}
	return out, nil
}
