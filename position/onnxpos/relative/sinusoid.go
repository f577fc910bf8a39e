package relative

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/origin"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Sinusoid finds sines and cosines of distances that are multiplied by
// weights, as in Transformer-XL, XLNet and Conformers (facts/ONNX-PATTERNS §3).
func (m *Search) Sinusoid() site.Site {
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !eval.Is(n, eval.Product) || len(n.Inputs) < 2 {
				continue
			}
			if n.Op != "MatMulInteger" && (s.Input(n, 0).Unknowable() || s.Input(n, 1).Unknowable()) {
				continue // data
			}
			for i := range 2 {
				if site := m.relativeOperand(s, n, n.Input(i), n.Input(1-i)); site != nil {
					return site
				}
			}
		}
	}
	return nil
}

func (m *Search) relativeOperand(s *eval.Scope, n *onnx.Node, name, weights string) site.Site {
	if n.Op == "MatMulInteger" {
		if q, at := s.Find(name); q != nil && at == s && q.Op == "DynamicQuantizeLinear" {
			name = q.Input(0)
		}
	}
	v := s.Value(name)
	if len(v.Shape) < 2 || s.Value(weights).Type != v.Type && n.Op != "MatMulInteger" || !isWeight(s, weights) {
		return nil // before a constant is read that is no table
	}
	if !v.Known() || v.Floats == nil {
		return nil
	}
	axis := trace.PositionAxis(v)
	if axis < 0 {
		return nil
	}
	if of := m.origins.Of(s, name); of != nil && len(of.Of) == 1 {
		if table, first, ok := rowsOf(of.Of[0], of.Value, axis); ok && table.Len() > of.Value.Shape[axis] {
			return m.relativeCut(s, n, name, table, first)
		}
	}
	rows := eval.Ask(v, "rows", func() rows.Matrix {
		m.graph.SpendElements(v.Len())
		return trace.RowsOf(v, axis)
	})
	form := report.FormBaked
	var trig *onnx.Node
	for _, src := range trace.Sources(s, name) {
		if src.Trig != nil {
			form, trig = report.FormRuntime, src.Trig
		}
	}
	if rows.Cols() < minColumns {
		return nil
	}
	found := eval.Ask(v, "relative base", func() relativeSinusoids { return distanceBase(rows) })
	if !found.ok && (trig == nil || m.graph.ImageInput() != nil) { // of a picture's rows and columns
		return nil
	}
	other := schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: rows.Cols(), Base: found.base}
	e := position.Encoding{Scheme: other, Form: form, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies sines and cosines of distances by weights"}}}
	if form == report.FormBaked {
		e.Beyond, e.Capacity = report.BeyondError, m.graph.Sizes.Length
	}
	return site.NewOther(e)
}

// minColumns is the fewest sines and cosines of a position: fewer are coordinates.
const minColumns = 4

// distanceBase fits sines and cosines of distances to rows, in either order.
func distanceBase(m fit.Matrix) relativeSinusoids {
	base, ok := fit.DistanceBase(m)
	if d, can := m.(rows.Matrix); !ok && can {
		base, ok = fit.DistanceBase(d.Deinterleaved())
	}
	return relativeSinusoids{base, ok}
}

// rowsOf reads the constant that a value's rows are copied from, and the first of them.
func rowsOf(o *origin.Origin, v *eval.Value, axis int) (table rows.Table, first int, ok bool) {
	inner := 1
	for _, n := range v.Shape[axis+1:] {
		inner *= n
	}
	var elements []int
	for p := range v.Shape[axis] {
		elements = append(elements, o.At[p*inner])
	}
	if slices.Contains(elements, -1) || o.Tensor.Type.IsInteger() {
		return table, 0, false
	}
	table = rows.Table{Tensor: o.Tensor, Axis: onlyAxis(o.Tensor.Dims, elements)}
	if table.Axis < 0 {
		return table, 0, false
	}
	return table, elements[0] / rows.Size(o.Tensor.Dims[table.Axis+1:]) % int(o.Tensor.Dims[table.Axis]), true
}

// relativeCut is a table of sinusoids of positions, or of those of 2n−1 distances, from the
// middle of which the graph cuts those of the input's length (Conformer). With one
// position more than n such a cut begins at −1, which is the last row: the graph runs and
// is wrong (facts/ONNX-PATTERNS §8).
func (m *Search) relativeCut(s *eval.Scope, n *onnx.Node, name string, table rows.Table, first int) site.Site {
	all, err := table.Matrix()
	if err != nil {
		return nil
	}
	read := make(rows.Matrix, all.Rows())
	for r := range read {
		for c := range all.Cols() {
			read[r] = append(read[r], all.At(r, c))
		}
	}
	found := distanceBase(read)
	if !found.ok {
		return nil
	}
	e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: table.Dim(), Base: found.base}, Form: report.FormTable,
		Capacity: table.Len(), Beyond: report.BeyondError, Where: []report.Where{m.graph.Where(table.Tensor)},
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies rows of a table of sines and cosines of positions by weights"}}}
	if first > 0 {
		e.Capacity = (table.Len() + 1) / 2
	}
	for _, src := range trace.Sources(s, name) {
		if src.Indexed != nil && src.Indexed.Op == "Slice" && src.Tensor == table.Tensor && first > 0 {
			if from := src.Indexed.Input(1); from != "" && !trace.Clamped(src.Scope, from) {
				e.Beyond = report.BeyondWrong
			}
		}
	}
	return site.NewOther(e)
}

// isWeight reports whether a value is a constant matrix of the model.
func isWeight(s *eval.Scope, name string) bool {
	t := trace.Stored(s, name)
	return t != nil && len(t.Dims) >= 2
}

// relativeSinusoids are sines and cosines of distances, and their base.
type relativeSinusoids struct {
	base float64
	ok   bool
}
