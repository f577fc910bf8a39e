package onnx

import "slices"

// Exporters and optimizers leave nodes behind whose output is one of their
// inputs: Identity, Dropout outside of training, a product with 1, a Squeeze
// that undoes an Unsqueeze. The wiring sees through them: whoever reads such an
// output reads what goes in, so that no question about a graph has to know
// about them. The nodes themselves stay in Graph.Nodes, and Node.Written has
// the names that stand in the file.

// maxWaiting bounds how many values are waited for by one another. Files in
// topological order never come near it.
const maxWaiting = 64

// through finds the values that are other values under a new name.
type through struct {
	file  *File
	graph *Graph
	w     *Wiring
	// same is, for every value, the one that it is: itself where it is its own,
	// −1 while that is not known, −2 while it is being looked for.
	same   []int32
	depth  int                   // values that wait for one another
	halves []*Node               // first nodes of pairs that undo each other
	stated map[string]*ValueInfo // types that the graph declares, made when asked for
}

const (
	notLooked = -1
	looking   = -2
)

// seeThrough points the readers of do-nothing nodes to what these read. It must
// come before finish.
func (g *Graph) seeThrough(f *File) {
	t := through{file: f, graph: g, w: &g.wiring}
	if !slices.ContainsFunc(g.Nodes, t.candidate) {
		return
	}
	t.same = make([]int32, len(t.w.values))
	for v := range t.same {
		t.same[v] = notLooked
	}
	for v := range t.same {
		t.root(int32(v))
	}
	g.passing = make([]bool, len(g.Nodes))
	for v, root := range t.same {
		if root == int32(v) {
			continue
		}
		g.passing[t.w.values[v].producer.index] = true
		t.w.numbers[t.w.values[v].name] = root
	}
	for _, n := range g.Nodes {
		for i := range n.inputs {
			in := &n.inputs[i]
			if in.value >= 0 && t.same[in.value] != in.value {
				in.value = t.same[in.value]
				n.Inputs[i] = t.w.values[in.value].name
			}
		}
	}
	t.dropHalves()
}

// dropHalves has the first nodes of pairs passed over as well where nobody but
// the second one reads them.
func (t *through) dropHalves() {
	if len(t.halves) == 0 {
		return
	}
	needed := make([]int32, len(t.w.values)) // how often a value is read
	for _, n := range t.graph.Nodes {
		if n.Passes() {
			continue
		}
		for _, in := range n.inputs {
			if in.value >= 0 {
				needed[in.value]++
			}
		}
		n.captures(func(value int) { needed[value]++ })
	}
	for _, name := range t.file.gives(t.graph) {
		if v, ok := t.w.Number(name); ok {
			needed[v]++
		}
	}
	slices.SortFunc(t.halves, func(a, b *Node) int { return b.index - a.index })
	for _, n := range t.halves {
		if t.graph.passing[n.index] || slices.ContainsFunc(n.makes, func(v int32) bool { return v >= 0 && needed[v] > 0 }) {
			continue
		}
		t.graph.passing[n.index] = true
		for _, in := range n.inputs {
			if in.value >= 0 {
				needed[in.value]--
			}
		}
	}
}

// captures visits the values of a node's graph that graphs inside of the node read, or have names of.
func (n *Node) captures(visit func(value int)) {
	reads := func(name string) {
		if number, ok := n.Graph.wiring.Number(name); ok {
			visit(number)
		}
	}
	for _, a := range n.Attributes {
		for _, inner := range append(slices.Clone(a.Graphs), a.Graph) {
			if inner == nil {
				continue
			}
			inner.walk(func(inner *Graph) {
				for _, v := range inner.wiring.values {
					reads(v.name)
				}
				for _, o := range inner.Outputs {
					reads(o.Name)
				}
			})
		}
	}
}

// root is the value that a value is, however many nodes are between.
func (t *through) root(v int32) int32 {
	if t.depth >= maxWaiting {
		return v
	}
	t.depth++
	defer func() { t.depth-- }()
	var way []int32
	for t.same[v] == notLooked {
		t.same[v] = looking
		way = append(way, v)
		next := t.step(v)
		if next < 0 {
			t.same[v] = v
			break
		}
		if t.same[next] == looking { // a circle: the graph is not valid, and is left as it is
			t.same[v] = v
			break
		}
		v = next
	}
	root := v
	if t.same[v] >= 0 {
		root = t.same[v]
	}
	for _, passed := range way {
		if t.same[passed] == looking {
			t.same[passed] = root
		}
	}
	return root
}

// candidate reports whether a node's operator may pass an input on.
func (t *through) candidate(n *Node) bool {
	if n.Domain != "" {
		return false
	}
	switch n.Op {
	case "Identity", "Dropout", "Mul", "Div", "Squeeze", "Unsqueeze", "Transpose", "Cast":
		return true
	case "Concat", "Sum", "Max", "Min", "Mean":
		return len(n.inputs) == 1
	}
	return false
}

// step is the input that the node which makes v passes on, −1 where it computes
// something.
func (t *through) step(v int32) int32 {
	n := t.w.values[v].producer
	if n == nil || t.w.values[v].constant != nil || !t.candidate(n) || len(n.inputs) == 0 || n.inputs[0].value < 0 ||
		len(n.makes) == 0 || n.makes[0] != v || t.file.Function(n) != nil || n.refers() {
		return -1
	}
	switch n.Op {
	case "Dropout":
		if len(n.inputs) > 2 && n.inputs[2].value >= 0 && !t.isScalar(n.inputs[2].value, 0) {
			return -1 // training_mode
		}
	case "Mul", "Div":
		return t.factor(n)
	case "Squeeze", "Unsqueeze", "Transpose":
		return t.undone(n)
	case "Cast":
		if to := DataType(n.Int("to", 0)); to == 0 || t.typeOf(n.inputs[0].value) != to {
			return -1
		}
	}
	return n.inputs[0].value
}

// refers reports whether an attribute stands for one of the function's call.
func (n *Node) refers() bool {
	return slices.ContainsFunc(n.Attributes, func(a *Attribute) bool { return a.Ref != "" })
}

// factor is the operand of a product with 1, −1 where there is none. The factor
// behind Cos and Sin is the amplitude of a rotary encoding (transformers'
// attention_scaling): a place for a number, even when that is 1.
func (t *through) factor(n *Node) int32 {
	if len(n.inputs) != 2 {
		return -1
	}
	for i := range 2 {
		one, other := n.inputs[1-i].value, n.inputs[i].value
		if n.Op == "Div" && i == 1 || one < 0 || other < 0 || !t.isScalar(one, 1) {
			continue
		}
		if p := t.producer(other); p != nil && (p.Op == "Cos" || p.Op == "Sin") {
			return -1
		}
		if c := t.constant(one); len(c.Dims) == 0 || len(c.Dims) == 1 && t.hasAxes(other, maxRankWalk) {
			return other
		}
	}
	return -1
}

// undone is what went into the node before n, where n takes that node's effect
// back; else −1.
func (t *through) undone(n *Node) int32 {
	before := t.producer(n.inputs[0].value)
	if before == nil || before == n || before.Domain != "" || len(before.inputs) == 0 || before.inputs[0].value < 0 || before.refers() {
		return -1
	}
	switch {
	case n.Op == "Transpose" && before.Op == "Transpose":
		if !inverse(before.Ints("perm"), n.Ints("perm")) {
			return -1
		}
	case n.Op == "Squeeze" && before.Op == "Unsqueeze", n.Op == "Unsqueeze" && before.Op == "Squeeze":
		a, ok1 := t.axes(before)
		b, ok2 := t.axes(n)
		if !ok1 || !ok2 || !slices.Equal(a, b) {
			return -1
		}
	default:
		return -1
	}
	t.halves = append(t.halves, before)
	return before.inputs[0].value
}

// producer is the node that makes a value, do-nothing nodes seen through.
func (t *through) producer(v int32) *Node {
	if t.same[v] != looking {
		v = t.root(v)
	}
	return t.w.values[v].producer
}

// inverse reports whether one permutation takes the other back. Without a
// permutation a Transpose reverses all axes.
func inverse(p, q []int64) bool {
	if len(p) != len(q) {
		return false
	}
	for i, to := range q {
		if to < 0 || to >= int64(len(p)) || p[to] != int64(i) {
			return false
		}
	}
	return true
}

// axes are those of a Squeeze or Unsqueeze: an attribute up to operator set 12,
// an input from then on. They are not known when computed.
func (t *through) axes(n *Node) ([]int64, bool) {
	if a := n.Attribute("axes"); a != nil {
		return a.Ints, len(a.Ints) > 0
	}
	if len(n.inputs) < 2 || n.inputs[1].value < 0 {
		return nil, false
	}
	c := t.constant(n.inputs[1].value)
	if c == nil || c.Len() < 1 || c.Len() > maxAxes {
		return nil, false
	}
	axes, err := c.Ints(0, c.Len())
	return axes, err == nil
}

// maxAxes bounds the axes that are read: more are in no sound file.
const maxAxes = 64

// isScalar reports whether a value is a constant of one element, and which.
func (t *through) isScalar(v int32, want float64) bool {
	x, ok := t.constant(v).scalar()
	return ok && x == want
}

// constant is the initializer or Constant node that a value is, in this graph or
// one around it; nil when it is none.
func (t *through) constant(v int32) *Tensor {
	if t.same[v] != looking {
		v = t.root(v)
	}
	value := t.w.values[v]
	for g := t.graph; ; {
		switch {
		case value.constant != nil:
			return value.constant
		case value.producer != nil:
			if a := value.producer.Attribute("value"); a != nil && value.producer.Op == "Constant" && value.producer.Domain == "" {
				return a.Tensor
			}
			return nil
		}
		if g = g.Parent; g == nil {
			return nil
		}
		number, ok := g.wiring.Number(value.name)
		if !ok {
			return nil
		}
		value = g.wiring.values[number]
	}
}
