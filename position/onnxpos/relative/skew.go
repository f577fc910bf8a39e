package relative

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Skewed finds queries that are multiplied by vectors of distances and brought
// from distances to keys by a Reshape that swaps two sizes, of which a Slice
// drops the first row (Huang et al. 2018, §3.4.1; Dai et al. 2019, appendix B).
func (m *Search) Skewed() site.Site {
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if n.Op != "Reshape" {
				continue
			}
			swaps, distances := swapsSizes(s, n), allDistances(s, n)
			if !swaps && distances == 0 {
				continue
			}
			product, at, name := distanceProduct(s, n.Input(0))
			switch {
			case product == nil:
			case swaps:
				return m.skewTable(at, product, name)
			case windowVectors(at.Value(name), distances) > 0:
				return m.windowTable(at, product, name, distances)
			}
		}
	}
	return nil
}

// swapsSizes reports whether a Reshape makes (…, b, a) of (…, a, b) and a Slice
// then leaves out the first of b.
func swapsSizes(s *eval.Scope, n *onnx.Node) bool {
	in, out := s.Value(n.Input(0)).Shape, s.Value(n.Output(0)).Shape
	if len(in) != len(out) || len(in) < 3 {
		return false
	}
	axis := -1
	for i := range len(in) - 1 {
		if in[i] != in[i+1] && in[i] == out[i+1] && in[i+1] == out[i] {
			axis = i
		}
	}
	if axis < 0 {
		return false
	}
	return slices.ContainsFunc(s.Consumers(n.Output(0)), func(c *onnx.Node) bool {
		if c.Op != "Slice" || c.Input(0) != n.Output(0) {
			return false
		}
		starts, axes := trace.ListOf(s, c, "starts", 1), trace.ListOf(s, c, "axes", 3)
		for i, start := range starts {
			at := i
			if i < len(axes) {
				at = int(axes[i])
			}
			if at < 0 {
				at += len(out)
			}
			if at == axis && start == 1 {
				return true
			}
		}
		return false
	})
}

// allDistances is how many distances 2k−1 there are of n queries and k keys, as many or more, when a Reshape
// makes (…, n+1, 2k−1) of one axis, of which a Slice leaves (n, k): rows of 2k−1
// were padded so that each starts one further on (VITS, HaloNet); 0: it does not.
func allDistances(s *eval.Scope, n *onnx.Node) int {
	in, out := s.Value(n.Input(0)).Shape, s.Value(n.Output(0)).Shape
	k := len(out)
	if k < 3 || len(in) == 0 || out[k-2] < 4 || !widened(s, n.Input(0)) || out[k-1] < 2*out[k-2]-3 || out[k-1]%2 == 0 || in[len(in)-1] != out[k-2]*out[k-1] {
		return 0
	}
	if slices.ContainsFunc(s.Consumers(n.Output(0)), func(c *onnx.Node) bool { return c.Op == "Slice" && c.Input(0) == n.Output(0) }) {
		return out[k-1]
	}
	return 0
}

// widened reports whether a value was padded, by Pad or by Concat with constants.
func widened(s *eval.Scope, name string) bool {
	n, at := s.Find(name)
	return n != nil && at == s && (n.Op == "Pad" || n.Op == "Concat" && slices.ContainsFunc(n.Inputs, func(in string) bool { return s.Value(in).Known() }))
}

// windowVectors is how many of the vectors of distances, along either of the last
// two axes, are not zero: those of a window around the distance of none; 0 if they
// are not as many.
func windowVectors(v *eval.Value, distances int) int {
	k := len(v.Shape)
	if k < 2 {
		return 0
	}
	inner := 1
	if v.Shape[k-1] != distances {
		inner = v.Shape[k-1]
		if v.Shape[k-2] != distances {
			return 0
		}
	}
	far := -1
	for i, x := range v.Floats {
		if d := i/inner%distances - distances/2; x != 0 {
			far = max(far, d, -d)
		}
	}
	return 2*far + 1
}

// windowTable describes vectors of the distances within a window, which the
// graph fills up with zeros to all distances of a length, or folded so for one.
func (m *Search) windowTable(s *eval.Scope, product *onnx.Node, name string, distances int) site.Site {
	rows := windowVectors(s.Value(name), distances)
	beyond := ""
	if rows < distances {
		beyond = ", zeros beyond a window"
	}
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: product.Title() + " multiplies the state by a vector for each distance" + beyond + ", and a Reshape brings them to their keys"}}}
	for range 12 {
		n, at := s.Find(name)
		if n == nil || !eval.Is(n, eval.Layout|eval.Selection|eval.Padding) {
			break
		}
		s, name = at, n.Input(0)
	}
	if t := s.Tensor(name); t != nil && len(t.Dims) >= 2 {
		e.Where, e.Dtype = append(e.Where, m.graph.Where(t)), t.Type.String()
		if n := int(t.Dims[len(t.Dims)-2]); n%2 == 1 && n > rows { // more than this length has distances
			rows = n
		}
		if int(t.Dims[len(t.Dims)-1]) == distances || int(t.Dims[len(t.Dims)-2]) == distances && distances > rows {
			e.Form = report.FormBaked
		}
	}
	if m.graph.FixedLength() > 0 {
		e.Capacity, e.Beyond = m.graph.FixedLength(), report.BeyondError
	}
	e.Scheme = schemes.Other{Kind: report.SchemeRelativeTable, Rows: rows, MaxDistance: rows / 2}
	return site.NewOther(e)
}

// distanceProduct is the product of the state with known vectors behind a value
// that was padded and turned.
func distanceProduct(s *eval.Scope, name string) (*onnx.Node, *eval.Scope, string) {
	for range 12 {
		n, at := s.Find(name)
		if n == nil || at != s {
			return nil, nil, ""
		}
		switch {
		case eval.Is(n, eval.Layout|eval.Padding|eval.Scaling):
			name = n.Input(0)
		case n.Op == "Concat": // zeros go before it
			name = n.Input(len(n.Inputs) - 1)
		case eval.Is(n, eval.Product):
			for i := range min(2, len(n.Inputs)) {
				known, state := s.Value(n.Input(i)), s.Value(n.Input(1-i))
				if known.Known() && known.Floats != nil && len(known.Shape) >= 2 && !state.Known() {
					return n, s, n.Input(i)
				}
			}
			return nil, nil, ""
		default:
			return nil, nil, ""
		}
	}
	return nil, nil, ""
}

// skewTable describes vectors of distances: a row for each distance to the keys
// behind, or in both directions, of which the graph cuts what a length needs; or
// constants of one length, where a product of sines and cosines with weights can
// be told from trained rows.
func (m *Search) skewTable(s *eval.Scope, product *onnx.Node, name string) site.Site {
	e := position.Encoding{Form: report.FormBaked, Beyond: report.BeyondError, Capacity: m.graph.FixedLength(),
		Evidence: []report.Evidence{{Kind: "structure", Says: product.Title() + " multiplies the state by a vector for each distance, and a Reshape brings them to their keys"}}}
	other := schemes.Other{Kind: report.SchemeRelativeTable}
	for _, src := range trace.Sources(s, name) {
		t := src.Tensor
		if t == nil || len(t.Dims) < 2 || !t.Type.IsFloat() && src.Scale == 0 {
			continue
		}
		e.Where, e.Dtype = append(e.Where, m.graph.Where(t)), t.Type.String()
		if src.Indexed != nil {
			m.cutTable(&e, &other, int(t.Dims[src.Axis]))
			break
		}
		for _, axis := range []int{0, len(t.Dims) - 1} { // folded with its Transpose or not
			rows := rows.Table{Tensor: t, Axis: axis, Scale: src.Scale, Zero: src.Zero}
			if all, err := rows.Matrix(); err == nil && rows.Len() > 1 {
				if p, ok := fit.ProjectedSinusoid(all, widths(t.Dims, axis)); ok {
					if e.Capacity == 0 { // of a recording or picture
						e.Capacity = (rows.Len() + 1) / 2
					}
					other.Kind, other.Dim, other.Base = report.SchemeRelativeSinusoid, p.Dim, p.Base
					e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "the vectors are sines and cosines of distances, multiplied by weights", Residual: site.Residual(p.Residual)})
					break
				}
			}
		}
		break
	}
	if m.graph.FixedLength() == 0 && e.Capacity == 0 {
		e.Beyond = report.BeyondContinues
		if e.Form == report.FormBaked {
			e.Form = report.FormRuntime
		}
	}
	e.Scheme = other
	out := site.NewOther(e)
	if other.Base > 0 {
		out.Why = product.Title() + " takes the sines and cosines of distances as the export left them, multiplied by weights: those of further ones cannot be made from them"
	}
	return out
}

// widths are what the model's width may be by the dimensions of vectors that stand along
// an axis: that of all heads, with or without others.
func widths(dims []int64, along int) []int {
	out := []int{}
	for n, i := 1, len(dims)-1; i >= 0; i-- {
		if i != along {
			n *= int(dims[i])
			out = append(out, n)
		}
	}
	return out
}

// cutTable describes a table of whose rows the graph takes as many as a length
// has distances.
func (m *Search) cutTable(e *position.Encoding, other *schemes.Other, rows int) {
	e.Form, e.Capacity, other.Rows = report.FormTable, rows, rows
	if m.graph.FixedLength() > 0 {
		return
	}
	if rows > 2 && m.graph.FailsAt(rows) != nil { // a row for each distance in both directions
		e.Capacity = (rows + 1) / 2
	}
	if m.graph.FailsAt(e.Capacity+1) == nil {
		e.Beyond = report.BeyondWrong
	}
}
