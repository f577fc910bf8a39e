package onnx

import "github.com/modelpatch/modelpatch/internal/block"

// Wiring says where the values of one graph come from and which of its nodes
// read them, do-nothing nodes seen through. Values have numbers, 0 to Len()−1, so that what is known of them
// can be kept in a slice. It is made while the graph is read and shared by all
// who ask.
type Wiring struct {
	numbers map[string]int32
	values  []*wire
	unnamed *Tensor // the last initializer without a name
}

// wire is one value: an initializer, the output of a node, or a name that nodes
// read and that comes from outside.
type wire struct {
	name     string
	constant *Tensor // the last initializer of that name
	producer *Node   // the last node that makes it
	place    int32   // as which of its outputs
	readers  []*Node
}

// Wiring is the graph's wiring.
func (g *Graph) Wiring() *Wiring { return &g.wiring }

// Initializer returns the initializer of that name, nil when there is none.
func (g *Graph) Initializer(name string) *Tensor {
	if name == "" {
		return g.wiring.unnamed
	}
	if value, ok := g.wiring.Number(name); ok {
		return g.wiring.Constant(value)
	}
	return nil
}

// Enclose gives a graph inside of a node the initializers that it takes from the graphs around it as its
// own, so that it can be read as one by itself. They are not the graph's in the file.
func (g *Graph) Enclose() {
	inputs := make(map[string]bool, len(g.Inputs))
	for _, in := range g.Inputs {
		inputs[in.Name] = true
	}
	for _, v := range g.wiring.values {
		if v.constant != nil || v.producer != nil || inputs[v.name] {
			continue
		}
		for around := g.Parent; around != nil && v.constant == nil; around = around.Parent {
			v.constant = around.Initializer(v.name)
		}
		if v.constant != nil {
			g.Initializers = append(g.Initializers, v.constant)
		}
	}
}

// A graph of so many bytes is expected to have a value for every bytesPerValue of them,
// up to maxHint (64 kB), since most of a large file is weights; graphs inside others,
// which share their bytes, have few.
const (
	bytesPerValue = 128
	maxHint       = 1024
	maxInnerHint  = 32
)

// start makes room for the values that are expected.
func (w *Wiring) start(hint int64) {
	w.numbers = make(map[string]int32, hint)
	w.values = make([]*wire, 0, hint)
}

// number is the number of a name, a new one if need be.
func (w *Wiring) number(name string, wires *block.Of[wire]) int32 {
	i, ok := w.numbers[name]
	if !ok {
		i = w.add(name, wires)
	}
	return i
}

// add gives a name its number, one that no value has yet.
func (w *Wiring) add(name string, wires *block.Of[wire]) int32 {
	i := int32(len(w.values))
	v := wires.One()
	v.name = name
	w.values = append(w.values, v)
	w.numbers[name] = i
	return i
}

// addConstant adds an initializer and reports whether there was one of its name
// before. The name "" stands for an absent value and gets no number.
func (w *Wiring) addConstant(t *Tensor, wires *block.Of[wire]) (again bool) {
	if t.Name == "" {
		again, w.unnamed = w.unnamed != nil, t
		return again
	}
	value := w.values[w.number(t.Name, wires)]
	again, value.constant = value.constant != nil, t
	return again
}

// Len is how many values there are.
func (w *Wiring) Len() int { return len(w.values) }

// Number is the number of a value; false for a name that the graph does not
// use.
func (w *Wiring) Number(name string) (int, bool) {
	i, ok := w.numbers[name]
	return int(i), ok
}

// Name is the name of a value.
func (w *Wiring) Name(value int) string { return w.values[value].name }

// text is the name of a value, "" for that of an absent one.
func (w *Wiring) text(value int32) string {
	if value < 0 {
		return ""
	}
	return w.values[value].name
}

// Constant is the initializer that a value is, nil when it is none.
func (w *Wiring) Constant(value int) *Tensor { return w.values[value].constant }

// ConstantOf is the tensor of a value that is stored, or given by a Constant node; nil of others.
func (w *Wiring) ConstantOf(value int) *Tensor {
	if made := w.Producer(value); made != nil && made.Op == "Constant" && made.Attribute("value") != nil {
		return made.Attribute("value").Tensor
	}
	return w.Constant(value)
}

// Scalar is the number of a constant of one element that a node reads as its input i; not ok of other inputs.
func (w *Wiring) Scalar(n *Node, i int) (float64, bool) {
	value, ok := w.Input(n, i)
	if !ok {
		return 0, false
	}
	return w.ConstantOf(value).number()
}

// Producer is the node that makes a value, nil when none does.
func (w *Wiring) Producer(value int) *Node { return w.values[value].producer }

// Place is which output of its producer a value is.
func (w *Wiring) Place(value int) int { return int(w.values[value].place) }

// Input is the number of a node's input i; false for one that is absent: its name
// is empty, or the node lists fewer (onnx.proto, NodeProto: "trailing" optional
// inputs may be left out, and a damaged file leaves out any).
func (w *Wiring) Input(n *Node, i int) (int, bool) {
	if i < 0 || i >= len(n.inputs) {
		return -1, false
	}
	v := n.inputs[i].value
	return int(v), v >= 0
}

// Output is the number of a node's output i; false for one that is absent, as an
// input may be.
func (w *Wiring) Output(n *Node, i int) (int, bool) {
	if i < 0 || i >= len(n.makes) {
		return -1, false
	}
	v := n.makes[i]
	return int(v), v >= 0
}

// Readers are the nodes of the graph itself that read a value, in file order
// and each once; sub-graphs inside are not looked into.
func (w *Wiring) Readers(value int) []*Node { return w.values[value].readers }

// finish tells values their readers, once all nodes are there. What a do-nothing
// node reads it does not need for itself: it is no reader.
func (g *Graph) finish() {
	w := &g.wiring
	// A reader is noted once for every node, however often it names the value.
	last := make([]*Node, len(w.values))
	reads := func(visit func(value int32, n *Node)) {
		clear(last)
		for _, n := range g.Nodes {
			if n.Passes() {
				continue
			}
			for _, in := range n.inputs {
				if in.value >= 0 && last[in.value] != n {
					last[in.value] = n
					visit(in.value, n)
				}
			}
		}
	}
	counts, total := make([]int32, len(w.values)), 0
	reads(func(v int32, _ *Node) { counts[v]++; total++ })
	all := make([]*Node, total)
	for v, n := range counts {
		w.values[v].readers, all = all[:0:n], all[n:]
	}
	reads(func(v int32, n *Node) { w.values[v].readers = append(w.values[v].readers, n) })
}
