package relative

import (
	"fmt"

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
	rows := eval.Ask(v, "rows", func() rows.Matrix {
		m.graph.SpendElements(v.Len())
		return trace.RowsOf(v, axis)
	})
	form := report.FormBaked
	var trig *onnx.Node
	var cut *trace.Source // a table of all distances, of which the graph cuts what a length needs
	for _, src := range trace.Sources(s, name) {
		if src.Trig != nil {
			form, trig = report.FormRuntime, src.Trig
		}
		if src.Tensor != nil && src.Indexed != nil && src.Indexed.Op == "Slice" {
			cut = &src
		}
	}
	found := eval.Ask(v, "relative base", func() relativeSinusoids {
		base, ok := fit.DistanceBase(rows)
		if !ok {
			base, ok = fit.DistanceBase(rows.Deinterleaved())
		}
		return relativeSinusoids{base, ok}
	})
	base, ok := found.base, found.ok
	if !ok && (trig == nil || m.graph.ImageInput() != nil) { // of a picture's rows and columns (Conditional DETR)
		return nil
	}
	if cut != nil && trig == nil {
		return m.relativeCut(n, *cut, rows.Cols(), base)
	}
	other := schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: rows.Cols(), Base: base}
	e := position.Encoding{Scheme: other, Form: form, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies sines and cosines of distances by weights"}}}
	if form == report.FormBaked {
		e.Beyond, e.Capacity = report.BeyondError, m.graph.Sizes.Length
	}
	return site.NewOther(e)
}

// relativeCut is a table of the sinusoids of 2n−1 distances, from the middle of
// which the graph cuts those of the input's length (Conformer). With one
// position more than n the cut begins at −1, which is the last row: the graph
// runs and is wrong (facts/ONNX-PATTERNS §8).
func (m *Search) relativeCut(n *onnx.Node, src trace.Source, dim int, base float64) site.Site {
	e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: dim, Base: base}, Form: report.FormTable,
		Capacity: int(src.Tensor.Dims[src.Axis]+1) / 2, Beyond: report.BeyondError, Where: []report.Where{m.graph.Where(src.Tensor)},
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s multiplies sines and cosines of distances by weights; %s cuts them out of a table", n.Title(), src.Indexed.Title())}}}
	if from := src.Indexed.Input(1); from != "" && !trace.Clamped(src.Scope, from) {
		e.Beyond = report.BeyondWrong
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
