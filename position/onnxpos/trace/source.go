// Package trace follows values of an evaluated graph: back to the constants and
// nodes that they come from (Sources, and the narrower questions of behind.go),
// and forward to the attention scores that they go into (IsScores, ReachedFrom).
//
// It judges structure and numbers; what they say of positions is for package
// onnxpos and its mechanisms. Walks are bounded, since graphs are hostile input.
package trace

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Source is where the numbers of a value that depends on position come from.
type Source struct {
	Tensor  *onnx.Tensor // a constant; nil for numbers computed at run time
	Scope   *eval.Scope  // where Tensor is read, or Trig runs
	Axis    int          // the axis of Tensor along which positions select; −1: used whole
	First   int64        // the index that position 0 selects
	Indexed *onnx.Node   // the node that selects; nil: used whole
	Index   string       // its index (Gather and its like), "" for Slice
	IndexAt *eval.Scope  // where Index is read
	Scale   float64      // a quantised table's scale, 0 when it is not quantised
	Zero    float64      // and its zero point
	Scales  []float64    // of one whose parts have each their own; nil: none
	Zeros   []float64    // and their zero points
	Parts   int          // the axis of the table along which those parts lie
	Trig    *onnx.Node   // Cos or Sin: computed at run time
}

// selection is what a node on the way selects of the table behind it.
type selection struct {
	rows    int // size of the selected axis
	fromEnd int // the axis, counted from the last
	first   int64
	node    *onnx.Node
	index   string
	scope   *eval.Scope
	scale   float64
	zero    float64
	scales  []float64
	zeros   []float64
	parts   int
}

type sourceKey struct {
	scope *eval.Scope
	name  string
}

// Sources traces a known value back to the constants and trigonometric
// functions that it is made of.
//
// The list is shared and must not be changed.
func Sources(s *eval.Scope, name string) []Source {
	return eval.Once(s, "sources", name, func() []Source {
		t := tracer{seen: map[sourceKey]bool{}}
		t.trace(s, name, selection{}, 0)
		return t.found
	})
}

type tracer struct {
	seen  map[sourceKey]bool
	found []Source
}

// MaxSteps bounds how far a value is traced back, MaxValues how many values are met
// on the way.
const (
	MaxSteps  = 400
	MaxValues = 1 << 12
)

func (t *tracer) trace(s *eval.Scope, name string, chosen selection, depth int) {
	if name == "" || depth > MaxSteps {
		return
	}
	name, s = s.Through(name)
	if s == nil || len(t.seen) > MaxValues || t.seen[sourceKey{s, name}] {
		return
	}
	t.seen[sourceKey{s, name}] = true
	if c := s.Tensor(name); c != nil {
		t.constant(s, c, chosen)
		return
	}
	n, at := s.Find(name)
	if n == nil {
		return
	}
	switch n.Op {
	case "Cos", "Sin":
		t.found = append(t.found, Source{Scope: at, Trig: n, Axis: -1})
		return
	case "If":
		t.branches(at, n, name, chosen, depth)
		return
	case "DequantizeLinear":
		scale, _ := at.Value(n.Input(1)).Scalar() // 0: one for each part
		zero, _ := at.Value(n.Input(2)).Scalar()
		chosen.scale, chosen.zero, chosen.scales, chosen.zeros = scale, zero, nil, nil // the pair nearest to the table is the table's own
		if scale == 0 && n.Int("block_size", 0) == 0 {
			chosen.scales, chosen.zeros, chosen.parts = numbersOf(at.Value(n.Input(1))), numbersOf(at.Value(n.Input(2))), n.Axis(1, len(at.Value(n.Input(0)).Shape))
		}
	case "QuantizeLinear":
		chosen.scale, chosen.zero, chosen.scales, chosen.zeros = 0, 0, nil, nil // what is behind it was not quantised
	}
	if c := at.Call(n); c != nil {
		if i, made := at.Place(name); made && i < len(c.Results) {
			t.trace(c, c.Results[i], chosen, depth+1)
		}
		return
	}
	inputs := DataInputs(n)
	if turns, ok := eval.TurnsOf(n); ok { // what its body captures as well, and not how often it runs
		inputs = n.Inputs[turns.First:]
		body := at.Child(n, turns.Body)
		if i, made := at.Place(name); body != nil && made && turns.Result+i < len(body.Results) {
			t.trace(body, body.Results[turns.Result+i], chosen, depth+1)
		}
	}
	chosen = choose(at, n, chosen)
	for _, in := range inputs {
		t.trace(at, in, chosen.of(at, n, in), depth+1)
	}
}

// of is a selection from what a node makes as one from an input: from a part of it, where the node joins parts along the axis.
func (c selection) of(s *eval.Scope, n *onnx.Node, in string) selection {
	part, whole := s.Value(in).Shape, s.Value(n.Output(0)).Shape
	at := len(part) - 1 - c.fromEnd
	if c.node != nil && eval.Is(n, eval.Joining) && at >= 0 && len(part) == len(whole) && whole[at] == c.rows {
		c.rows = part[at]
	}
	return c
}

func (t *tracer) branches(s *eval.Scope, n *onnx.Node, name string, chosen selection, depth int) {
	for _, a := range n.Attributes {
		if a.Graph == nil {
			continue
		}
		child := s.Child(n, a.Graph)
		i, made := s.Place(name)
		if child != nil && made && i < len(child.Results) {
			t.trace(child, child.Results[i], chosen, depth+1)
		}
	}
}

// numbersOf are the numbers of a known list; nil of others.
func numbersOf(v *eval.Value) (out []float64) {
	if !v.Known() || len(v.Shape) != 1 {
		return nil
	}
	for i := range v.Len() {
		out = append(out, v.Number(i))
	}
	return out
}

func (t *tracer) constant(s *eval.Scope, c *onnx.Tensor, chosen selection) {
	src := Source{Tensor: c, Scope: s, Axis: -1, Scale: chosen.scale, Zero: chosen.zero, Scales: chosen.scales, Zeros: chosen.zeros, Parts: chosen.parts}
	if chosen.node != nil {
		src.Axis = tableAxis(c.Dims, chosen)
		src.Indexed, src.First, src.Index, src.IndexAt = chosen.node, chosen.first, chosen.index, chosen.scope
	}
	if chosen.node != nil && src.Axis < 0 {
		return // a constant beside the table, such as a scalar factor
	}
	t.found = append(t.found, src)
}

// tableAxis finds the axis of a constant that a selection further on selects
// along: reshapes between them keep the number of rows.
func tableAxis(dims []int64, chosen selection) int {
	best := -1
	for i, d := range dims {
		if int(d) != chosen.rows {
			continue
		}
		if best < 0 || len(dims)-1-i == chosen.fromEnd {
			best = i
		}
	}
	return best
}

// choose notes what a node selects along positions. The selection nearest to
// the table counts: later ones select from what it left.
func choose(s *eval.Scope, n *onnx.Node, chosen selection) selection {
	data := s.Value(n.Input(0))
	if !data.Ranked {
		return chosen
	}
	next := selection{node: n, scope: s, scale: chosen.scale, zero: chosen.zero, scales: chosen.scales, zeros: chosen.zeros, parts: chosen.parts}
	axis := -1
	blocks := eval.Is(n, eval.LookupsInBlocks)
	along := n.Op == "Gather" || n.Op == "GatherElements" || blocks // one axis, by the indices that follow
	switch {
	case along:
		index := s.Value(n.Input(1))
		_, first, ok := index.Counts()
		if !ok {
			return chosen
		}
		if axis = int(n.Int("axis", 0)); blocks {
			axis = int(n.Int("gather_axis", 0))
		}
		next.first, next.index = first, n.Input(1)
	case n.Op == "GatherND":
		axis, next.first = countingColumn(s.Value(n.Input(1)), int(n.Int("batch_dims", 0)))
		next.index = n.Input(1)
	case n.Op == "Slice":
		axis, next.first = slicedAxis(s, n, data)
	default:
		return chosen
	}
	if axis < 0 && !along {
		return chosen
	}
	if axis = onnx.Dimension(int64(axis), len(data.Shape)); axis < 0 {
		return chosen
	}
	next.rows, next.fromEnd = data.Shape[axis], len(data.Shape)-1-axis
	return next
}

// countingColumn finds the column of GatherND's indices that counts positions.
func countingColumn(index *eval.Value, batch int) (axis int, first int64) {
	if !index.Known() || index.Ints == nil || len(index.Shape) == 0 {
		return -1, 0
	}
	last := index.Shape[len(index.Shape)-1]
	for k := range last {
		column := make([]int64, 0, len(index.Ints)/last)
		for i := k; i < len(index.Ints); i += last {
			column = append(column, index.Ints[i])
		}
		v := eval.IntValue(index.Type, index.Shape[:len(index.Shape)-1], column)
		if _, first, ok := v.Counts(); ok {
			return batch + k, first
		}
	}
	return -1, 0
}

// slicedAxis finds the axis that a Slice shortens and where it starts.
func slicedAxis(s *eval.Scope, n *onnx.Node, data *eval.Value) (axis int, first int64) {
	out := s.Value(n.Output(0))
	if !out.Ranked || len(out.Shape) != len(data.Shape) {
		return -1, 0
	}
	axis = -1
	for i := range out.Shape {
		if out.Shape[i] != data.Shape[i] && (axis < 0 || data.Shape[i] > data.Shape[axis]) {
			axis = i
		}
	}
	if axis < 0 {
		return -1, 0
	}
	starts, axes := ListOf(s, n, "starts", 1), ListOf(s, n, "axes", 3)
	for i, start := range starts {
		at := int64(i)
		if i < len(axes) {
			at = axes[i]
		}
		if onnx.Dimension(at, len(data.Shape)) == axis {
			if start < 0 {
				start += int64(data.Shape[axis])
			}
			return axis, max(start, 0)
		}
	}
	return axis, 0
}

// ListOf reads a parameter that is an attribute in old operator sets.
// One of more numbers than a value may have axes is none.
func ListOf(s *eval.Scope, n *onnx.Node, attribute string, i int) []int64 {
	var list []int64
	if a := n.Attribute(attribute); a != nil {
		list = a.Ints
	} else if n.Input(i) != "" {
		if v := s.Value(n.Input(i)); v.Known() {
			list = v.Ints
		}
	}
	if len(list) > maxAxes {
		return nil
	}
	return list
}

// maxAxes bounds the axes of a value: more are in no sound file.
const maxAxes = 64

// BesideSizes are the inputs of a node that its numbers depend on, those that choose among others too: all but sizes, of which what is computed
// for something else may have the same.
func BesideSizes(n *onnx.Node) []string {
	switch {
	case eval.Is(n, eval.Sizes):
		return nil
	case eval.Is(n, eval.Layout|eval.Repetition):
		return n.Inputs[:min(1, len(n.Inputs))]
	}
	return n.Inputs
}

// DataInputs are the inputs of a node whose numbers go into its output, as
// against those that only say which or how many.
func DataInputs(n *onnx.Node) []string {
	switch {
	case eval.Is(n, eval.Layout|eval.Repetition|eval.Selection|eval.Resampling|eval.Triangle|eval.Padding|eval.Accumulation|eval.Average) || n.Op == "Clip":
		return n.Inputs[:min(1, len(n.Inputs))]
	case eval.Is(n, eval.Choice):
		return n.Inputs[min(1, len(n.Inputs)):]
	case eval.Is(n, eval.Sizes) && n.Domain == "":
		return nil
	case eval.Is(n, eval.Scattering) && len(n.Inputs) >= 3:
		return []string{n.Inputs[0], n.Inputs[2]}
	}
	return n.Inputs
}
