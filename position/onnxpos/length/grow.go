package length

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// maxRead bounds the elements of a constant that is read to be grown.
const maxRead = 1 << 22

// numbers reads a whole constant for growing.
func numbers(t *onnx.Tensor) []float64 {
	if t.Len() > maxRead {
		return nil
	}
	x, err := t.Floats(0, t.Len())
	if err != nil {
		return nil
	}
	return x
}

// growLine extends a buffer along one axis: what counts goes on counting, what
// repeats itself goes on repeating. Pairs of indices do one or the other in
// each element.
func (c *Change) growLine(t *onnx.Tensor, axis, n int) *plannedConstant {
	old := int(t.Dims[axis])
	outer, inner := onnx.Size(t.Dims[:axis]), onnx.Size(t.Dims[axis+1:])
	if n == old || old < 2 {
		return nil
	}
	x := numbers(t)
	if x == nil {
		return nil
	}
	dims := slices.Clone(t.Dims)
	dims[axis] = int64(n)
	angles := sync.OnceValue(func() bool { return onlyAngles(c.Graph, t) })
	lines := make([]line, 0, outer*inner)
	for o := range outer {
		for k := range inner {
			goesOn, ok := lineOf(t.Type, angles, old, func(i int) float64 { return x[(o*old+i)*inner+k] })
			if !ok || t.Type.IsFloat() && goesOn.step == 0 && c.isPartOfSide(goesOn.first) {
				return nil
			}
			lines = append(lines, goesOn)
		}
	}
	if !t.Type.IsFloat() && runsOn(lines, inner, old) {
		for i := range lines {
			lines[i].first = lines[i%inner].first + float64(i/inner*n)
		}
	}
	if !c.holds(t, dims, outer, n, inner) {
		return nil
	}
	return &plannedConstant{dims: dims, why: fmt.Sprintf("buffer of %d positions", n), fill: rows.LineFill(n, inner, func(l, i int) float64 { return lines[l].at(i) })}
}

// runsOn reports whether lines count on where the one before ends: places of several sequences that lie behind one another.
func runsOn(lines []line, inner, length int) bool {
	for i, l := range lines {
		if l.kind != counts || l.step != 1 || l.first != lines[i%inner].first+float64(i/inner*length) {
			return false
		}
	}
	return len(lines) > inner
}

// holds reports whether a grown constant is not larger than files can be, and notes
// where it is.
func (c *Change) holds(t *onnx.Tensor, dims []int64, sizes ...int) bool {
	if rows.FitsBuffer(t, sizes...) {
		return true
	}
	if c.large != nil && *c.large == "" {
		*c.large = fmt.Sprintf("the constant %q of %v would become one of %v, more than the 2 GiB that a file can have", c.Graph.TensorName(t), t.Dims, dims)
	}
	return false
}

// line is how the elements of a line go on.
type line struct {
	kind        lineKind
	first, step float64
}

type lineKind uint8

const (
	counts      lineKind = iota // first + i·step
	frequencies                 // i·step in float32
	wavelengths                 // i/step in float32
	begins                      // first once, then step: where a sequence begins, as a recurrence asks
)

func (l line) at(i int) float64 {
	switch l.kind {
	case frequencies:
		return float64(float32(i) * float32(l.step))
	case wavelengths:
		return float64(float32(i) / float32(l.step))
	case begins:
		if i > 0 {
			return l.step
		}
		return l.first
	}
	return l.first + l.step*float64(i)
}

// leastBegun is the least length at which a first number of its own is told from numbers that differ.
const leastBegun = 4

// lineOf is how the elements of a line go on: by counting, by staying what they
// are, or, if they are angles, as positions from 0 times a frequency or over a
// wavelength as float32 programs compute it; not ok if they do none of that. Parts of
// the length itself, as positions of a line from 0 to 1 or weights of a mean are,
// do not go on.
func lineOf(t onnx.DataType, angles func() bool, n int, value func(i int) float64) (line, bool) {
	follows := func(l line) bool {
		for i := range n {
			if value(i) != l.at(i) {
				return false
			}
		}
		return true
	}
	step := value(1) - value(0)
	if rule := (line{counts, value(0), step}); (step == 0 || step == 1) && follows(rule) {
		if t.IsFloat() && step == 0 && weighs(value(0), n) {
			return line{}, false
		}
		return rule, true
	}
	if rule := (line{begins, value(0), value(1)}); n >= leastBegun && follows(rule) && !(t.IsFloat() && weighs(value(1), n)) {
		return rule, true
	}
	if t != onnx.Float || value(0) != 0 || n < 3 || partOf(step, math.Pi, n) || partOf(step, math.Pi, n-1) || !angles() {
		return line{}, false
	}
	frequency := float32(step)
	if rule := (line{kind: frequencies, step: float64(frequency)}); follows(rule) {
		return rule, true
	}
	wavelength := math.Float32bits(1 / frequency)
	for off := -2; off <= 2; off++ { // the frequency is rounded
		w := math.Float32frombits(uint32(int(wavelength) + off))
		if rule := (line{kind: wavelengths, step: float64(w)}); follows(rule) {
			return rule, true
		}
	}
	return line{}, false
}

// weighs reports whether a number is the weight of one of n positions, or of the
// others: 1/n, 1/(n−1), what they leave of 1, or their negatives.
func weighs(x float64, n int) bool {
	for _, m := range []float64{float64(n), float64(n - 1)} {
		for _, w := range []float64{1 / m, 1 - 1/m} {
			if m > 2 && math.Abs(math.Abs(x)-w) <= 1e-6*w {
				return true
			}
		}
	}
	return false
}

// isPartOfSide reports whether a number is the weight of a patch along a side of the picture.
func (c *Change) isPartOfSide(x float64) bool {
	return c.Image != [2]int{} && (weighs(x, c.grids[0][0]) || weighs(x, c.grids[0][1]))
}

// partOf reports whether n steps make the whole, or some of it.
func partOf(step, whole float64, n int) bool {
	times := step * float64(n) / whole
	return step < whole && times > 0.5 && math.Abs(times-math.Round(times)) < 1e-5
}

// IsRelative reports whether waves of a fixed length n have positions that are
// parts of that length, or are counted from its middle: they do not go on.
func IsRelative(wave schemes.Sinusoid, n int) bool {
	if n == 0 {
		return false
	}
	f := wave.Frequencies
	parts := wave.Base == 0 && len(f) > 0 && (partOf(f[0], math.Pi, n) || partOf(f[0], math.Pi, n-1) || partOf(f[0], math.Pi, n+1))
	return parts || wave.Start < 0
}

// Operators through which angles go to their sines, and those that make angles of
// positions and frequencies.
const (
	anglesWay = eval.Layout | eval.Repetition | eval.Joining | eval.Selection
	products  = eval.Scaling | eval.Product
)

// allKnown reports whether a node works on nothing but known numbers.
func allKnown(s *eval.Scope, n *onnx.Node) bool {
	return !slices.ContainsFunc(n.Inputs, func(in string) bool { return in != "" && !s.Value(in).Known() })
}

// onlyAngles reports whether a constant goes to Sin and Cos, and nowhere else.
func onlyAngles(m *site.Graph, t *onnx.Tensor) bool {
	found := false
	for _, s := range m.Eval.Scopes() {
		var queue []string
		for _, n := range s.Graph.Nodes {
			for _, in := range n.Inputs {
				if in != "" && s.Tensor(in) == t && !slices.Contains(queue, in) {
					queue = append(queue, in)
				}
			}
		}
		for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
			for _, n := range s.Consumers(queue[i]) {
				switch {
				case n.Op == "Sin" || n.Op == "Cos":
					found = true
				case n.Op == "Shape":
				case !eval.Is(n, anglesWay) && !(eval.Is(n, products) && allKnown(s, n)):
					return false
				case !slices.Contains(queue, n.Output(0)):
					queue = append(queue, n.Output(0))
				}
			}
		}
	}
	return found
}

// growSquare extends a mask whose value depends on the distance of query and
// key alone.
func (c *Change) growSquare(t *onnx.Tensor, axes []int, n int) *plannedConstant {
	old := int(t.Dims[axes[0]])
	if axes[1] != axes[0]+1 || axes[1] != len(t.Dims)-1 || n == old {
		return nil
	}
	x := numbers(t)
	outer := onnx.Size(t.Dims[:axes[0]])
	if x == nil {
		return nil
	}
	dims := slices.Clone(t.Dims)
	dims[axes[0]], dims[axes[1]] = int64(n), int64(n)
	matrices := make([]byDistances, outer)
	counted := false
	for o := range outer {
		m := x[o*old*old : (o+1)*old*old]
		d := distancesOf(m, old)
		for q := range old {
			for k := range old {
				if v := m[q*old+k]; v != d.at(k-q) && !(math.IsNaN(v) && math.IsNaN(d.at(k-q))) {
					return nil
				}
			}
		}
		// Beyond the old distances a mask's last value goes on: it has come to
		// rest there. Distances themselves go on counting. What buckets or a
		// bias go on with, a few equal values at the end do not tell.
		d.step, d.counts = counting(d.at, old)
		if counted = d.counts; !counted && !(twoValues(m) && atRest(d.at, old)) || t.Type.IsFloat() && slices.ContainsFunc(m, func(x float64) bool { return weighs(x, old) }) {
			return nil
		}
		matrices[o] = d
	}
	if !c.holds(t, dims, outer, n, n) {
		return nil
	}
	p := &plannedConstant{dims: dims, why: fmt.Sprintf("mask of %d×%d positions, which goes on as it ended", n, n),
		fill: rows.SquareFill(n, func(o, distance int) float64 { return matrices[o].onward(distance) })}
	if counted {
		p.why = fmt.Sprintf("distances of %d×%d positions", n, n)
	}
	return p
}

// byDistances is a square matrix whose elements depend on the distance of key and
// query: those at distances from 1 − n to n − 1.
type byDistances struct {
	values []float64
	counts bool // they count up or down by step
	step   float64
}

// distancesOf reads a matrix of n by n in its first row and column.
func distancesOf(m []float64, n int) byDistances {
	d := byDistances{values: make([]float64, 2*n-1)}
	for i := range n {
		d.values[n-1-i], d.values[n-1+i] = m[i*n], m[i]
	}
	return d
}

// at is the value at a distance, that at the last one beyond.
func (d byDistances) at(distance int) float64 {
	n := (len(d.values) + 1) / 2
	return d.values[n-1+min(max(distance, 1-n), n-1)]
}

// onward is the value at a distance as it goes on.
func (d byDistances) onward(distance int) float64 {
	if d.counts {
		return d.at(0) + d.step*float64(distance)
	}
	return d.at(distance)
}

// atRest reports whether values at distances of fewer than n positions change at
// most once on either side, and not at the last: what changed twice may again.
func atRest(at func(distance int) float64, n int) bool {
	for _, way := range []int{-1, 1} {
		changes := 0
		for d := 1; d < n; d++ {
			a, b := at(way*d), at(way*(d-1))
			if a == b || math.IsNaN(a) && math.IsNaN(b) {
				continue
			}
			if changes++; changes > 1 || d == n-1 {
				return false
			}
		}
	}
	return true
}

// twoValues reports whether a matrix says no more than yes and no.
func twoValues(m []float64) bool {
	other, found := 0.0, false
	for _, v := range m {
		switch {
		case v == m[0] || math.IsNaN(v) && math.IsNaN(m[0]):
		case !found:
			other, found = v, true
		case v != other && !(math.IsNaN(v) && math.IsNaN(other)):
			return false
		}
	}
	return true
}

// counting reports whether the values at distances of fewer than n positions
// count up or down by one from distance to distance.
func counting(at func(distance int) float64, n int) (step float64, ok bool) {
	step = at(1) - at(0)
	if n < 3 || step != 1 && step != -1 {
		return 0, false
	}
	for d := 1 - n; d < n; d++ {
		if at(d) != at(0)+step*float64(d) {
			return 0, false
		}
	}
	return step, true
}

// growBuckets extends matrices of T5's buckets, or of biases by them, where those
// of all new distances were seen; nil if they are none.
func (c *Change) growBuckets(t *onnx.Tensor, n int) *plannedConstant {
	k := len(t.Dims)
	old := int(t.Dims[k-1])
	x := numbers(t)
	outer := onnx.Size(t.Dims[:k-2])
	if x == nil {
		return nil
	}
	heads := make([][][]float64, outer)
	for h := range heads {
		heads[h] = make([][]float64, old)
		for q := range old {
			at := (h*old + q) * old
			heads[h][q] = x[at : at+old]
		}
	}
	folded, ok := relative.FoldedBucketsIn(heads)
	if !ok {
		return nil
	}
	dims := append([]int64(nil), t.Dims...)
	dims[k-2], dims[k-1] = int64(n), int64(n)
	if !c.holds(t, dims, outer, n, n) {
		return nil
	}
	like, ok := folded.Likeness(n)
	if !ok {
		return nil
	}
	matrices := make([]byDistances, outer)
	for o := range matrices {
		matrices[o] = distancesOf(x[o*old*old:(o+1)*old*old], old)
	}
	return &plannedConstant{dims: dims, why: fmt.Sprintf("buckets of %d×%d positions", n, n),
		fill: rows.SquareFill(n, func(o, distance int) float64 { return matrices[o].at(like[distance+n-1]) })}
}
