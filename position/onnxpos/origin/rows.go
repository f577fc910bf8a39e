package origin

import (
	"math"
	"math/bits"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Bounds of what is asked row by row: axes of a constant that are tried, and bits of the
// numbers of their rows.
const (
	rowAxes = 4
	rowBits = 24
)

// rowPattern are scattered numbers of which those of rows along an axis are others: the
// rows whose number has a bit, or those whose number has not.
func rowPattern(t *onnx.Tensor, kind int) eval.Pattern {
	with, bit, axis := kind%2 == 1, kind/2%rowBits, kind/2/rowBits
	if axis >= len(t.Dims) {
		return pattern(t, small)
	}
	inner, n := int64(onnx.Size(t.Dims[axis+1:])), t.Dims[axis]
	return func(i int64) float64 {
		if inner > 0 && n > 0 && (i/inner%n>>bit&1 == 1) == with {
			return smaller(t, scatter(i*7+3)+0.5)
		}
		return smaller(t, scatter(i))
	}
}

// rows maps a value over one constant row by row: each element must change with one of the
// rows whose number has a bit and those whose has not, for every bit. There is a map for each axis along which elements are of one row: for
// two where each is made of one element (a table behind a Tanh).
func (m *Maps) rows(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor) (found []*Origin) {
	if len(t.Dims) < 2 {
		return nil
	}
	if m.numbers(s, name, v, t, scattered) == nil {
		return nil // more than is computed: a trial for each bit would come to no more
	}
	base := m.numbers(s, name, v, t, small)
	if base == nil {
		return nil
	}
	for axis := range min(len(t.Dims), rowAxes) {
		if n := t.Dims[axis]; n < 2 || n > 1<<rowBits {
			continue
		}
		if o := m.rowsAlong(s, name, v, t, axis, base); o != nil {
			found = append(found, o)
		}
	}
	return found
}

func (m *Maps) rowsAlong(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor, axis int, base []float64) *Origin {
	o := &Origin{Tensor: t, At: make([]int, len(base)), Axis: axis}
	for bit := range bits.Len64(uint64(t.Dims[axis] - 1)) {
		kind := rowTrials + 2*(axis*rowBits+bit)
		without, with := m.numbers(s, name, v, t, kind), m.numbers(s, name, v, t, kind+1)
		if without == nil || with == nil {
			return nil
		}
		for i := range base {
			a, b := without[i] != base[i], with[i] != base[i]
			switch {
			case o.At[i] < 0 && (a || b), a && b, bit > 0 && o.At[i] >= 0 && !a && !b:
				return nil // of several rows
			case b:
				o.At[i] |= 1 << bit
			case !a:
				o.At[i] = -1
			}
		}
	}
	for _, row := range o.At {
		if row >= int(t.Dims[axis]) {
			return nil
		}
		if row >= 0 {
			return o
		}
	}
	return nil
}

// betweenError is how far what weights make of halves may lie from a half: weights in float32, of some rows.
const betweenError = 1e-5

// between reports whether all numbers of a value are means of numbers of a constant, with weights that no number of it changes: rows between rows.
func (m *Maps) between(s *eval.Scope, name string, v *eval.Value, t *onnx.Tensor) bool {
	zero, scatters, halves := m.numbers(s, name, v, t, zeros), m.numbers(s, name, v, t, scattered), m.numbers(s, name, v, t, small)
	if zero == nil || scatters == nil || halves == nil || !t.Type.IsFloat() {
		return false
	}
	for i := range zero {
		if zero[i] != 0 || math.Abs(halves[i]-(scatters[i]/scatterSize-0.5)) > betweenError { // one half is one half of all weights
			return false
		}
	}
	return true
}

// Planned asks an evaluation of the same graph, in which constants are planned to become
// others, which of their rows a value's elements are copies of.
type Planned struct {
	maps   *Maps
	eval   *eval.Evaluator
	axis   map[*onnx.Tensor]int // along which rows stand
	trials map[trial]*eval.Evaluator
}

// Planned prepares the questions about constants whose rows stand along the given axes.
func (m *Maps) Planned(e *eval.Evaluator, axis map[*onnx.Tensor]int) *Planned {
	return &Planned{maps: m, eval: e, axis: axis, trials: map[trial]*eval.Evaluator{}}
}

// Rows is, for each element of a value, the row of a constant that it is a copy of: −1 for
// none. It returns nil where the value is too large or more than a copy.
func (p *Planned) Rows(s *eval.Scope, name string, t *onnx.Tensor) (rows []int, v *eval.Value) {
	numbers := func(kind int) []float64 {
		at := p.run(t, kind).Like(s)
		if at == nil {
			return nil
		}
		if v = at.Value(name); !v.Known() {
			return nil
		}
		return v.Floats
	}
	zero, one, row, again := numbers(zeros), numbers(ones), numbers(numbered), numbers(scattered)
	if len(zero) == 0 || len(one) != len(zero) || len(row) != len(zero) || len(again) != len(zero) {
		return nil, nil
	}
	rows = make([]int, len(row))
	for i := range row {
		c := one[i] - zero[i]
		if c == 0 {
			rows[i] = -1
			continue
		}
		k := math.Round((row[i] - zero[i]) / c)
		of := func(number, x float64) bool { return math.Abs(c*number+zero[i]-x) <= wholeTolerance*math.Abs(c) }
		if !of(k, row[i]) || !of(scatter(int64(k)), again[i]) { // what is normalised, say
			return nil, nil
		}
		rows[i] = int(k)
	}
	if other := numbers(small); slices.Max(rows) < 0 && !slices.Equal(other, zero) { // where all numbers of a row are one, nothing is left of it: normalised, too
		return nil, nil
	}
	return rows, v
}

// run is Maps.run, of rows: an element's number is that of its row.
func (p *Planned) run(t *onnx.Tensor, kind int) *eval.Evaluator {
	key := trial{class: p.maps.class[t], kind: kind}
	if e := p.trials[key]; e != nil {
		return e
	}
	patterns := map[*onnx.Tensor]eval.Pattern{}
	for _, t := range p.maps.of[key.class] {
		axis, asked := p.axis[t]
		shape := p.eval.Shape(t)
		if p.maps.class[t] != key.class || !asked || axis >= len(shape) {
			continue
		}
		if kind != numbered && kind != scattered {
			patterns[t] = pattern(t, kind)
			continue
		}
		inner, n := int64(onnx.Size(shape[axis+1:])), int64(shape[axis])
		patterns[t] = func(i int64) float64 {
			row := i / max(inner, 1) % max(n, 1)
			if kind == scattered {
				return scatter(row)
			}
			return float64(row)
		}
	}
	e := p.eval.Substitute(patterns)
	p.trials[key] = e
	return e
}
