package rotary

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// Opsets of ai.onnx: of RotaryEmbedding, and of Squeeze and Split with inputs.
const (
	opsetRotary = 23
	opsetInputs = 13
)

// contrib is the domain of ONNX Runtime's own operators.
const contrib = "com.microsoft"

const operatorsWhy = "rotation in other operators"

// turned is a rotation of one value, whatever its operators: x is turned by rows of
// caches, one number a pair, that positions select; or by rows for its own positions.
type turned struct {
	x, out      string
	rank        int // of x: 4 (batch, heads, sequence, size) or 3 (batch, sequence, width)
	heads       int // of rank 3
	head, dim   int // head size, and how much of it turns
	interleaved bool
	cos, sin    string
	rows        bool   // cos and sin are rows of x's positions, of dim/2 or dim columns
	doubled     bool   // dim columns
	positions   string // otherwise: which rows
}

// ToOperators holds the rotation in other operators.
func (r *Site) ToOperators(set string) (int, error) {
	if v := r.m.File.Opsets[""]; set == "standard" && v < opsetRotary {
		return 0, &position.Refusal{Why: fmt.Sprintf("RotaryEmbedding is in ai.onnx from opset %d on, and the graph is of opset %d", opsetRotary, v),
			Instead: fmt.Sprintf("export the model with opset %d, or take contrib", opsetRotary)}
	} else if v < opsetInputs {
		return 0, &position.Refusal{Why: fmt.Sprintf("the graph is of opset %d, and operators are put together from opset %d on", v, opsetInputs), Instead: "export the model with a newer opset"}
	}
	if slices.ContainsFunc(r.caches, func(c *rows.Cache) bool { return c.Result.Start != r.caches[0].Result.Start }) {
		return 0, &position.Refusal{Why: "queries and keys are turned by tables that begin at other positions, which operators would have as encodings of their own"}
	}
	if r.scheme.Grid != nil || r.scheme.Sections != nil {
		return 0, &position.Refusal{Why: "the rotation counts along several axes, which no operator does"}
	}
	o := operators{r: r, set: set, made: map[string]string{}}
	n := 0
	uses := slices.Clone(r.uses) // in the order of the graph: what they share stands before the first
	slices.SortStableFunc(uses, func(a, b *rotation) int { return a.node.Index() - b.node.Index() })
	for _, u := range uses {
		t, same, err := o.read(u)
		if err != nil {
			return 0, err
		}
		if same {
			continue
		}
		if t.dim < 2 || t.dim%2 != 0 || t.dim > t.head {
			return 0, o.refuse(u.node, fmt.Sprintf("turns %d elements of %d", t.dim, t.head))
		}
		nodes, err := o.write(u.node, t)
		if err != nil {
			return 0, err
		}
		r.m.ReplaceNode(u.node, nodes, operatorsWhy)
		n++
	}
	if n == 0 {
		return 0, nil
	}
	if set == "contrib" {
		r.m.Import(contrib, 1, operatorsWhy)
	}
	r.m.RemoveUnread(operatorsWhy)
	return n, nil
}

// operators is one run of ToOperators.
type operators struct {
	r     *Site
	set   string
	made  map[string]string // what was computed → its name
	nodes []onnx.NewNode
	graph *onnx.Graph
}

func (o *operators) refuse(n *onnx.Node, why string) error {
	return &position.Refusal{Why: fmt.Sprintf("the rotation at %s %s", n.Title(), why), Instead: "export the model with the wanted operators"}
}

// read reads a rotation; same tells that it is in the wanted operators.
func (o *operators) read(u *rotation) (t turned, same bool, err error) {
	n, s := u.node, u.scope
	if s != o.r.m.Eval.Main {
		return t, false, o.refuse(n, "stands in a function or a branch")
	}
	t.interleaved, t.out = u.layout == schemes.LayoutInterleaved, n.Output(0)
	t.head, t.dim = u.headDim, o.r.scheme.Dim
	switch {
	case !u.fused:
		if o.set == "plain" {
			return t, true, nil
		}
		return t, false, o.readPlain(u, &t)
	case n.Op != "RotaryEmbedding":
		return t, false, o.refuse(n, "is a part of "+n.Op+", which is not taken apart")
	case o.set == "standard" && n.Domain == "" || o.set == "contrib" && n.Domain == contrib:
		return t, true, nil
	}
	x := s.Value(n.Input(0))
	if t.rank = len(x.Shape); t.rank != 3 && t.rank != 4 {
		return t, false, o.refuse(n, "turns a value whose axes are not known")
	}
	if a := n.Attribute("scale"); a != nil && a.F != 0 && a.F != 1 {
		return t, false, o.refuse(n, "scales its positions")
	}
	if n.Int("is_packed_batching", 0) != 0 {
		return t, false, o.refuse(n, "packs its batches")
	}
	t.x, t.cos, t.sin, t.positions = n.Input(0), u.cos, u.sin, u.position
	if t.rank == 3 {
		if t.heads = int(n.Int("num_heads", 0)); t.heads == 0 && t.dim > 0 && n.Int("rotary_embedding_dim", 0) == 0 {
			t.heads = x.Shape[2] / t.dim
		}
		if t.heads == 0 || x.Shape[2]%t.heads != 0 {
			return t, false, o.refuse(n, "does not say how many heads it turns")
		}
		t.head = x.Shape[2] / t.heads
	} else {
		t.head = x.Shape[3]
	}
	if t.positions == "" {
		t.rows = true
	} else if v := s.Value(t.positions); len(v.Shape) != 2 {
		return t, false, o.refuse(n, "counts on from one number")
	}
	return t, false, nil
}

// readPlain reads x·cos + turned(x)·sin, and proves that the second is x with its pairs
// exchanged and the first of each negated.
func (o *operators) readPlain(u *rotation, t *turned) error {
	n, s := u.node, u.scope
	if n.Op != "Add" || len(n.Inputs) != 2 {
		return o.refuse(n, "is no sum of two products")
	}
	state := map[string]string{}
	for i := range 2 {
		m, at := s.Find(n.Input(i))
		if m == nil || at != s || m.Op != "Mul" {
			return o.refuse(n, "is no sum of two products")
		}
		term, ok := trace.TermOf(s, n.Input(i))
		if !ok {
			return o.refuse(n, "is no sum of two products")
		}
		if term.Factor != 1 {
			return refuseFactor()
		}
		state[term.Name] = term.State
	}
	x, y := state[u.cos], state[u.sin]
	v := s.Value(x)
	axis := trace.PositionAxis(u.cosValue)
	if x == "" || y == "" || len(v.Shape) != 4 || axis < 0 || u.packed || u.ahead || v.Type != onnx.Float {
		return o.refuse(n, "is in a form that the operator does not have")
	}
	c := u.cosValue.Shape
	if axis != len(c)-2 || v.Shape[2] != c[axis] || v.Shape[3] != c[len(c)-1] || len(c) > 4 || len(c) == 4 && c[1] != 1 {
		return o.refuse(n, "does not turn (batch, heads, sequence, size)")
	}
	if !exchanged(s, x, y, v.Shape[3], t.interleaved) {
		return o.refuse(n, "exchanges its pairs in a way that is not the operator's")
	}
	t.x, t.rank, t.head, t.dim = x, 4, v.Shape[3], v.Shape[3]
	t.cos, t.sin, t.rows, t.doubled = u.cos, u.sin, true, true
	return nil
}

// exchanged reports whether y is x with the elements of each pair exchanged, and the
// first of them, which was the second, negated.
func exchanged(s *eval.Scope, x, y string, d int, interleaved bool) bool {
	v := s.Value(x)
	if v.Len() > maxNumbered {
		return false
	}
	made := s.Given(x, eval.Numbered(v)).Value(y)
	if !made.Known() || made.Len() != v.Len() {
		return false
	}
	for i := range v.Len() {
		at, want := i%d, 0
		switch {
		case interleaved && at%2 == 0:
			want = -(i + 1 + 1)
		case interleaved:
			want = i - 1 + 1
		case at < d/2:
			want = -(i + d/2 + 1)
		default:
			want = i - d/2 + 1
		}
		if made.Number(i) != float64(want) {
			return false
		}
	}
	return true
}

// node appends a node, made once for all rotations where it is shared, and gives its
// output.
func (o *operators) node(op string, inputs []string, attributes ...onnx.NewAttribute) string {
	key := fmt.Sprint(op, inputs, attributes)
	if name, ok := o.made[key]; ok {
		return name
	}
	out := o.r.m.FreshName("modelpatch/" + op)
	o.nodes = append(o.nodes, onnx.NewNode{Op: op, Inputs: inputs, Outputs: []string{out}, Attributes: attributes})
	o.made[key] = out
	return out
}

func (o *operators) ints(v ...int64) string {
	key := fmt.Sprint("ints", v)
	if name, ok := o.made[key]; ok {
		return name
	}
	raw, _ := onnx.EncodeInts(onnx.Int64, v, nil)
	o.made[key] = o.r.m.AddInitializer(o.graph, "modelpatch/numbers", onnx.Int64, []int64{int64(len(v))}, raw, operatorsWhy)
	return o.made[key]
}

// size is the size of an axis of a value, as a list of one.
func (o *operators) size(name string, axis int64) string {
	return o.node("Gather", []string{o.node("Shape", []string{name}), o.ints(axis)}, onnx.NewAttribute{Name: "axis", Value: int64(0)})
}

// write are the nodes of a rotation in the wanted operators. What several rotations
// share is computed before the first, which stands before the others.
func (o *operators) write(n *onnx.Node, t turned) ([]onnx.NewNode, error) {
	o.nodes, o.graph = nil, n.Graph
	seq := int64(t.rank - 2) // axis of the sequence: 1 of rank 3, 2 of rank 4
	pairs := int64(t.dim / 2)
	half := func(name string) string { // a column a pair
		if !t.doubled {
			return name
		}
		if t.interleaved {
			return o.node("Slice", []string{name, o.ints(0), o.ints(2 * pairs), o.ints(-1), o.ints(2)})
		}
		return o.node("Slice", []string{name, o.ints(0), o.ints(pairs), o.ints(-1)})
	}
	cos, sin := half(t.cos), half(t.sin)
	if o.set == "plain" {
		return o.plain(t, cos, sin, seq), nil
	}
	positions := t.positions
	if t.rows { // rows of x's own positions, counted through
		cos, sin = o.node("Reshape", []string{cos, o.ints(-1, pairs)}), o.node("Reshape", []string{sin, o.ints(-1, pairs)})
		length := o.size(t.x, seq)
		zero, one := o.scalar(0), o.scalar(1)
		all := o.node("Range", []string{zero, o.node("Squeeze", []string{o.size(cos, 0)}), one})
		lines := o.node("Reshape", []string{all, o.node("Concat", []string{o.ints(-1), length}, onnx.NewAttribute{Name: "axis", Value: int64(0)})})
		positions = o.node("Expand", []string{lines, o.node("Concat", []string{o.size(t.x, 0), length}, onnx.NewAttribute{Name: "axis", Value: int64(0)})})
	}
	out := onnx.NewNode{Op: "RotaryEmbedding", Outputs: []string{t.out}}
	interleaved := int64(0)
	if t.interleaved {
		interleaved = 1
	}
	out.Attributes = []onnx.NewAttribute{{Name: "interleaved", Value: interleaved}}
	if t.rank == 3 {
		out.Attributes = append(out.Attributes, onnx.NewAttribute{Name: "num_heads", Value: int64(t.heads)})
	}
	if t.dim < t.head {
		if t.rank == 4 && o.set == "contrib" {
			out.Attributes = append(out.Attributes, onnx.NewAttribute{Name: "num_heads", Value: int64(o.r.m.Eval.Main.Value(t.x).Shape[1])})
		}
		out.Attributes = append(out.Attributes, onnx.NewAttribute{Name: "rotary_embedding_dim", Value: int64(t.dim)})
	}
	if o.set == "contrib" {
		out.Domain, out.Inputs = contrib, []string{t.x, positions, cos, sin}
	} else {
		out.Inputs = []string{t.x, cos, sin, positions}
	}
	return append(o.nodes, out), nil
}

func (o *operators) scalar(v int64) string {
	key := fmt.Sprint("scalar", v)
	if name, ok := o.made[key]; ok {
		return name
	}
	raw, _ := onnx.EncodeInts(onnx.Int64, []int64{v}, nil)
	o.made[key] = o.r.m.AddInitializer(o.graph, "modelpatch/number", onnx.Int64, nil, raw, operatorsWhy)
	return o.made[key]
}

// plain takes a rotation apart: x·cos + exchanged(x)·sin, where each pair (a, b) of x
// has become (−b, a).
func (o *operators) plain(t turned, cos, sin string, seq int64) []onnx.NewNode {
	if !t.rows {
		axis := onnx.NewAttribute{Name: "axis", Value: int64(0)}
		cos, sin = o.node("Gather", []string{cos, t.positions}, axis), o.node("Gather", []string{sin, t.positions}, axis)
	}
	heads := int64(1) // the axis of heads: of cosines it is one
	x := t.x
	if t.rank == 3 {
		heads = 2
		x = o.node("Reshape", []string{x, o.ints(0, 0, int64(t.heads), int64(t.head))})
	}
	cos, sin = o.node("Unsqueeze", []string{cos, o.ints(heads)}), o.node("Unsqueeze", []string{sin, o.ints(heads)})
	turning, rest := x, ""
	if t.dim < t.head {
		turning = o.node("Slice", []string{x, o.ints(0), o.ints(int64(t.dim)), o.ints(3)})
		rest = o.node("Slice", []string{x, o.ints(int64(t.dim)), o.ints(int64(t.head)), o.ints(3)})
	}
	half, end := int64(t.dim/2), int64(t.dim)
	a, b := o.node("Slice", []string{turning, o.ints(0), o.ints(half), o.ints(3)}), o.node("Slice", []string{turning, o.ints(half), o.ints(end), o.ints(3)})
	if t.interleaved {
		a, b = o.node("Slice", []string{turning, o.ints(0), o.ints(end), o.ints(3), o.ints(2)}), o.node("Slice", []string{turning, o.ints(1), o.ints(end), o.ints(3), o.ints(2)})
	}
	last := onnx.NewAttribute{Name: "axis", Value: int64(-1)}
	joined := func(p, q string) string { return o.node("Concat", []string{p, q}, last) }
	if t.interleaved { // element by element
		joined = func(p, q string) string {
			stacked := o.node("Concat", []string{o.node("Unsqueeze", []string{p, o.ints(4)}), o.node("Unsqueeze", []string{q, o.ints(4)})}, last)
			return o.node("Reshape", []string{stacked, o.ints(0, 0, 0, end)})
		}
	}
	mul := func(p, q string) string { return o.node("Mul", []string{p, q}) }
	exchanged := joined(o.node("Neg", []string{b}), a)
	result := o.node("Add", []string{mul(turning, joined(cos, cos)), mul(exchanged, joined(sin, sin))})
	if rest != "" {
		result = o.node("Concat", []string{result, rest}, last)
	}
	if t.rank == 3 {
		o.node("Reshape", []string{result, o.ints(0, 0, int64(t.heads)*int64(t.head))})
	}
	o.nodes[len(o.nodes)-1].Outputs[0] = t.out // which is result, and nobody else's
	return o.nodes
}
