package relative

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/scored"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Waves is a table with a row of sines and cosines for each distance of query and key, from the row
// of distance 0 in both directions or in one (Dai et al. 2019, section 3.3; Gulati et al. 2020,
// section 2.1). The graph takes the rows of the input's length from it, or all.
type Waves struct {
	*site.Other
	graph   *site.Graph
	table   rows.Table
	copies  []*onnx.Tensor        // the table, and those of other layers
	zero    int                   // the row of distance 0
	falling bool                  // rows before it are of positive distances
	formula formula               // of rows
	scope   *eval.Scope           // where the rows are multiplied
	name    string                // by which name
	whole   bool                  // all rows of the table are
	data    string                // what they meet then; "": not known
	newRows int                   // rows after Store
	rowOf   rows.RowFunc          // these
	filled  bool                  // Overlay tells them, too
	shifts  map[*onnx.Node]*shift // by the node that takes rows from the table
	pairs   *scored.Search        // what pairs get of products with them
}

// formula writes the row of a distance.
type formula func(distance int, dst []float64)

// signed are sines and cosines of distances, of which sines are negative for those below 0.
func signed(s schemes.Sinusoid) formula {
	rows := s.Table()
	return func(distance int, dst []float64) {
		rows.Row(int(math.Abs(float64(distance))), dst)
		for k := range rows.InverseFrequencies() {
			if sin, _ := rows.Places(k); distance < 0 && sin < len(dst) {
				dst[sin] = -dst[sin]
			}
		}
	}
}

// multiples are angles that grow by turns from one distance to the next.
func multiples(turns []float64) formula {
	return func(distance int, dst []float64) {
		for k, f := range turns {
			dst[k] = float64(distance) * f
		}
	}
}

// rounded is a formula whose numbers were rounded before they were stored.
func (f formula) rounded(p fit.Precision) formula {
	return func(distance int, dst []float64) {
		f(distance, dst)
		for c, x := range dst {
			dst[c] = p.Round(x)
		}
	}
}

// shift is how much further the rows stand that a node takes, in the enlarged table.
type shift struct {
	by   int64
	axis int // the entry of starts and ends that is of the table's rows
}

// newWaves finds the row of distance 0 and the formula; false where the rows are by none. The rows are
// sines and cosines, or angles.
func newWaves(g *site.Graph, other *site.Other, t rows.Table, angles bool) (*Waves, bool) {
	w := &Waves{Other: other, graph: g, table: t, copies: []*onnx.Tensor{t.Tensor}}
	n := t.Len()
	for _, w.zero = range []int{(n - 1) / 2, n / 2, 0, n - 1} {
		for _, w.falling = range []bool{true, false} {
			far := w.side(w.falling)
			if far < minFitted {
				continue
			}
			rows := make(rows.Matrix, min(far, maxFittedRows))
			for d := range rows {
				rows[d] = make([]float64, t.Dim())
				if t.Row(w.row(d), rows[d]) != nil {
					return w, false
				}
			}
			g.SpendElements(len(rows) * t.Dim())
			if angles {
				if w.formula = multiples(rows[1]); turnBy(rows, rows[1]) {
					return w, true
				}
				continue
			}
			for i, stored := range fit.Precisions(t.Precision(), rows) {
				found, ok := fit.AdditiveTable(rows, stored)
				if s := found.Sinusoid; ok && s.Start == 0 && s.Step == 0 && len(s.ZeroRows) == 0 {
					w.formula = signed(s)
				} else if c, ok := fit.CompactOf(rows, 1, stored); ok {
					w.formula = c.Row
				} else {
					continue
				}
				if i > 0 {
					w.formula = w.formula.rounded(stored)
				}
				return w, true
			}
		}
	}
	return w, false
}

// turnBy reports whether rows are multiples of one, from zero on.
func turnBy(m rows.Matrix, turns []float64) bool {
	for d, row := range m {
		for k, x := range row {
			if turns[k] <= 0 || math.Abs(x-float64(d)*turns[k]) > anglesApart*math.Max(1, x) {
				return false
			}
		}
	}
	return true
}

// anglesApart is how far angles of float32 positions and frequencies may be off, relative to
// themselves: some roundings.
const anglesApart = 1e-6

// Rows that a fit needs of one direction, and reads at the most.
const (
	minFitted     = 4
	maxFittedRows = 512
)

// row is where the row of a distance stands.
func (w *Waves) row(distance int) int {
	if w.falling {
		return w.zero - distance
	}
	return w.zero + distance
}

// side is the number of rows from distance 0 on: those before it, or those behind it.
func (w *Waves) side(before bool) int {
	if before {
		return w.zero + 1
	}
	return w.table.Len() - w.zero
}

// reach is the longest input for whose distances there are rows.
func (w *Waves) reach() int {
	before, behind := w.side(true), w.side(false)
	if before == 1 || behind == 1 {
		return max(before, behind)
	}
	return min(before, behind)
}

// Tables are none: a row is of a distance, not of a position.
func (w *Waves) Tables() []rows.Table { return nil }

// Owned is the table, and its copies.
func (w *Waves) Owned() []*onnx.Tensor { return w.copies }

// join makes the table of another layer part of the site.
func (w *Waves) join(other *Waves) {
	t := other.table
	if !slices.Contains(w.copies, t.Tensor) && slices.Equal(t.Tensor.Dims, w.table.Tensor.Dims) && t.Axis == w.table.Axis && other.zero == w.zero && other.falling == w.falling {
		w.copies, w.Detected.Where = append(w.copies, t.Tensor), append(w.Detected.Where, other.Detected.Where...)
	}
}

// State is the data that meet the rows, once these were multiplied.
func (w *Waves) State() (*eval.Scope, string, int) {
	if w.data == "" {
		return nil, "", 0
	}
	return w.scope, w.data, 2
}

// Overlay tells an evaluator of the table's new shape.
func (w *Waves) Overlay(into map[*onnx.Tensor]*eval.Value) {
	if w.newRows == 0 {
		return
	}
	shape := make([]int, len(w.table.Tensor.Dims))
	for i, d := range w.table.Tensor.Dims {
		shape[i] = int(d)
	}
	shape[w.table.Axis] = w.newRows
	for _, t := range w.copies {
		into[t] = eval.Shaped(t.Type, shape...)
	}
	for i, d := 0, w.table.Dim(); w.filled && i < w.newRows; i++ {
		row := make([]float64, d)
		_ = w.rowOf(i, row) // was read before
		into[w.table.Tensor].Floats = append(into[w.table.Tensor].Floats, row...)
	}
}

// Store gives the table rows for further distances, by its formula, on each side that has any; what
// takes rows from it takes those as far from distance 0 as before.
func (w *Waves) Store(want position.Want) error {
	if want.Scheme != nil && !want.Scheme.Equal(w.Detected.Scheme) {
		return w.Other.Store(want)
	}
	more := want.Positions - w.reach()
	why := fmt.Sprintf("sines and cosines of distances below %d", want.Positions)
	before, behind := 0, 0
	if w.side(true) > 1 {
		before = more
	}
	if w.side(false) > 1 {
		behind = more
	}
	old := w.table.Len()
	w.newRows = old + before + behind
	rowOf := func(t rows.Table) rows.RowFunc {
		return func(i int, dst []float64) error {
			if i -= before; i >= 0 && i < old {
				return t.Row(i, dst)
			}
			distance := i - w.zero
			if w.falling {
				distance = -distance
			}
			w.formula(distance, dst)
			return nil
		}
	}
	for _, t := range w.copies {
		if err := w.graph.Resize(w.table.Of(t), w.newRows, 0, rowOf(w.table.Of(t)), why); err != nil {
			return err
		}
	}
	w.rowOf = rowOf(w.table)
	if err := w.shift(int64(before), why); err != nil || w.whole {
		return err
	}
	return w.same()
}

// same refuses a plan after which the graph takes other rows at the length at which it was evaluated.
func (w *Waves) same() error {
	if w.tooLarge() {
		return nil
	}
	w.filled = true
	defer func() { w.filled = false }()
	e := w.graph.Evaluator(probe.Inputs(w.graph.File, w.graph.Sizes))
	e.Adjust = func(_ *eval.Scope, n *onnx.Node, inputs []*eval.Value) { w.Adjust(n, inputs) }
	w.Overlay(e.Overlay)
	e.Run()
	was, is := w.scope.Value(w.name), e.Scopes()[w.scope.Index()].Value(w.name)
	if !is.Known() || !slices.Equal(was.Shape, is.Shape) || !slices.Equal(was.Floats, is.Floats) {
		return &position.Refusal{Why: fmt.Sprintf("how the graph takes rows from %q is not understood: with more of them it would take others", w.graph.TensorName(w.table.Tensor)), Instead: "export the model for the wanted length"}
	}
	return nil
}

// Keeps refuses a plan after which a distance has another vector at the length at which the graph was evaluated, which evaluate does with it.
func (w *Waves) Keeps(evaluate func() *eval.Evaluator) error {
	if !w.whole || w.newRows == 0 || w.tooLarge() {
		return nil
	}
	w.filled = true
	defer func() { w.filled = false }()
	return w.pairs.Keeps(evaluate(), w.table.Tensor)
}

// tooLarge reports whether the rows are more than are computed to see which of them the graph takes.
func (w *Waves) tooLarge() bool {
	return w.newRows*w.table.Dim() > maxComputed || w.table.Outer() != 1
}

// maxComputed bounds the elements of a table that is computed to see which rows the graph takes.
const maxComputed = 1 << 25

// Grown is how many rows the table has in the file, and after Store.
func (w *Waves) Grown() (before, after int) { return w.table.Len(), w.newRows }

// shift makes nodes that take rows by number count the new rows before those they took.
func (w *Waves) shift(before int64, why string) error {
	w.shifts = map[*onnx.Node]*shift{}
	e := w.graph.Evaluator(probe.Inputs(w.graph.File, w.graph.Sizes))
	w.Overlay(e.Overlay)
	e.Run()
	for i, s := range w.graph.Eval.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !slices.Contains(w.copies, s.Tensor(n.Input(0))) || n.Op != "Slice" && n.Op != "Gather" {
				continue
			}
			if len(n.Inputs) < 2 { // before opset 10
				return w.refuse(n, "takes rows by attributes")
			}
			sh, err := w.shiftOf(s, e.Scopes()[i], n, before)
			if err != nil {
				return err
			}
			if w.shifts[n] = sh; sh.by == 0 {
				continue
			}
			if s != w.graph.Eval.Main {
				return w.refuse(n, "stands in a function or branch")
			}
			for place := 1; place < min(len(n.Inputs), 3); place++ {
				w.add(s, n, place, sh, why)
			}
		}
	}
	return nil
}

// add puts an Add of a constant before an input of a node that counts rows.
func (w *Waves) add(s *eval.Scope, n *onnx.Node, place int, sh *shift, why string) {
	v := s.Value(n.Input(place))
	by := make([]int64, v.Len())
	for k := range by {
		if n.Op == "Gather" || k == sh.axis {
			by[k] = sh.by
		}
	}
	var dims []int64
	for _, d := range v.Shape {
		dims = append(dims, int64(d))
	}
	if n.Op == "Gather" {
		by, dims = by[:1], nil
	}
	raw, _ := onnx.EncodeInts(v.Type, by, nil) // indices are of 32 or 64 bits
	l := &bydistance.Index{In: w.graph, Graph: n.Graph, At: n.Input(place), Why: why}
	l.Step("Add", w.graph.AddInitializer(n.Graph, "modelpatch/rows_before", v.Type, dims, raw, why))
	w.graph.InsertNodes(n, l.Nodes, why)
	w.graph.RenameInput(n, place, l.At, why)
}

// shiftOf is by how much the rows that a node takes stand further, less what the graph itself adds
// where it reads how many rows there are.
func (w *Waves) shiftOf(old, new *eval.Scope, n *onnx.Node, before int64) (*shift, error) {
	sh := &shift{}
	if n.Op == "Gather" && bydistance.GatherAxis(n, w.table.Tensor) != w.table.Axis {
		return sh, nil
	}
	if n.Op == "Slice" {
		axes := trace.ListOf(old, n, "axes", 3)
		sh.axis = w.table.Axis
		if axes != nil {
			sh.axis = -1
		}
		for k, a := range axes {
			if int(a) == w.table.Axis || int(a)+len(w.table.Tensor.Dims) == w.table.Axis {
				sh.axis = k
			}
		}
		if sh.axis < 0 {
			return sh, nil // cuts columns
		}
	}
	for place := 1; place < min(len(n.Inputs), 3); place++ {
		was, is := old.Value(n.Input(place)), new.Value(n.Input(place))
		if !was.Known() || !is.Known() || was.Ints == nil || is.Ints == nil || sh.axis >= len(was.Ints) || len(was.Ints) != len(is.Ints) {
			return nil, w.refuse(n, "takes rows by numbers that are not known")
		}
		from, to := was.Ints[sh.axis], is.Ints[sh.axis]
		if from < 0 || from > int64(w.table.Len()) {
			return nil, w.refuse(n, fmt.Sprintf("takes rows up to %d of %d, counted from the end", from, w.table.Len()))
		}
		by := before - (to - from)
		if place > 1 && by != sh.by {
			return nil, w.refuse(n, "takes rows of which the first and the last do not move alike")
		}
		sh.by = by
	}
	return sh, nil
}

func (w *Waves) refuse(n *onnx.Node, why string) error {
	return &position.Refusal{Why: fmt.Sprintf("%s %s", n.Title(), why), Instead: "export the model for the wanted length"}
}

// Adjust tells an evaluator what is added to the rows' numbers.
func (w *Waves) Adjust(n *onnx.Node, inputs []*eval.Value) {
	sh := w.shifts[n]
	if sh == nil || sh.by == 0 {
		return
	}
	for place := 1; place < min(len(inputs), 3); place++ {
		v := inputs[place]
		if v == nil || !v.Known() || v.Ints == nil {
			continue
		}
		moved := make([]int64, len(v.Ints))
		for k, x := range v.Ints {
			if moved[k] = x; n.Op == "Gather" || k == sh.axis {
				moved[k] += sh.by
			}
		}
		inputs[place] = eval.IntValue(v.Type, v.Shape, moved)
	}
}

// Follows refuses a planned graph in which a node takes rows that the table does not have.
func (w *Waves) Follows(e *eval.Evaluator) error {
	for n, sh := range w.shifts {
		for place := 1; place < min(len(n.Inputs), 3); place++ {
			v := e.Main.Value(n.Input(place))
			if !v.Known() || sh.axis >= len(v.Ints) || n.Op == "Gather" && len(v.Ints) == 0 {
				continue
			}
			if at := v.Ints[sh.axis] + sh.by; at < 0 || at > int64(w.newRows) {
				return w.refuse(n, fmt.Sprintf("takes rows from %d on, of %d", at, w.newRows))
			}
		}
	}
	return nil
}
