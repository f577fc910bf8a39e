package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// sharedBias adds biases to attentions. The bias of a graph is computed once, before its first
// attention, and read by all of them.
type sharedBias struct {
	m     *site.Graph
	made  map[biasKey]string         // the value that holds the bias
	first map[*onnx.Graph]*onnx.Node // what is out of order in a graph, nil: nothing

	masked map[maskKey]string // the value that holds a mask and a bias
}

// biasKey tells biases apart that attentions cannot share: of another graph,
// or of a tower of other lengths or heads.
type biasKey struct {
	what                 string
	graph                *onnx.Graph
	heads, queries, keys int
	fused                string // where a fused operator counts them; "": by its scores
	apart                string // the same where each sequence has a length of its own
}

// sizes are those of a value, where each sequence that the graph is given and takes so has a length of its own; "" of a graph of one. Where
// texts are as long in any case, the value itself: no other one shares what is added.
func (b *sharedBias) sizes(s *eval.Scope, name string) string {
	e, ok := b.m.Apart()
	if ok && e == nil { // frames of a recording beside a text may be as many as tokens, and are not when there are more of these
		e = b.m.At(b.m.Sizes.Length + 1)
	}
	switch {
	case !ok:
		return name
	case e != nil:
		if at := e.Like(s); at != nil {
			return fmt.Sprint(at.Value(name).Shape)
		}
	}
	return ""
}

// late is the first node of a graph that stands before one that it needs, looked for
// once.
func (b *sharedBias) late(g *onnx.Graph) *onnx.Node {
	n, looked := b.first[g]
	if !looked {
		n = g.Late()
		b.first[g] = n
	}
	return n
}

// minRangeOpset is the operator set that introduced Range.
const minRangeOpset = 11

// addition is what is added to the scores of an attention.
type addition struct {
	what  string // begins the names of its values: alibi, window
	why   string
	heads int // that it has numbers for; 0: the same ones for all
	// build are the nodes that compute it, (…, heads or 1, query, key), from what isApart says; lead are
	// the dimensions before that of the heads.
	build func(before *onnx.Node, t onnx.DataType, apart distances, lead []int64) ([]onnx.NewNode, string)
}

// name is that of one of its values.
func (a addition) name(part string) string { return "modelpatch/" + a.what + "_" + part }

// distances are values that tell keys and queries apart.
type distances struct {
	key        string // the positions of the keys, a row
	difference string // key − query, queries by keys
}

// reading is a place where scores are read: an input of a node.
type reading struct {
	node  *onnx.Node
	input int
}

func (r reading) name() string { return r.node.Input(r.input) }

// maxJoined bounds the nodes between a Softmax and what its columns are joined of.
const maxJoined = 8

// keyed is where the scores of a product are read last with a column for each key: by the
// Softmax, or by the node that joins columns to them which stand for no key, as those of
// attention sinks (gpt-oss). A bias behind that would count a sink as the last key and
// shift all others. ok is false where scores have other columns and no such node is found.
func keyed(s *eval.Scope, softmax, product *onnx.Node) (at reading, ok bool) {
	p, scores := s.Value(product.Output(0)), s.Value(softmax.Input(0))
	n := len(p.Shape)
	if n < 2 || len(scores.Shape) == 0 {
		return reading{softmax, 0}, true
	}
	columns := scores.Shape[len(scores.Shape)-1]
	if columns == p.Shape[n-1] || columns == p.Shape[n-2] { // or the product stands the other way round
		return reading{softmax, 0}, true
	}
	at = reading{softmax, 0}
	for range maxJoined {
		n, scope := s.Find(at.name())
		switch {
		case n == nil || scope != s:
			return at, false
		case eval.Is(n, eval.Joining):
			found := -1
			for i := range n.Inputs {
				if v := s.Value(n.Input(i)); len(v.Shape) > 0 && v.Shape[len(v.Shape)-1] == p.Shape[len(p.Shape)-1] {
					if found >= 0 {
						return at, false // two could be the scores
					}
					found = i
				}
			}
			return reading{n, found}, found >= 0
		case n.Op == "Sub" || n.Op == "Cast": // less its largest, which is that of the same columns
			at = reading{n, 0}
		default:
			return at, false
		}
	}
	return at, false
}

// add puts scores + bias in the place of the scores that a Softmax reads, or that sinks are
// joined to before. The scores are scaled and masked there already, which a bias must follow
// (Press et al. 2022, §3).
func (b *sharedBias) add(s *eval.Scope, softmax, product *onnx.Node, bias addition, heads int) error {
	if err := b.possible(softmax, bias, heads); err != nil {
		return err
	}
	at, ok := keyed(s, softmax, product)
	if !ok {
		return &position.Refusal{Why: fmt.Sprintf("%s reads scores with columns that stand for no key, and the place where they are joined is not found", softmax.Title())}
	}
	scores := s.Value(at.name())
	if len(scores.Shape) == 3 && b.m.Sizes.Batch*heads != scores.Shape[0] {
		return &position.Refusal{Why: "heads and batch stand in one axis of the scores in an unknown order"}
	}
	k := len(scores.Shape)
	switch {
	case k > 4:
		return &position.Refusal{Why: fmt.Sprintf("%s reads scores of %d axes, as of positions in blocks or windows: how far they are apart is not in one row", softmax.Title(), k)}
	case k > 1 && scores.Shape[k-1] < scores.Shape[k-2]:
		return &position.Refusal{Why: fmt.Sprintf("%s reads scores of %d queries and %d keys: a key that stands for several positions has no distance", softmax.Title(), scores.Shape[k-2], scores.Shape[k-1])}
	}
	if err := readable(bias, scores.Shape[k-2], scores.Shape[k-1]); err != nil {
		return err
	}
	key := biasKey{what: bias.what, graph: softmax.Graph, heads: heads, queries: scores.Shape[k-2], keys: scores.Shape[k-1], apart: b.sizes(s, at.name())}
	if b.made[key] == "" {
		b.made[key] = b.build(at, scores, bias)
	}
	e := b.m.Editor
	out := e.FreshName(bias.name("scores"))
	if len(scores.Shape) == 4 {
		e.InsertNodes(at.node, []onnx.NewNode{{Op: "Add", Inputs: []string{at.name(), b.made[key]}, Outputs: []string{out}}}, bias.why)
	} else {
		e.InsertNodes(at.node, b.addToRows(at, b.made[key], bias, heads, out), bias.why)
	}
	e.RenameInput(at.node, at.input, out, bias.why)
	return nil
}

// addToRows adds the bias to scores (batch·heads, query, key).
func (b *sharedBias) addToRows(at reading, made string, bias addition, heads int, out string) []onnx.NewNode {
	fresh := func(part string) string { return b.m.Editor.FreshName(bias.name(part)) }
	lead := b.ints(at.node, bias.name("lead"), []int64{-1, int64(heads)}, bias.why)
	two, end := b.ints(at.node, bias.name("two"), []int64{1}, bias.why), b.ints(at.node, bias.name("end"), []int64{3}, bias.why)
	shape, tail, full, apart, sum := fresh("shape"), fresh("tail"), fresh("full"), fresh("apart"), fresh("sum")
	return []onnx.NewNode{
		{Op: "Shape", Inputs: []string{at.name()}, Outputs: []string{shape}},
		{Op: "Slice", Inputs: []string{shape, two, end}, Outputs: []string{tail}},
		{Op: "Concat", Inputs: []string{lead, tail}, Outputs: []string{full}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}},
		{Op: "Reshape", Inputs: []string{at.name(), full}, Outputs: []string{apart}},
		{Op: "Add", Inputs: []string{apart, made}, Outputs: []string{sum}},
		{Op: "Reshape", Inputs: []string{sum, shape}, Outputs: []string{out}},
	}
}

func (b *sharedBias) ints(at *onnx.Node, name string, values []int64, why string) string {
	raw, _ := onnx.EncodeInts(onnx.Int64, values, nil)
	return b.m.Editor.AddInitializer(at.Graph.Outermost(), name, onnx.Int64, []int64{int64(len(values))}, raw, why)
}

func (b *sharedBias) scalar(at *onnx.Node, name string, value int64, why string) string {
	raw, _ := onnx.EncodeInts(onnx.Int64, []int64{value}, nil)
	return b.m.Editor.AddInitializer(at.Graph.Outermost(), name, onnx.Int64, nil, raw, why)
}

// build inserts the computation of a bias (heads, query, key) by the axes of scores.
func (b *sharedBias) build(at reading, scores *eval.Value, bias addition) string {
	e, before := b.m.Editor, at.node
	last, secondLast := b.scalar(before, bias.name("last"), -1, bias.why), b.scalar(before, bias.name("second_last"), -2, bias.why)
	shape, keys, queries := e.FreshName(bias.name("shape")), e.FreshName(bias.name("keys")), e.FreshName(bias.name("queries"))
	axis0 := []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}
	made, name := b.from(before, scores.Type, bias, queries, keys, nil)
	e.InsertNodes(before, append([]onnx.NewNode{
		{Op: "Shape", Inputs: []string{at.name()}, Outputs: []string{shape}},
		{Op: "Gather", Inputs: []string{shape, last}, Outputs: []string{keys}, Attributes: axis0},
		{Op: "Gather", Inputs: []string{shape, secondLast}, Outputs: []string{queries}, Attributes: axis0},
	}, made...), bias.why)
	return name
}

// from are the nodes that compute a bias from the numbers of queries and keys, and what they give.
// Queries are the last ones of the keys, so that a cache of past keys shifts them.
func (b *sharedBias) from(before *onnx.Node, t onnx.DataType, bias addition, queries, keys string, lead []int64) ([]onnx.NewNode, string) {
	zero, one := b.scalar(before, bias.name("zero"), 0, bias.why), b.scalar(before, bias.name("one"), 1, bias.why)
	column := b.ints(before, bias.name("column"), []int64{-1, 1}, bias.why)
	fresh := func(part string) string { return b.m.Editor.FreshName(bias.name(part)) }
	past, row, query := fresh("past"), fresh("query_row"), fresh("query")
	apart := distances{key: fresh("key"), difference: fresh("difference")}
	made, name := bias.build(before, t, apart, lead)
	return append([]onnx.NewNode{
		{Op: "Sub", Inputs: []string{keys, queries}, Outputs: []string{past}},
		{Op: "Range", Inputs: []string{zero, keys, one}, Outputs: []string{apart.key}},
		{Op: "Range", Inputs: []string{past, keys, one}, Outputs: []string{row}},
		{Op: "Reshape", Inputs: []string{row, column}, Outputs: []string{query}},
		{Op: "Sub", Inputs: []string{apart.key, query}, Outputs: []string{apart.difference}},
	}, made...), name
}

// linear is ALiBi's bias, −slope·|query − key|.
func (b *sharedBias) linear(alibi schemes.ALiBi) addition {
	a := addition{what: "alibi", why: "ALiBi bias on attention scores", heads: alibi.Count()}
	a.build = func(before *onnx.Node, t onnx.DataType, apart distances, lead []int64) ([]onnx.NewNode, string) {
		negative := make([]float64, 0, alibi.Heads)
		for _, m := range alibi.SlopeValues() {
			negative = append(negative, -m)
		}
		raw, _ := onnx.EncodeFloats(t, negative, nil)
		slopes := b.m.Editor.AddInitializer(before.Graph.Outermost(), a.name("slopes"), t, append(lead, int64(len(negative)), 1, 1), raw, a.why)
		fresh := func(part string) string { return b.m.Editor.FreshName(a.name(part)) }
		distance, float, out := fresh("distance"), fresh("distance_float"), fresh("bias")
		return []onnx.NewNode{
			{Op: "Abs", Inputs: []string{apart.difference}, Outputs: []string{distance}},
			{Op: "Cast", Inputs: []string{distance}, Outputs: []string{float}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(t)}}},
			{Op: "Mul", Inputs: []string{slopes, float}, Outputs: []string{out}},
		}, out
	}
	return a
}
