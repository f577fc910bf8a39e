package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

// sharedBias adds ALiBi's bias to attentions. The bias of a graph is computed
// once, before its first attention, and read by all of them.
type sharedBias struct {
	m     *site.Graph
	made  map[biasKey]string         // the value that holds the bias
	first map[*onnx.Graph]*onnx.Node // what is out of order in a graph, nil: nothing

	masked map[maskKey]string // the value that holds a mask and a bias
}

// biasKey tells biases apart that attentions cannot share: of another graph,
// or of a tower of other lengths or heads.
type biasKey struct {
	graph                *onnx.Graph
	heads, queries, keys int
	fused                string // where a fused operator counts them; "": by its scores
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
// joined to before. The scores are scaled and masked there already, which the bias must follow
// (Press et al. 2022, §3).
func (b *sharedBias) add(s *eval.Scope, softmax, product *onnx.Node, alibi schemes.ALiBi, heads int) error {
	if err := b.possible(softmax, alibi, heads); err != nil {
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
	why := "ALiBi bias on attention scores"
	k := len(scores.Shape)
	switch {
	case k > 4:
		return &position.Refusal{Why: fmt.Sprintf("%s reads scores of %d axes, as of positions in blocks or windows: how far they are apart is not in one row", softmax.Title(), k)}
	case k > 1 && scores.Shape[k-1] < scores.Shape[k-2]:
		return &position.Refusal{Why: fmt.Sprintf("%s reads scores of %d queries and %d keys: a key that stands for several positions has no distance", softmax.Title(), scores.Shape[k-2], scores.Shape[k-1])}
	}
	key := biasKey{graph: softmax.Graph, heads: heads, queries: scores.Shape[k-2], keys: scores.Shape[k-1]}
	if b.made[key] == "" {
		b.made[key] = b.build(at, scores, alibi, why)
	}
	e := b.m.Editor
	out := e.FreshName("modelpatch/alibi_scores")
	if len(scores.Shape) == 4 {
		e.InsertNodes(at.node, []onnx.NewNode{{Op: "Add", Inputs: []string{at.name(), b.made[key]}, Outputs: []string{out}}}, why)
	} else {
		e.InsertNodes(at.node, b.addToRows(at, b.made[key], heads, out, why), why)
	}
	e.RenameInput(at.node, at.input, out, why)
	return nil
}

// addToRows adds the bias to scores (batch·heads, query, key).
func (b *sharedBias) addToRows(at reading, bias string, heads int, out, why string) []onnx.NewNode {
	e := b.m.Editor
	name := e.FreshName
	lead := b.ints(at.node, "modelpatch/alibi_lead", []int64{-1, int64(heads)}, why)
	two, end := b.ints(at.node, "modelpatch/alibi_two", []int64{1}, why), b.ints(at.node, "modelpatch/alibi_end", []int64{3}, why)
	shape, tail, full, apart, sum := name("modelpatch/alibi_shape"), name("modelpatch/alibi_tail"), name("modelpatch/alibi_full"), name("modelpatch/alibi_apart"), name("modelpatch/alibi_sum")
	return []onnx.NewNode{
		{Op: "Shape", Inputs: []string{at.name()}, Outputs: []string{shape}},
		{Op: "Slice", Inputs: []string{shape, two, end}, Outputs: []string{tail}},
		{Op: "Concat", Inputs: []string{lead, tail}, Outputs: []string{full}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}},
		{Op: "Reshape", Inputs: []string{at.name(), full}, Outputs: []string{apart}},
		{Op: "Add", Inputs: []string{apart, bias}, Outputs: []string{sum}},
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

// build inserts the computation of −slope·|query − key| (heads, query, key) by the
// axes of scores.
func (b *sharedBias) build(at reading, scores *eval.Value, alibi schemes.ALiBi, why string) string {
	e, before := b.m.Editor, at.node
	last, secondLast := b.scalar(before, "modelpatch/alibi_last", -1, why), b.scalar(before, "modelpatch/alibi_second_last", -2, why)
	shape, keys, queries := e.FreshName("modelpatch/alibi_shape"), e.FreshName("modelpatch/alibi_keys"), e.FreshName("modelpatch/alibi_queries")
	axis0 := []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}
	made, name := b.distances(before, scores.Type, alibi, queries, keys, []int64{int64(len(alibi.SlopeValues())), 1, 1}, why)
	e.InsertNodes(before, append([]onnx.NewNode{
		{Op: "Shape", Inputs: []string{at.name()}, Outputs: []string{shape}},
		{Op: "Gather", Inputs: []string{shape, last}, Outputs: []string{keys}, Attributes: axis0},
		{Op: "Gather", Inputs: []string{shape, secondLast}, Outputs: []string{queries}, Attributes: axis0},
	}, made...), why)
	return name
}

// distances are the nodes that compute −slope·|query − key| from the numbers of queries
// and keys, and what they give: slopes have the dimensions dims. Queries are the last
// ones of the keys, so that a cache of past keys shifts them.
func (b *sharedBias) distances(before *onnx.Node, t onnx.DataType, alibi schemes.ALiBi, queries, keys string, dims []int64, why string) ([]onnx.NewNode, string) {
	e := b.m.Editor
	negative := make([]float64, 0, alibi.Heads)
	for _, m := range alibi.SlopeValues() {
		negative = append(negative, -m)
	}
	raw, _ := onnx.EncodeFloats(t, negative, nil)
	slopes := e.AddInitializer(before.Graph.Outermost(), "modelpatch/alibi_slopes", t, dims, raw, why)
	zero, one := b.scalar(before, "modelpatch/alibi_zero", 0, why), b.scalar(before, "modelpatch/alibi_one", 1, why)
	column := b.ints(before, "modelpatch/alibi_column", []int64{-1, 1}, why)
	v := map[string]string{}
	for _, part := range []string{"past", "key", "query_row", "query", "difference", "distance", "distance_float", "bias"} {
		v[part] = e.FreshName("modelpatch/alibi_" + part)
	}
	return []onnx.NewNode{
		{Op: "Sub", Inputs: []string{keys, queries}, Outputs: []string{v["past"]}},
		{Op: "Range", Inputs: []string{zero, keys, one}, Outputs: []string{v["key"]}},
		{Op: "Range", Inputs: []string{v["past"], keys, one}, Outputs: []string{v["query_row"]}},
		{Op: "Reshape", Inputs: []string{v["query_row"], column}, Outputs: []string{v["query"]}},
		{Op: "Sub", Inputs: []string{v["key"], v["query"]}, Outputs: []string{v["difference"]}},
		{Op: "Abs", Inputs: []string{v["difference"]}, Outputs: []string{v["distance"]}},
		{Op: "Cast", Inputs: []string{v["distance"]}, Outputs: []string{v["distance_float"]}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(t)}}},
		{Op: "Mul", Inputs: []string{slopes, v["distance_float"]}, Outputs: []string{v["bias"]}},
	}, v["bias"]
}
