package relative

import (
	"cmp"
	"fmt"
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
func (m *Search) Sinusoid() (found site.Site) {
	var other site.Site // no table of them, or angles
	for _, s := range m.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !eval.Is(n, eval.Product) && !ofSinglePlaces(s, n) || len(n.Inputs) < 2 {
				continue
			}
			of := eval.Operands(n)
			if s.Value(of[0]).Unknowable() || s.Value(of[1]).Unknowable() {
				continue // data
			}
			for i := range 2 {
				site := m.relativeOperand(s, n, of[i], of[1-i])
				if site == nil {
					continue
				}
				m.weighed = append(m.weighed, trace.Place{Scope: s, Node: n})
				switch site := site.(type) {
				case *Waves:
					if first, ok := found.(*Waves); ok {
						first.join(site)
					} else if found == nil {
						found = site
					}
				default:
					other = cmp.Or(other, site)
				}
			}
		}
	}
	return cmp.Or(other, found)
}

// ofSinglePlaces reports whether a node is a convolution that sees one place at a time: a product with weights.
func ofSinglePlaces(s *eval.Scope, n *onnx.Node) bool {
	if !eval.Is(n, eval.Convolution) {
		return false
	}
	shape := s.Value(n.Input(1)).Shape
	return len(shape) > 2 && !slices.ContainsFunc(shape[2:], func(d int) bool { return d != 1 })
}

func (m *Search) relativeOperand(s *eval.Scope, n *onnx.Node, name, weights string) site.Site {
	v := s.Value(name)
	packed := eval.Lookup(n.Domain, n.Op).Axes == eval.AxesLinear || s.Value(weights).Type.Bits() == 8 // weights of fewer bits
	if len(v.Shape) < 2 || s.Value(weights).Type != v.Type && !packed || !isWeight(s, weights) {
		return nil // before a constant is read that is no table
	}
	if !v.Known() || v.Floats == nil {
		return nil
	}
	axis := trace.PositionAxis(v)
	if ofSinglePlaces(s, n) {
		axis = len(v.Shape) - 1 // behind the channels
	}
	if axis < 0 || meets(s, n) == "" { // what is added to the data is of positions, not of distances
		return nil
	}
	if of := m.origins.Of(s, name); of != nil && len(of.Of) == 1 {
		if table, first, ok := rowsOf(of.Of[0], of.Value, axis); ok {
			if w := m.waves(s, n, name, table, first, table.Len() == of.Value.Shape[axis]); w != nil {
				return w
			}
		}
	}
	rows := eval.Ask(v, fmt.Sprint("rows along ", axis), func() rows.Matrix {
		m.graph.SpendElements(v.Len())
		if axis == len(v.Shape)-1 { // channels ahead of them
			return trace.ColumnsOf(v)
		}
		return trace.RowsOf(v, axis)
	})
	form := report.FormBaked
	var trig *trace.Source
	for _, src := range trace.Sources(s, name) {
		if src.Trig != nil {
			form, trig = report.FormRuntime, &src
		}
	}
	if rows.Cols() < minColumns {
		return nil
	}
	found := eval.Ask(v, fmt.Sprint("relative base along ", axis), func() relativeSinusoids {
		if found := distanceBase(rows); found.ok {
			return found
		}
		return unsigned(rows)
	})
	if !found.ok && (trig == nil || m.graph.ImageInput() != nil) { // of a picture's rows and columns
		return nil
	}
	other := schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: rows.Cols(), Base: found.base}
	if trig != nil && found.ok && !found.unsigned {
		if w := m.angles(trig, n, name, other); w != nil {
			return w
		}
	}
	e := position.Encoding{Scheme: other, Form: form, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies sines and cosines of distances by weights"}}}
	if form == report.FormBaked {
		e.Beyond, e.Capacity = report.BeyondError, (rows.Rows()+1)/2
	}
	return site.NewOther(e)
}

// angles is a table of the angles of distances, of which the graph takes sines and cosines: all rows.
func (m *Search) angles(trig *trace.Source, n *onnx.Node, name string, other schemes.Other) site.Site {
	of := m.origins.Of(trig.Scope, trig.Trig.Input(0))
	if of == nil || len(of.Of) != 1 {
		return nil
	}
	axis := trace.PositionAxis(of.Value)
	if axis < 0 {
		return nil
	}
	table, _, ok := rowsOf(of.Of[0], of.Value, axis)
	if !ok || table.Len() != of.Value.Shape[axis] {
		return nil
	}
	e := position.Encoding{Scheme: other, Form: report.FormBaked, Beyond: report.BeyondError, Where: []report.Where{m.graph.Where(table.Tensor)},
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies sines and cosines of distances, whose angles are constants, by weights"}}}
	w, ok := newWaves(m.graph, site.NewOther(e), table, true)
	if !ok {
		return nil
	}
	w.scope, w.name, w.whole, w.Detected.Capacity, w.data = trig.Scope, name, true, w.reach(), meets(trig.Scope, n)
	w.pairs = m.products
	return w
}

// minColumns is the fewest sines and cosines of a position: fewer are coordinates.
const minColumns = 4

// distanceBase fits sines and cosines of distances to rows, in either order.
func distanceBase(m fit.Matrix) relativeSinusoids {
	base, ok := fit.DistanceBase(m)
	if d, can := m.(rows.Matrix); !ok && can {
		base, ok = fit.DistanceBase(d.Deinterleaved())
	}
	return relativeSinusoids{base: base, ok: ok}
}

// unsigned fits sines and cosines of distances without their signs, which stand from the farthest to 0 and back.
func unsigned(m rows.Matrix) relativeSinusoids {
	middle := len(m) / 2
	if len(m)%2 == 0 {
		return relativeSinusoids{}
	}
	for d := range middle {
		if !slices.Equal(m[middle-d-1], m[middle+d+1]) {
			return relativeSinusoids{}
		}
	}
	found := distanceBase(m[middle:])
	found.unsigned = true
	return found
}

// rowsOf reads the constant that a value's rows are copied from, and the first of them.
func rowsOf(o *origin.Origin, v *eval.Value, axis int) (table rows.Table, first int, ok bool) {
	inner := onnx.Size(v.Shape[axis+1:])
	var elements []int
	for p := range v.Shape[axis] {
		elements = append(elements, o.At[p*inner])
	}
	if slices.Contains(elements, -1) {
		return table, 0, false
	}
	table = rows.Table{Tensor: o.Tensor, Axis: rows.OnlyAxis(o.Tensor.Dims, elements)}
	table.Scale, table.Zero, table.Uneven = o.Quantised()
	if table.Axis < 0 || table.Uneven || o.Tensor.Type.IsInteger() && table.Scale == 0 {
		return table, 0, false
	}
	return table, elements[0] / onnx.Size(o.Tensor.Dims[table.Axis+1:]) % int(o.Tensor.Dims[table.Axis]), true
}

// waves is a table of sinusoids of distances whose rows a node multiplies by weights: all of them, or
// from the middle of the table on those of the input's length (Conformer). With one position more than
// it has such a cut begins at −1, which is the last row: the graph runs and is wrong
// (facts/ONNX-PATTERNS §8).
func (m *Search) waves(s *eval.Scope, n *onnx.Node, name string, table rows.Table, first int, whole bool) site.Site {
	all, err := table.Matrix()
	if err != nil || all.Cols() < minColumns {
		return nil
	}
	read := make(rows.Matrix, all.Rows())
	for r := range read {
		for c := range all.Cols() {
			read[r] = append(read[r], all.At(r, c))
		}
	}
	found, compact := distanceBase(read), false
	if !found.ok {
		middle := len(read) / 2
		compact = slices.ContainsFunc(fit.Precisions(table.Precision(), read), func(p fit.Precision) bool {
			_, ok := fit.CompactOf(read[middle:], 1, p)
			return ok
		})
		if !compact {
			return nil
		}
	}
	e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: table.Dim(), Base: found.base}, Form: report.FormTable,
		Capacity: table.Len(), Beyond: report.BeyondError, Where: []report.Where{m.graph.Where(table.Tensor)},
		Evidence: []report.Evidence{{Kind: "structure", Says: n.Title() + " multiplies rows of a table of sines and cosines of positions by weights"}}}
	if compact {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "distances are pressed together by a logarithm and an arctangent (Yao et al. 2023, §3.3)"})
	}
	if first > 0 || whole {
		e.Capacity = (table.Len() + 1) / 2
	}
	if whole {
		e.Form = report.FormBaked
		e.Evidence[0].Says = n.Title() + " multiplies sines and cosines of distances by weights"
	}
	for _, src := range trace.Sources(s, name) {
		if src.Indexed != nil && src.Indexed.Op == "Slice" && src.Tensor == table.Tensor && first > 0 {
			if from := src.Indexed.Input(1); from != "" && !trace.Clamped(src.Scope, from) {
				e.Beyond = report.BeyondWrong
				if m.graph.FixedLength() == 0 && m.graph.FailsAt(e.Capacity+1) != nil { // what is read further on sees fewer rows
					e.Beyond = report.BeyondError
				}
			}
		}
	}
	w, ok := newWaves(m.graph, site.NewOther(e), table, false)
	if !ok {
		return w.Other
	}
	w.scope, w.name, w.whole, w.Detected.Capacity = s, name, whole, w.reach()
	w.data, w.pairs = meets(s, n), m.products
	return w
}

// meets is the value that what a node makes of constants is multiplied with: data; "" where there is
// none near.
func meets(s *eval.Scope, n *onnx.Node) string {
	queue := []string{n.Output(0)}
	for i := 0; i < len(queue) && i < maxMeets; i++ {
		for _, r := range s.Consumers(queue[i]) {
			switch {
			case !s.Value(r.Output(0)).Unknowable(), eval.Is(r, eval.Layout):
				queue = append(queue, r.Output(0))
			case eval.Is(r, eval.Product) && len(r.Inputs) > 1:
				of := eval.Operands(r)
				if of[0] == queue[i] {
					return of[1]
				}
				return of[0]
			}
		}
	}
	return ""
}

// maxMeets bounds the values that are followed to where they meet data.
const maxMeets = 64

// isWeight reports whether a value is a constant matrix of the model, as it is stored or transposed.
func isWeight(s *eval.Scope, name string) bool {
	for range maxLaidOut {
		if t := trace.Stored(s, name); t != nil {
			return len(t.Dims) >= 2
		}
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Layout) {
			return false
		}
		name = n.Input(0)
	}
	return false
}

// maxLaidOut bounds the nodes that lay a weight out otherwise.
const maxLaidOut = 4

// relativeSinusoids are sines and cosines of distances, and their base.
type relativeSinusoids struct {
	base         float64
	ok, unsigned bool
}
