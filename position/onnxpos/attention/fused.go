package attention

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/cut"
)

// operand is where an operator of attention says how long a sequence is: an axis of an
// input, or the number that an input holds.
type operand struct {
	input, axis int
	whole       bool // the input is the number itself
}

// lengths are where the queries and the keys of a fused attention are counted: keys are
// summed over their operands.
type lengths struct {
	queries operand
	keys    []operand
}

// lengthsOf reads the inputs of a fused attention by their shapes (facts/ONNX-PATTERNS
// §6). It is an error in words where they stand in a form that is not known.
func lengthsOf(s *eval.Scope, n *onnx.Node) (lengths, string) {
	rank := func(i int) int { return len(s.Value(n.Input(i)).Shape) }
	axisOf := func(i int) int { // batch, sequence, width; or batch, heads, sequence, size
		if rank(i) == 4 {
			return 2
		}
		return 1
	}
	past := func(i, axis int) []operand {
		if n.Input(i) == "" {
			return nil
		}
		return []operand{{input: i, axis: axis}}
	}
	q := operand{input: 0, axis: axisOf(0)}
	switch {
	case rank(0) != 3 && !(rank(0) == 4 && n.Domain == ""):
		return lengths{}, fmt.Sprintf("its queries have %d axes", rank(0))
	case n.Domain == "" && n.Op == "Attention":
		if n.Input(6) != "" {
			return lengths{}, "its keys end at another place in each row"
		}
		return lengths{q, append([]operand{{input: 1, axis: axisOf(1)}}, past(4, 2)...)}, ""
	case n.Op == "Attention":
		return lengths{q, append([]operand{q}, past(4, 3)...)}, ""
	case n.Op == "MultiHeadAttention" && n.Input(1) != "" && n.Input(8) == "":
		return lengths{q, append([]operand{{input: 1, axis: axisOf(1)}}, past(6, 2)...)}, ""
	case n.Op == "GroupQueryAttention" && n.Input(6) != "":
		return lengths{q, []operand{{input: 6, whole: true}}}, ""
	}
	return lengths{}, "where it counts its keys is not known"
}

// biasInput is the input of a fused attention that is added to its scores, −1 where it
// has none or no number is added behind everything else.
func biasInput(n *onnx.Node) int {
	row := eval.Lookup(n.Domain, n.Op)
	if row == nil || !row.In(eval.Attention) || row.Bias <= 0 {
		return -1
	}
	return row.Bias
}

// closed says why a bias cannot be added to a fused attention, "" where it can.
func closed(s *eval.Scope, n *onnx.Node) string {
	at := biasInput(n)
	if at < 0 {
		return fmt.Sprintf("the fused operator %s has no input for a bias", n.Op)
	}
	if headsOf(s, n) < 1 {
		return fmt.Sprintf("%s does not say how many heads it has", n.Op)
	}
	if a := n.Attribute("softcap"); a != nil && a.F != 0 {
		return fmt.Sprintf("%s caps its scores, and the bias would be capped with them or not, by engine", n.Op)
	}
	if _, why := lengthsOf(s, n); why != "" {
		return fmt.Sprintf("the fused operator %s: %s", n.Op, why)
	}
	if name := n.Input(at); name != "" {
		v := s.Value(name)
		if !v.Known() {
			return fmt.Sprintf("%s has a bias that the model is given, or computes of its data: what is in it already is not known", n.Op)
		}
		if k := len(v.Shape); k < 2 || k > 4 || v.Type != onnx.Bool && !v.Type.IsFloat() || k == 3 && v.Shape[0] != 1 && v.Shape[0] != headsOf(s, n) {
			return fmt.Sprintf("%s has a mask in a form that no bias can be added to", n.Op)
		}
	}
	return ""
}

// headsOf is the number of a fused attention's heads of queries.
func headsOf(s *eval.Scope, n *onnx.Node) int {
	if h := int(n.Int("num_heads", n.Int("q_num_heads", 0))); h > 0 {
		return h
	}
	if q := s.Value(n.Input(0)); len(q.Shape) == 4 {
		return q.Shape[1]
	}
	return 0
}

// crossesFused reports whether a fused attention takes its keys from another sequence
// than its queries.
func crossesFused(s *eval.Scope, n *onnx.Node) bool {
	if c := cut.Find(s, n); c != nil && c.Crosses() {
		return true
	}
	l, why := lengthsOf(s, n)
	if why != "" || len(l.keys) != 1 || l.keys[0].whole || l.keys[0].input == 0 {
		return false
	}
	q, k := s.Value(n.Input(0)), s.Value(n.Input(l.keys[0].input))
	return len(q.Shape) > l.queries.axis && len(k.Shape) > l.keys[0].axis && q.Shape[l.queries.axis] != k.Shape[l.keys[0].axis]
}

// addFused gives a fused attention a bias, with the mask that it has.
func (b *sharedBias) addFused(s *eval.Scope, n *onnx.Node, bias addition, heads int) error {
	if err := b.possible(n, bias, heads); err != nil {
		return err
	}
	l, _ := lengthsOf(s, n)
	q := s.Value(n.Input(0))
	total, apart := 0, b.sizes(s, n.Input(0))
	for _, k := range l.keys {
		apart += b.sizes(s, n.Input(k.input))
		if v := s.Value(n.Input(k.input)); !k.whole && k.axis < len(v.Shape) {
			total += v.Shape[k.axis]
		}
	}
	if err := readable(bias, q.Shape[l.queries.axis], total); err != nil {
		return err
	}
	key := biasKey{what: bias.what, graph: n.Graph, heads: heads, queries: q.Shape[l.queries.axis], keys: total, fused: fmt.Sprint(n.Domain, n.Op, l), apart: apart}
	if b.made[key] == "" {
		e := b.m.Editor
		var nodes []onnx.NewNode
		count := func(o operand) string {
			out := e.FreshName(bias.name("length"))
			if o.whole {
				cast := e.FreshName(bias.name("total"))
				nodes = append(nodes,
					onnx.NewNode{Op: "Cast", Inputs: []string{n.Input(o.input)}, Outputs: []string{cast}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Int64)}}},
					onnx.NewNode{Op: "Reshape", Inputs: []string{cast, b.ints(n, bias.name("scalar"), []int64{}, bias.why)}, Outputs: []string{out}})
				return out
			}
			shape := e.FreshName(bias.name("shape"))
			nodes = append(nodes,
				onnx.NewNode{Op: "Shape", Inputs: []string{n.Input(o.input)}, Outputs: []string{shape}},
				onnx.NewNode{Op: "Gather", Inputs: []string{shape, b.scalar(n, bias.name("axis"), int64(o.axis), bias.why)}, Outputs: []string{out}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}})
			return out
		}
		queries := count(l.queries)
		keys := ""
		for _, k := range l.keys {
			if next := count(k); keys == "" {
				keys = next
			} else {
				sum := e.FreshName(bias.name("keys"))
				nodes = append(nodes, onnx.NewNode{Op: "Add", Inputs: []string{keys, next}, Outputs: []string{sum}})
				keys = sum
			}
		}
		made, name := b.from(n, q.Type, bias, queries, keys, []int64{1})
		e.InsertNodes(n, append(nodes, made...), bias.why)
		b.made[key] = name
	}
	b.merge(s, n, b.made[key], q.Type, bias)
	return nil
}

// merge makes an attention read a bias: as it is, added to the mask that is there, or
// chosen by it where it is of truth values.
func (b *sharedBias) merge(s *eval.Scope, n *onnx.Node, made string, t onnx.DataType, bias addition) {
	e, at := b.m.Editor, biasInput(n)
	mask := n.Input(at)
	if mask == "" {
		e.RenameInput(n, at, made, bias.why)
		return
	}
	key := maskKey{mask, made}
	if b.masked == nil {
		b.masked = map[maskKey]string{}
	}
	if b.masked[key] == "" {
		out := e.FreshName(bias.name("mask"))
		node := onnx.NewNode{Op: "Add", Inputs: []string{mask, made}, Outputs: []string{out}}
		if s.Value(mask).Type == onnx.Bool {
			raw, _ := onnx.EncodeFloats(t, []float64{lowest(t)}, nil)
			node = onnx.NewNode{Op: "Where", Inputs: []string{mask, made, e.AddInitializer(n.Graph.Outermost(), bias.name("hidden"), t, nil, raw, bias.why)}, Outputs: []string{out}}
		}
		e.InsertNodes(n, []onnx.NewNode{node}, bias.why)
		b.masked[key] = out
	}
	e.RenameInput(n, at, b.masked[key], bias.why)
}

// maskKey is a mask and the bias that it was put together with.
type maskKey struct{ mask, bias string }

// lowest hides a key as engines hide those of a mask of truth values.
func lowest(t onnx.DataType) float64 {
	switch t {
	case onnx.Float16:
		return -65504
	case onnx.BFloat16:
		return -0x1.fep127
	}
	return -math.MaxFloat32
}

// mostAdded is how many numbers a mask has at most that is found in the new file again.
const mostAdded = 1 << 22

// readable refuses a mask that could not be read back, of a graph with a fixed number of many positions; of a bias the first ones tell its slopes.
func readable(bias addition, queries, keys int) error {
	if queries == 0 || bias.heads > 0 || keys <= mostAdded/queries {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("between %d queries and %d keys, of which the graph has a fixed number, what is added has more than the %d numbers that are read back to be checked", queries, keys, mostAdded),
		Instead: "export the model with a free length"}
}

// possible refuses what a bias cannot be built for.
func (b *sharedBias) possible(n *onnx.Node, bias addition, heads int) error {
	if k := bias.heads; k != 0 && k != heads {
		return &position.Refusal{Why: fmt.Sprintf("%d slopes for %d heads", k, heads), Instead: "give one slope a head"}
	}
	if v := b.m.File.Opsets[""]; v < minRangeOpset {
		return &position.Refusal{Why: fmt.Sprintf("operator set %d has no Range", v), Instead: "convert the model to operator set 11 or later first"}
	}
	if late := b.late(n.Graph); late != nil {
		return &position.Refusal{Why: fmt.Sprintf("the nodes are not in the order in which they run: %s reads what a later node makes, so that there is no place for a bias ahead of all that need it", late.Title()),
			Instead: "sort the graph first (onnx-graphsurgeon's toposort, or saving it with onnxslim)"}
	}
	return nil
}
