package probe

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Given are what a model is given: the inputs of a graph, places that stand in columns of one, and where inputs are texts, what its
// operators make of them, where they do: token ids, which are as many as they are.
func Given(f *onnx.File) []*onnx.ValueInfo {
	g := f.Graph
	text := func(in *onnx.ValueInfo) bool { return in.Type == onnx.String }
	if !slices.ContainsFunc(g.Inputs, text) {
		given := slices.Clip(g.Inputs)
		for _, in := range g.Inputs {
			given = append(given, placesBesideContent(f, in)...)
		}
		return given
	}
	out := slices.DeleteFunc(slices.Clone(g.Inputs), text)
	has, made := map[string]bool{}, false
	for _, in := range out {
		has[in.Name] = true
	}
	for _, n := range g.Nodes {
		row := eval.Lookup(n.Domain, n.Op)
		if row == nil || row.Tokens == 0 {
			continue
		}
		for i := range n.Outputs {
			in := tokensOf(g, n, i, row.Tokens)
			if in != nil && !has[in.Name] {
				out, has[in.Name], made = append(out, in), true, true
			}
		}
	}
	if !made { // texts are tokens themselves, or what they come to is not known
		return slices.Clip(g.Inputs)
	}
	return out
}

// tokensOf is output i of an operator that makes tokens of texts, as an input of (texts, tokens): behind
// what converts it, and what gives it an axis of texts where it has none.
func tokensOf(g *onnx.Graph, n *onnx.Node, i, rank int) *onnx.ValueInfo {
	w := g.Wiring()
	length := n.Int("padding_length", -1)
	in := &onnx.ValueInfo{Name: n.Output(i), Type: onnx.Int64, Ranked: true}
	for range maxBehindTokens {
		number, ok := w.Output(n, i)
		if !ok {
			return nil
		}
		in.Name = w.Name(number)
		readers := w.Readers(number)
		if len(readers) != 1 || rank == matrix && readers[0].Op != "Cast" {
			break
		}
		switch n, i = readers[0], 0; n.Op {
		case "Cast":
			in.Type = onnx.DataType(n.Int("to", int64(in.Type)))
		case "Unsqueeze":
			rank++
		default:
			return nil
		}
	}
	if rank != matrix || !in.Type.IsInteger() {
		return nil
	}
	in.Dims = []onnx.Dim{{Value: -1, Param: "batch"}, {Value: -1, Param: "sequence"}}
	if length > 0 {
		in.Dims[1] = onnx.Dim{Value: length}
	}
	return in
}

// Padded is the operator that makes every text as many tokens, where the model's tokens come from one; nil
// where they do not.
func (p *Probe) Padded() *onnx.Node {
	in := p.TokenMatrix()
	if in == nil || p.FixedLength() == 0 || slices.Contains(p.File.Graph.Inputs, in) {
		return nil
	}
	i := slices.IndexFunc(p.File.Graph.Nodes, func(n *onnx.Node) bool {
		row := eval.Lookup(n.Domain, n.Op)
		return row != nil && row.Tokens > 0 && n.Int("padding_length", -1) > 0
	})
	if i < 0 {
		return nil
	}
	return p.File.Graph.Nodes[i]
}

// maxBehindTokens bounds the nodes that are followed from an operator to its tokens.
const maxBehindTokens = 16

// matrix is the rank of token ids: texts, and tokens of each.
const matrix = 2
