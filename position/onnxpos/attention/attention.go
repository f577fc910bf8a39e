// Package attention finds the attentions of an ONNX graph, in plain operators around
// a Softmax: their projections, which encodings act in them (Find), how far they
// look back (Windows), and where a bias is added to their scores.
//
// Fused operators are told and not taken apart.
package attention

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// Find finds the attentions of a graph, in its order, and says which sites
// act in each by their place in the list.
func Find(m *site.Graph, sites []site.Site) []*position.Attention {
	var found []*position.Attention
	shared := &sharedBias{m: m, made: map[biasKey]string{}, first: map[*onnx.Graph]*onnx.Node{}}
	acts := effectsOf(sites)
	for _, s := range m.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			switch n.Op {
			case "Softmax":
				if a := plainAttention(s, n, shared, acts); a != nil {
					a.Layer = len(found)
					found = append(found, a)
				}
			case "Attention", "MultiHeadAttention", "GroupQueryAttention", "SparseAttention", "PagedAttention", "QAttention":
				found = append(found, &position.Attention{Layer: len(found),
					Unsupported: fmt.Sprintf("the fused operator %s is not taken apart", n.Op)})
			}
		}
	}
	return found
}

// plainAttention reads an attention in plain operators around a Softmax; nil
// where the Softmax is something else.
func plainAttention(s *eval.Scope, softmax *onnx.Node, shared *sharedBias, acts effects) *position.Attention {
	scores := softmax.Input(0)
	v := s.Value(scores)
	if k := len(v.Shape); k < 3 || k > 4 || v.Shape[k-1] < 2 {
		return nil
	}
	product, scale := scoreProduct(s, scores)
	if product == nil {
		return nil
	}
	a := &position.Attention{Causal: causal(s, scores)}
	q, okQ := projectionOf(s, product.Input(0), false)
	k, okK := projectionOf(s, product.Input(1), true)
	value, okV := valueProjection(s, softmax)
	a.Heads, a.HeadDim = headsAndDim(s, product, v)
	if a.Heads == 0 {
		return nil
	}
	a.AddBias = func(alibi schemes.ALiBi) error { return shared.add(s, softmax, alibi, a.Heads) }
	a.Encodings = acts.in(s, product, softmax)
	switch {
	case !okQ || !okK || !okV:
		a.Unsupported = "queries, keys and values are not plain projections of the same state"
	case q.input != k.input || q.input != value.input:
		a.Unsupported = "keys and values come from another state than queries (cross-attention)"
		a.AddBias = nil
	}
	if a.Unsupported != "" {
		return a
	}
	a.Scale = scale * q.scale * k.scale
	a.KVHeads = k.heads(a.HeadDim)
	if a.KVHeads == 0 || a.Heads%a.KVHeads != 0 || q.heads(a.HeadDim) != a.Heads || value.heads(a.HeadDim) != a.KVHeads {
		a.Unsupported = "the shapes of queries, keys and values do not fit each other"
		return a
	}
	q.dim, k.dim, value.dim = a.HeadDim, a.HeadDim, a.HeadDim
	a.Query, a.Key, a.Val = q, k, value
	return a
}

// effects say which sites act in which attention.
type effects struct {
	everywhere []int                 // biases that are read by all
	reached    map[trace.Place][]int // by the node that a site's rotations or biases go to
}

// in are the sites that act in an attention, in their order.
func (e effects) in(s *eval.Scope, product, softmax *onnx.Node) []int {
	out := slices.Concat(e.everywhere, e.reached[trace.Place{Scope: s, Node: product}])
	if softmax != product {
		out = append(out, e.reached[trace.Place{Scope: s, Node: softmax}]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// effectsOf follows rotations to the products of queries and keys, and biases to their
// Softmax: forwards, each once, whatever the number of attentions.
func effectsOf(sites []site.Site) effects {
	out := effects{reached: map[trace.Place][]int{}}
	for i, s := range sites {
		uses, reach := s.ActsIn()
		if reach == site.Everywhere {
			out.everywhere = append(out.everywhere, i)
		}
		for _, u := range uses {
			for _, n := range trace.ReachedFrom(u.Scope, u.Node) {
				if (n.Op == "Softmax") != (reach == site.Softmaxes) {
					continue
				}
				at := trace.Place{Scope: u.Scope, Node: n}
				if k := len(out.reached[at]); k == 0 || out.reached[at][k-1] != i {
					out.reached[at] = append(out.reached[at], i)
				}
			}
		}
	}
	return out
}

// scoreProduct goes back from scores to the product of queries and keys,
// collecting scalar factors.
func scoreProduct(s *eval.Scope, name string) (*onnx.Node, float64) {
	scale := 1.0
	for range 30 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return nil, 0
		}
		switch n.Op {
		case "MatMul", "FusedMatMul":
			return n, scale * n.Float("alpha", 1)
		case "Mul", "Div":
			other, x, ok := scalarOperand(s, n)
			if !ok {
				return nil, 0
			}
			if n.Op == "Div" {
				x = 1 / x
			}
			scale *= x
			name = other
		case "Add", "Where", "Max", "Sub":
			name = stateOperand(s, n)
		case "Cast", "Reshape", "Transpose", "Identity", "Unsqueeze", "Squeeze", "Clip":
			name = n.Input(0)
		default:
			return nil, 0
		}
	}
	return nil, 0
}

// scalarOperand splits a product into its state and a known scalar.
func scalarOperand(s *eval.Scope, n *onnx.Node) (state string, x float64, ok bool) {
	if x, ok = s.Value(n.Input(1)).Scalar(); ok {
		return n.Input(0), x, true
	}
	x, ok = s.Value(n.Input(0)).Scalar()
	return n.Input(1), x, ok && n.Op == "Mul"
}

// stateOperand is the input of a sum or choice that is not known: the state.
func stateOperand(s *eval.Scope, n *onnx.Node) string {
	for _, in := range n.Inputs {
		v := s.Value(in)
		if !v.Known() && v.Type.IsFloat() && len(v.Shape) >= 3 {
			return in
		}
	}
	return ""
}

// headsAndDim reads the number of heads and their width off the scores and the
// queries.
func headsAndDim(s *eval.Scope, product *onnx.Node, scores *eval.Value) (heads, dim int) {
	q := s.Value(product.Input(0))
	if len(q.Shape) < 3 {
		return 0, 0
	}
	return scores.Shape[len(scores.Shape)-3], q.Shape[len(q.Shape)-1]
}

// causal reports whether later keys are masked: whether known numbers that
// depend on positions are added to, or choose among, the scores.
func causal(s *eval.Scope, scores string) bool {
	name := scores
	for range 30 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return false
		}
		for i, in := range n.Inputs {
			v := s.Value(in)
			k := len(v.Shape)
			if !v.Known() || k < 2 || v.Shape[k-1] < 2 || v.Shape[k-2] < 2 || !v.Varies(k-1) {
				continue
			}
			rows := trace.RowsOf(v, k-2)
			first, last := rows[0][0], rows[0][len(rows[0])-1]
			switch {
			case n.Op == "Add" && (last < trace.MaskedBelow || math.IsInf(last, -1)) && first > trace.MaskedBelow:
				return true
			case n.Op == "Where" && i == 0 && first != last:
				return true
			}
		}
		switch n.Op {
		case "Mul", "Div", "Add", "Where", "Max", "Sub":
			name = stateOperand(s, n)
		case "Cast", "Reshape", "Transpose", "Identity", "Unsqueeze", "Squeeze", "Clip":
			name = n.Input(0)
		default:
			return false
		}
	}
	return false
}

// Projection is a weight matrix that makes queries, keys or values: columns
// base + head·stride + offset + i of input·W.
type Projection struct {
	input   string // the state that is projected
	weights *onnx.Tensor
	rows    bool // W is [out, in] (Gemm with transB)
	bias    *onnx.Tensor
	base    int
	width   int // columns of this projection, all heads
	stride  int // columns from one head to the next; 0: dim
	offset  int
	dim     int
	scale   float64
}

func (p *Projection) heads(dim int) int {
	stride := p.stride
	if stride == 0 {
		stride = dim
	}
	if stride == 0 {
		return 0
	}
	return p.width / stride
}

// In is the width of the state.
func (p *Projection) In() int {
	if p.rows {
		return int(p.weights.Dims[1])
	}
	return int(p.weights.Dims[0])
}

// Head reads the weights and bias of one head.
func (p *Projection) Head(head int) (weights, bias []float64, err error) {
	in, out := p.In(), int(p.weights.Dims[1])
	stride := p.stride
	if stride == 0 {
		stride = p.dim
	}
	first := p.base + head*stride + p.offset
	weights = make([]float64, p.dim*in)
	if p.rows {
		weights, err = p.weights.Floats(int64(first*in), int64(p.dim*in))
	} else {
		for i := range in {
			row, err := p.weights.Floats(int64(i*out+first), int64(p.dim))
			if err != nil {
				return nil, nil, err
			}
			for c, x := range row {
				weights[c*in+i] = x
			}
		}
	}
	if err == nil && p.bias != nil {
		bias, err = p.bias.Floats(int64(first), int64(p.dim))
	}
	return weights, bias, err
}

// valueProjection finds what the attention's weights are multiplied with.
func valueProjection(s *eval.Scope, softmax *onnx.Node) (*Projection, bool) {
	name := softmax.Output(0)
	for range 8 {
		next := ""
		for _, n := range s.Consumers(name) {
			switch n.Op {
			case "MatMul":
				if n.Input(0) == name {
					return projectionOf(s, n.Input(1), false)
				}
			case "Cast", "Dropout", "Identity", "Where", "Reshape", "IsNaN":
				if n.Op != "IsNaN" {
					next = n.Output(0)
				}
			}
		}
		if next == "" {
			return nil, false
		}
		name = next
	}
	return nil, false
}

// projectionOf goes back from queries, keys or values to their weights.
func projectionOf(s *eval.Scope, name string, key bool) (*Projection, bool) {
	p := &Projection{scale: 1}
	for range 40 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return nil, false
		}
		in, out := s.Value(n.Input(0)), s.Value(name)
		switch n.Op {
		case "MatMul":
			return p.weightsOf(s, n, false)
		case "Gemm":
			if n.Int("transA", 0) != 0 {
				return nil, false
			}
			if n.Input(2) != "" && p.bias == nil {
				p.bias = s.Tensor(n.Input(2))
			}
			return p.weightsOf(s, n, n.Int("transB", 0) == 1)
		case "Mul", "Div":
			other, x, ok := scalarOperand(s, n)
			if !ok {
				return nil, false
			}
			if n.Op == "Div" {
				x = 1 / x
			}
			p.scale *= x
			name = other
		case "Add", "Sub":
			next, ok := p.sum(s, n)
			if !ok {
				return nil, false
			}
			name = next
		case "Split", "Slice", "Gather":
			if !p.part(s, n, name, in, out) {
				return nil, false
			}
			name = n.Input(0)
		case "Concat":
			next := ""
			for _, c := range n.Inputs {
				if producer, _ := s.Find(c); producer != nil && next == "" && !s.Value(c).Known() {
					next = c
				}
			}
			name = next
		case "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Cast", "Identity", "Expand":
			name = n.Input(0)
		default:
			return nil, false
		}
	}
	return nil, false
}

// sum goes through an Add: of a bias, or of the terms of a rotation.
func (p *Projection) sum(s *eval.Scope, n *onnx.Node) (string, bool) {
	for i := range 2 {
		if t := s.Tensor(n.Input(i)); t != nil && t.Len() > 1 {
			if p.bias != nil {
				return "", false
			}
			p.bias = t
			return n.Input(1 - i), true
		}
	}
	a, ok1 := trace.TermOf(s, n.Input(0))
	_, ok2 := trace.TermOf(s, n.Input(1))
	if ok1 && ok2 {
		// both terms come from the same elements; of a part of the head, the
		// rest follows in the Concat after it
		return a.State, true
	}
	return "", false
}

// part notes which columns a Split, Slice or Gather takes. Of the rotated part
// of a head the whole head is meant.
func (p *Projection) part(s *eval.Scope, n *onnx.Node, name string, in, out *eval.Value) bool {
	if !in.Ranked || !out.Ranked {
		return false
	}
	k := len(in.Shape)
	first, width := 0, 0
	switch n.Op {
	case "Split":
		axis := int(n.Int("axis", 0))
		if axis < 0 {
			axis += k
		}
		for i, o := range n.Outputs {
			if o == name {
				break
			}
			first += s.Value(n.Outputs[i]).Shape[axis]
		}
		width = out.Shape[axis]
		return p.took(in, axis, first, width)
	case "Slice":
		axis, from := trace.SlicedAxis(s, n, in)
		if axis < 0 {
			return true
		}
		return p.took(in, axis, int(from), out.Shape[axis])
	default: // Gather of one index: (…, 3, …) taken apart
		axis := int(n.Int("axis", 0))
		if axis < 0 {
			axis += k
		}
		x, ok := s.Value(n.Input(1)).Scalar()
		if !ok {
			return false
		}
		inner := 1
		for _, d := range in.Shape[axis+1:] {
			inner *= d
		}
		if axis == 0 { // (3, batch, heads, length, dim): undo the transpose that made it
			p.base = int(x) * in.Shape[2] * in.Shape[k-1]
			p.width = in.Shape[2] * in.Shape[k-1]
			return k == 5
		}
		p.offset, p.stride = int(x)*inner, in.Shape[axis]*inner
		return true
	}
}

func (p *Projection) took(in *eval.Value, axis, first, width int) bool {
	k := len(in.Shape)
	switch {
	case axis == k-1 && k == 3:
		p.base, p.width = first, width
	case axis == k-1 && k >= 4:
		if p.stride == 0 && in.Shape[axis]%3 == 0 && in.Shape[axis] == 3*width {
			p.offset, p.stride = first, in.Shape[axis]
		}
	case axis == k-2 || axis == 1 || axis == 2:
		return true // positions
	}
	return true
}

func (p *Projection) weightsOf(s *eval.Scope, n *onnx.Node, rows bool) (*Projection, bool) {
	t := s.Tensor(n.Input(1))
	if t == nil || len(t.Dims) != 2 || !t.Type.IsFloat() {
		return nil, false
	}
	p.weights, p.rows = t, rows
	p.input = state(s, n.Input(0))
	if p.width == 0 {
		p.width = int(t.Dims[1])
		if rows {
			p.width = int(t.Dims[0])
		}
	}
	return p, true
}

// state is the value behind layout changes, so that queries and keys made of
// the same state are seen to be.
func state(s *eval.Scope, name string) string {
	for range 10 {
		n, at := s.Find(name)
		if n == nil || at != s || !slices.Contains([]string{"Reshape", "Identity", "Cast", "Flatten"}, n.Op) {
			return name
		}
		name = n.Input(0)
	}
	return name
}
