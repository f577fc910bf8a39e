package rotary

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/position/onnxpos/turning"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

func (r *Site) describeRuntime(e *position.Encoding) {
	use := r.uses[0]
	for _, t := range r.trig {
		e.Where = append(e.Where, report.Where{Node: t.Trig.Title()})
	}
	if axis := trace.PositionAxis(use.cosValue); axis >= 0 && len(r.trig) > 0 && r.m.ImageInput() != nil && !slices.ContainsFunc(r.trig, func(t trace.Source) bool { return trace.Stored(t.Scope, t.Trig.Input(0)) == nil }) {
		e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, use.cosValue.Shape[axis]
	}
	if r.gridInUse(e, TrigPrecision(r.trig)) {
		return
	}
	frequencies, positions := r.frequencies(use)
	if frequencies == nil {
		r.scheme = schemes.Rotary{Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
		if cos, sin := turning.Given(use.scope, use.cos), turning.Given(use.scope, use.sin); cos != nil && sin != nil {
			if use.position != "" && cos.Dims[0].Value > 0 { // rows of the operator's
				e.Capacity, e.Beyond = int(cos.Dims[0].Value), report.BeyondError
			}
			r.scheme.Given, r.scheme.Dim = true, 2*r.pairsOf(use)
			e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("the caller gives cosines and sines in %q and %q: their base and scaling are in no file", cos.Name, sin.Name)})
		}
		return
	}
	if positions > 0 {
		e.Form, e.Beyond, e.Capacity = report.FormBaked, report.BeyondError, max(e.Capacity, positions) // an angle may be of one row or column
	}
	r.amplitude = 1
	if axis := trace.PositionAxis(use.cosValue); axis >= 0 && !r.decays(use) {
		r.amplitude = amplitudeOf(use.cosValue, use.sinValue)
		if f := r.factor(); f > 0 {
			if r.amplitude *= f; math.Abs(r.amplitude-1) < amplitudeTolerance { // one undoes the other
				r.amplitude = 1
			}
		}
	}
	if ofFewBits(use.cosValue) && math.Abs(r.amplitude-1) < rows.CosTolerance {
		r.amplitude = 1
	}
	if r.decays(use) {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: "what it multiplies with grows or shrinks from position to position as well (xPos), by numbers that are not read"})
	}
	if r.describeAxes(e, use) {
		return
	}
	if pairs := r.pairsOf(use); pairs > 0 && (pairs != len(frequencies) || !r.steps()) {
		r.scheme = schemes.Rotary{Dim: 2 * pairs, Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "no angles of one list of frequencies that each position turns by"})
		return
	}
	result := r.explained(frequencies)
	r.scheme = result.Rotary
	long, original, switched := r.switched(frequencies)
	switch {
	case switched:
		const base = 10000.0 // lists of factors are relative to it (contract of the report)
		r.scheme = schemes.Rotary{Base: base, Dim: 2 * len(frequencies), Scaling: schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: original,
			AttentionFactor: r.amplitude, ShortFactor: factors(frequencies, base), LongFactor: factors(long, base), Frequencies: frequencies, LongFrequencies: long}}
		result.Residual, result.Also = 0, nil
	case r.varies(frequencies):
		r.scheme.Scaling = schemes.Scaling{Type: schemes.ScalingCustom, Frequencies: frequencies}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("the graph computes other frequencies for %d positions than for %d, as dynamic NTK scaling does: those of a short input are told", farthest, r.m.Sizes.Length)})
	case !result.OK:
		r.scheme = schemes.Rotary{Dim: 2 * len(frequencies), Scaling: schemes.Scaling{Type: schemes.ScalingCustom, Frequencies: frequencies}}
	}
	if s := &r.scheme.Scaling; s.LongFactor != nil && s.ShortFactor == nil {
		// One list of factors is what the graph computes at every length.
		s.ShortFactor, s.LongFactor = factors(frequencies, r.scheme.Base), nil
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "frequencies are " + r.scheme.String(), Residual: site.Residual(result.Residual)})
	for _, also := range result.Also {
		e.Also = append(e.Also, report.Reading{Scheme: also.Name(), Parameters: parameters.Of(also), Why: "it fits as well"})
	}
}

// amplitudeOf is what cosines and sines of one position were multiplied with: the first may be another than 0.
func amplitudeOf(cos, sin *eval.Value) float64 {
	amplitude := cos.Number(0)
	if sin.Known() && sin.Len() > 0 && sin.Number(0) != 0 {
		amplitude = math.Hypot(amplitude, sin.Number(0))
		if math.Abs(amplitude-1) < amplitudeTolerance {
			amplitude = 1
		}
	}
	return amplitude
}

// factor is the number that stands behind the products of all queries and keys, as an attention factor may; 0 where there
// is none but 1, or several.
func (r *Site) factor() float64 {
	f := r.uses[0].factor
	if f == 1 || slices.ContainsFunc(r.uses, func(u *rotation) bool { return u.factor != f }) {
		return 0
	}
	return f
}

// farthest is how many positions frequencies are compared at that hang on the length: they begin to at thousands.
const farthest = 1 << 15

// varies reports whether the graph makes its frequencies of the length: by a power or logarithm of it, at which they
// are others.
func (r *Site) varies(short []float64) bool {
	for _, t := range r.trig {
		if !ofLength(t.Scope, t.Trig.Input(0)) {
			continue
		}
		if f := r.frequenciesAt(t, farthest); len(f) == len(short) && maxOff(f, short) > rowsTolerance {
			return true
		}
	}
	return false
}

// ofLength reports whether a power or a logarithm of a size stands behind a value.
func ofLength(s *eval.Scope, name string) bool {
	queue, seen := []string{name}, map[string]bool{}
	powers := false
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if n.Op == "Shape" {
			if powers {
				return true
			}
			continue
		}
		powers = powers || n.Op == "Pow" || n.Op == "Log"
		queue = append(queue, trace.DataInputs(n)...)
	}
	return false
}

// decays reports whether what a rotation multiplies with grows or shrinks from position to position (xPos, Sun et al.
// 2022, eq. 12): cosines and sines are of no one amplitude.
func (r *Site) decays(u *rotation) bool {
	cos, sin := u.cosValue, u.sinValue
	if !cos.Known() || !sin.Known() || !slices.Equal(cos.Shape, sin.Shape) || cos.Len() == 0 || cos.Floats == nil {
		return false
	}
	least, most := math.Inf(1), 0.0
	for i := range cos.Len() {
		n := math.Hypot(cos.Number(i), sin.Number(i))
		least, most = min(least, n), max(most, n)
	}
	tolerance := amplitudeTolerance
	if ofFewBits(cos) {
		tolerance = rows.CosTolerance
	}
	return most-least > tolerance*most
}

// ofFewBits reports whether numbers are of a type of 16 bits, or were on their way.
func ofFewBits(v *eval.Value) bool {
	all := fit.Precisions(rows.Precision(v.Type), rows.Matrix{v.Floats})
	return all[len(all)-1].Step() > fit.Float32.Step()
}

// amplitudeTolerance is how much sines and cosines of one amplitude, computed in float32, seem to differ in it: that of
// xPos differs by more within two positions.
const amplitudeTolerance = 1e-4

// explained fits frequencies, with the error of the type in which they were stored.
func (r *Site) explained(frequencies []float64) fit.Result {
	o := fit.Options{Amplitude: r.amplitude, Step: storedStep(r.trig)}
	if o.Step > 0 {
		result := fit.InverseFrequencies(frequencies, fit.Float32, o)
		result.OK = result.OK && result.Rotary.Scaling.IsNone() // a ramp is not seen in so few steps
		return result
	}
	o.Computed = !slices.ContainsFunc(r.trig, func(t trace.Source) bool {
		return slices.ContainsFunc(trace.Sources(t.Scope, t.Trig.Input(0)), func(src trace.Source) bool { return src.Tensor != nil && src.Tensor.Len() > 1 })
	})
	return fit.Rounded(frequencies, TrigPrecision(r.trig), o)
}

// pairsOf is how many pairs of columns a rotation turns by cosines that are known, 0 where they
// are not.
func (r *Site) pairsOf(u *rotation) int {
	axis := trace.PositionAxis(u.cosValue)
	if axis < 0 {
		return 0
	}
	width := trace.Columns(u.cosValue, axis)
	if u.packed {
		return width
	}
	return width / 2
}

// steps reports whether the argument of each Cos and Sin grows by the same from position to position, or by as many times as much as positions
// lie apart.
func (r *Site) steps() bool {
	return !slices.ContainsFunc(r.trig, func(t trace.Source) bool {
		v := t.Scope.Value(t.Trig.Input(0))
		axis := trace.PositionAxis(v)
		if !v.Known() || v.Floats == nil || axis < 0 {
			return false
		}
		lines := trace.RowsOf(v, axis)
		if len(lines) < 3 || steady(lines) || steady(transposed(lines)) {
			return false
		}
		_, ok := multiples(lines)
		return !ok || r.grid() != nil // of a picture, whose places lie along several axes
	})
}

// gridInUse reads the cosines and sines by which an image's patches are turned,
// whatever the graph makes them of.
func (r *Site) gridInUse(e *position.Encoding, p fit.Precision) bool {
	use := r.uses[0]
	axis := trace.PositionAxis(use.cosValue)
	if axis < 0 || trace.PositionAxis(use.sinValue) != axis {
		return false
	}
	return r.describeGrid(e, rows.Matrix(trace.RowsOf(use.cosValue, axis)), rows.Matrix(trace.RowsOf(use.sinValue, axis)), p)
}

// storedStep is the step of frequencies that were stored in 8 bits, 0 where they were not.
func storedStep(nodes []trace.Source) float64 {
	for _, t := range nodes {
		for _, src := range trace.Sources(t.Scope, t.Trig.Input(0)) {
			if c := src.Tensor; c != nil && c.Len() > 1 && (c.Type == onnx.Int8 || c.Type == onnx.Uint8) && src.Scale > 0 {
				return src.Scale
			}
		}
	}
	return 0
}

// TrigPrecision is the coarsest storage that the angles of Cos and Sin nodes
// went through.
func TrigPrecision(nodes []trace.Source) fit.Precision {
	for _, t := range nodes {
		p := eval.Once(t.Scope, "precision of angles", t.Trig.Input(0), func() fit.Precision {
			for _, src := range trace.Sources(t.Scope, t.Trig.Input(0)) {
				if p := listPrecision(t.Scope, src.Tensor); p.Step() > fit.Float32.Step() {
					return p
				}
			}
			return anglePrecision(t)
		})
		if p != fit.Float32 {
			return p
		}
	}
	return fit.Float32
}

// AnglePrecision is the type of 16 bits to which the graph rounds angles before it takes their cosines and sines, "" where it rounds to none.
func (r *Site) AnglePrecision() string {
	for _, t := range r.trig {
		if p := anglePrecision(t); p != fit.Float32 {
			return string(p)
		}
	}
	return ""
}

// anglePrecision is the coarsest type that angles have on their way to a Cos or Sin, of floating point.
func anglePrecision(t trace.Source) fit.Precision {
	s, name := t.Scope, t.Trig.Input(0)
	for range maxToProduct {
		if v := s.Value(name); v.Type == onnx.Float16 || v.Type == onnx.BFloat16 {
			return rows.Precision(v.Type)
		}
		n, at := s.Find(name)
		if n == nil || !eval.Is(n, eval.Layout|eval.Repetition|eval.Selection) && n.Op != "Concat" {
			break
		}
		s, name = at, n.Input(0)
	}
	return fit.Float32
}

// maxToProduct bounds the nodes between the product of positions and frequencies and its Cos or Sin.
const maxToProduct = 16

// listPrecision is the coarsest precision of which all numbers of a list are, that of float32 where it is no list.
func listPrecision(s *eval.Scope, t *onnx.Tensor) fit.Precision {
	if t == nil || t.Len() < 2 || !t.Type.IsFloat() || t.Len() > maxList {
		return fit.Float32
	}
	s.Spend(1 + int(t.Len()))
	p := rows.Precision(t.Type)
	if x, err := t.Floats(0, t.Len()); err == nil {
		all := fit.Precisions(p, rows.Matrix{x})
		p = all[len(all)-1]
	}
	return p
}

// maxList bounds the numbers of a list of frequencies.
const maxList = 1 << 12

// switched finds a choice between two lists of frequencies by the length of the
// input, as exporters keep LongRoPE's (facts/ONNX-PATTERNS §4): the list that
// is not f, and the longest input for f.
func (r *Site) switched(f []float64) (long []float64, original int, ok bool) {
	for _, t := range r.trig {
		n, s := trace.Upstream(t.Scope, t.Trig.Input(0), "Where")
		if n == nil {
			continue
		}
		_, lists := listsOf(s, n, len(f))
		if len(lists) != 2 || slices.Equal(lists[0], lists[1]) {
			continue
		}
		long = lists[0]
		if off := maxOff(lists[0], f); off < maxOff(lists[1], f) {
			long = lists[1]
		}
		if original, ok = trace.Threshold(s, n.Input(0)); ok {
			return long, original, true
		}
	}
	tried := 0
	for _, t := range r.trig {
		r.m.Behind(t.Trig, func(n *onnx.Node) bool { // an If that chooses them
			if n.Op != "If" || tried == maxSwitches {
				return false
			}
			tried++
			at, is := trace.Threshold(r.m.Eval.Main, n.Input(0))
			if !is || at < r.m.Sizes.Length || at >= farthest {
				return false
			}
			short, far := r.frequenciesAt(t, at), r.frequenciesAt(t, farthest)
			if long = r.frequenciesAt(t, at+1); len(short) != len(f) || len(long) != len(f) || len(far) != len(f) || maxOff(short, f) > rowsTolerance || maxOff(far, long) > rowsTolerance {
				return false
			}
			original, ok = at, maxOff(long, f) > rowsTolerance
			return ok
		})
		if ok {
			return long, original, true
		}
	}
	return nil, 0, false
}

// maxSwitches bounds the choices that are asked: each is evaluated at lengths of its own.
const maxSwitches = 8

// frequenciesAt are those of so many positions.
func (r *Site) frequenciesAt(t trace.Source, length int) []float64 {
	e := r.m.At(length)
	if i := t.Scope.Index(); i < len(e.Scopes()) {
		t.Scope = e.Scopes()[i]
		t.Scope.Enlarge(t.Trig.Input(0))
	}
	f, _ := turnsOf(t)
	return f
}

// listsOf are the constants of n numbers that a Where chooses from, and their numbers.
func listsOf(s *eval.Scope, where *onnx.Node, n int) (tensors []*onnx.Tensor, lists [][]float64) {
	for _, name := range where.Inputs[min(1, len(where.Inputs)):] {
		for _, src := range trace.Sources(s, name) {
			if c := src.Tensor; c != nil && c.Type.IsFloat() && int(c.Len()) == n {
				if x, err := c.Floats(0, c.Len()); err == nil {
					tensors, lists = append(tensors, c), append(lists, x)
				}
			}
		}
	}
	return tensors, lists
}

// maxOff is the largest difference of two lists, relative to the second.
func maxOff(a, b []float64) (off float64) {
	for i := range a {
		off = max(off, math.Abs(a[i]-b[i])/math.Abs(b[i]))
	}
	return off
}

// frequencies reads the inverse frequencies off the argument of Cos: what it
// grows by from one position to the next. baked is the number of positions where the
// argument is a constant, else 0.
func (r *Site) frequencies(u *rotation) (f []float64, baked int) {
	for _, t := range slices.SortedStableFunc(slices.Values(r.trig), func(a, b trace.Source) int { return cmp.Compare(begins(a), begins(b)) }) {
		if f, positions := turnsOf(t); f != nil {
			if trace.Stored(t.Scope, t.Trig.Input(0)) != nil {
				return f, positions
			}
			return f, 0
		}
	}
	return nil, 0
}

// begins is the largest angle of the first position: where cosines are sines of a quarter turn more, the small ones say less beside that.
func begins(t trace.Source) (largest float64) {
	v := t.Scope.Value(t.Trig.Input(0))
	axis := trace.PositionAxis(v)
	if !v.Known() || v.Floats == nil || axis < 0 {
		return math.Inf(1)
	}
	for _, x := range trace.RowsOf(v, axis)[0] {
		largest = max(largest, math.Abs(x))
	}
	return largest
}

// turnsOf is what the argument of a Cos or Sin grows by from one position to the next, nil
// where that is not known, and how many positions it has.
func turnsOf(t trace.Source) (f []float64, positions int) {
	v := t.Scope.Value(t.Trig.Input(0))
	if !v.Known() || v.Floats == nil {
		return nil, 0
	}
	axis := trace.PositionAxis(v)
	if axis < 0 {
		return nil, 0
	}
	rows := trace.RowsOf(v, axis)
	if columns := transposed(rows); !steady(rows) && steady(columns) { // frequencies by positions
		rows = columns
	}
	if !steady(rows) {
		if f, ok := multiples(rows); ok {
			return fit.Undouble(forwards(f)), len(rows)
		}
	}
	f = make([]float64, len(rows[0]))
	for i := range f {
		f[i] = rows[1][i] - rows[0][i]
	}
	return fit.Undouble(forwards(f)), len(rows)
}

// forwards are frequencies with the signs of positions that count up: where they are counted from the end, all angles fall.
func forwards(f []float64) []float64 {
	if len(f) == 0 || slices.Max(f) >= 0 {
		return f
	}
	for i := range f {
		f[i] = -f[i]
	}
	return f
}

// multiples reads frequencies off angles of positions that do not count up by one (memories at 0 ahead of tokens, say): each row is the
// first one and so many times the least step as positions lie apart. The farthest row tells them best.
func multiples(rows [][]float64) (f []float64, ok bool) {
	fastest := 0
	for c, x := range rows[len(rows)-1] {
		if math.Abs(x-rows[0][c]) > math.Abs(rows[len(rows)-1][fastest]-rows[0][fastest]) {
			fastest = c
		}
	}
	step, far, most := 0.0, 0, 0.0
	for r := 1; r < len(rows); r++ {
		d := math.Abs(rows[r][fastest] - rows[r-1][fastest])
		if d > 0 && (step == 0 || d < step) {
			step = d
		}
		if d := math.Abs(rows[r][fastest] - rows[0][fastest]); d > most {
			far, most = r, d
		}
	}
	n := math.Round(most / step)
	if step == 0 || math.Abs(most/step-n) > rowsTolerance*n {
		return nil, false
	}
	for c, x := range rows[far] {
		f = append(f, (x-rows[0][c])/n)
	}
	for _, row := range rows {
		p := (row[fastest] - rows[0][fastest]) / f[fastest]
		for c, x := range row {
			if math.Abs(x-rows[0][c]-p*f[c]) > rowsTolerance*math.Abs(x) || math.Abs(p-math.Round(p)) > rowsTolerance {
				return nil, false
			}
		}
	}
	return f, true
}

// steady reports whether each column grows by the same from row to row.
func steady(rows [][]float64) bool {
	for r := 2; r < len(rows); r++ {
		for c, x := range rows[r] {
			step := rows[1][c] - rows[0][c]
			if math.Abs(x-rows[r-1][c]-step) > rowsTolerance*math.Abs(x) {
				return false
			}
		}
	}
	return len(rows) > 2
}

// rowsTolerance is how far a step may be off the first one, relative to the angle: some
// roundings of float16.
const rowsTolerance = 1e-2

func transposed(rows [][]float64) [][]float64 {
	out := make([][]float64, len(rows[0]))
	for c := range out {
		for _, row := range rows {
			out[c] = append(out[c], row[c])
		}
	}
	return out
}

// describeAxes reads a rotation whose pairs follow several axes of positions, each by
// cosines of its own that stand behind one another, with the frequencies of a rotation of
// as many pairs.
func (r *Site) describeAxes(e *position.Encoding, use *rotation) bool {
	var pairs []int
	base, total, all := 0.0, 0, r.pairsOf(use)
	for _, src := range trace.Sources(use.scope, use.cos) {
		if src.Trig == nil || src.Trig.Op != "Cos" {
			continue
		}
		if all > 0 && total >= all { // those of other places, which are joined to the first
			break
		}
		axes := axesOf(src)
		for _, f := range axes {
			found := fit.InverseFrequencies(f, TrigPrecision(r.trig), fit.Options{Amplitude: r.amplitude})
			if !found.OK || !found.Rotary.Scaling.IsNone() || base != 0 && len(f) > 1 && math.Abs(found.Rotary.Base-base) > sameFrequency*base {
				return false
			}
			if len(f) > 1 {
				base = found.Rotary.Base
			}
			pairs, total = append(pairs, len(f)), total+len(f)
		}
		if axes == nil {
			return false
		}
	}
	width := trace.Columns(use.cosValue, max(trace.PositionAxis(use.cosValue), 0))
	if len(pairs) < 2 || base == 0 || total != width && 2*total != width {
		return false
	}
	r.scheme = schemes.Rotary{Base: base, Dim: 2 * total, Sections: pairs, OwnFrequencies: true}
	if axis := trace.PositionAxis(use.cosValue); axis >= 0 && trace.PositionAxis(use.sinValue) == axis {
		r.places = [2]fit.Matrix{rows.Matrix(trace.RowsOf(use.cosValue, axis)), rows.Matrix(trace.RowsOf(use.sinValue, axis))}
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "pairs follow several axes of positions: " + r.scheme.String()})
	return true
}

// axesOf are the frequencies of each axis that the angles of a Cos follow, nil where they are not known.
func axesOf(t trace.Source) [][]float64 {
	f, _ := turnsOf(t)
	if f == nil {
		return nil
	}
	v := t.Scope.Value(t.Trig.Input(0))
	lines := trace.RowsOf(v, trace.PositionAxis(v))
	if steady(lines) || steady(transposed(lines)) {
		return [][]float64{f}
	}
	return axesIn(lines)
}

// axesIn are the frequencies of each axis in angles that do not grow by the same from place to place: columns side by side that are
// multiples of one another follow one axis.
func axesIn(lines [][]float64) (out [][]float64) {
	columns := transposed(lines)
	if half := len(columns) / 2; len(columns)%2 == 0 && slices.EqualFunc(columns[:half], columns[half:], slices.Equal) {
		columns = columns[:half] // each of the two halves that a pair has
	}
	for first := 0; first < len(columns); {
		var f []float64
		last := first
		for last < len(columns) {
			more, ok := multiples(transposed(columns[first : last+1]))
			if !ok {
				break
			}
			f, last = more, last+1
		}
		if last == first {
			return nil
		}
		out, first = append(out, fit.Undouble(f)), last
	}
	return out
}
