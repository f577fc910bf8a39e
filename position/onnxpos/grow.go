package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// maxBuffer bounds the elements of a mask that is made in memory.
const maxBuffer = 1 << 28

// numbers reads a whole constant for growing.
func numbers(t *onnx.Tensor) []float64 {
	if t.Len() > maxBuffer/64 {
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
func (c *lengthChange) growLine(t *onnx.Tensor, axis, n int) *plannedConstant {
	x := numbers(t)
	old := int(t.Dims[axis])
	outer, inner := sizeOf(t.Dims[:axis]), sizeOf(t.Dims[axis+1:])
	if x == nil || n <= old || old < 2 || int64(outer)*int64(n)*int64(inner) > maxBuffer {
		return nil
	}
	dims := slices.Clone(t.Dims)
	dims[axis] = int64(n)
	out := make([]float64, outer*n*inner)
	angles := sync.OnceValue(func() bool { return c.m.onlyAngles(t) })
	for o := range outer {
		for k := range inner {
			goesOn := lineOf(t.Type, angles, old, func(i int) float64 { return x[(o*old+i)*inner+k] })
			if goesOn == nil {
				return nil
			}
			for i := range n {
				out[(o*n+i)*inner+k] = goesOn(i)
			}
		}
	}
	return planned(t, dims, out, fmt.Sprintf("buffer of %d positions", n))
}

// lineOf is how the elements of a line go on: by counting, by staying what they
// are, or, if they are angles, as positions from 0 times a frequency or over a
// wavelength as float32 programs compute it; nil if they do none of that. Parts of
// the length itself, as positions of a line from 0 to 1 or weights of a mean are,
// do not go on.
func lineOf(t onnx.DataType, angles func() bool, n int, line func(i int) float64) func(i int) float64 {
	follows := func(rule func(i int) float64) bool {
		for i := range n {
			if line(i) != rule(i) {
				return false
			}
		}
		return true
	}
	step := line(1) - line(0)
	if rule := func(i int) float64 { return line(0) + step*float64(i) }; (step == 0 || step == 1) && follows(rule) {
		if t.IsFloat() && step == 0 && weighs(line(0), n) {
			return nil
		}
		return rule
	}
	if t != onnx.Float || line(0) != 0 || n < 3 || partOf(step, math.Pi, n) || partOf(step, math.Pi, n-1) || !angles() {
		return nil
	}
	frequency := float32(step)
	if rule := func(i int) float64 { return float64(float32(i) * frequency) }; follows(rule) {
		return rule
	}
	wavelength := math.Float32bits(1 / frequency)
	for off := -2; off <= 2; off++ { // the frequency is rounded
		w := math.Float32frombits(uint32(int(wavelength) + off))
		if rule := func(i int) float64 { return float64(float32(i) / w) }; follows(rule) {
			return rule
		}
	}
	return nil
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

// partOf reports whether n steps make the whole, or some of it.
func partOf(step, whole float64, n int) bool {
	times := step * float64(n) / whole
	return step < whole && times > 0.5 && math.Abs(times-math.Round(times)) < 1e-5
}

// anglesWay are operators through which angles go to their sines.
var anglesWay = map[string]bool{"Unsqueeze": true, "Squeeze": true, "Reshape": true, "Expand": true, "Transpose": true, "Cast": true, "Identity": true, "Concat": true, "Slice": true}

// products are operators that make angles of positions and frequencies.
var products = map[string]bool{"Mul": true, "Div": true, "MatMul": true, "Einsum": true}

// allKnown reports whether a node works on nothing but known numbers.
func allKnown(s *eval.Scope, n *onnx.Node) bool {
	return !slices.ContainsFunc(n.Inputs, func(in string) bool { return in != "" && !s.Value(in).Known() })
}

// onlyAngles reports whether a constant goes to Sin and Cos, and nowhere else.
func (m *Model) onlyAngles(t *onnx.Tensor) bool {
	found := false
	for _, s := range m.probe.Scopes() {
		var queue []string
		for _, n := range s.Graph.Nodes {
			for _, in := range n.Inputs {
				if in != "" && s.Tensor(in) == t && !slices.Contains(queue, in) {
					queue = append(queue, in)
				}
			}
		}
		for i := 0; i < len(queue) && i < maxTrace; i++ {
			for _, n := range s.Consumers(queue[i]) {
				switch {
				case n.Op == "Sin" || n.Op == "Cos":
					found = true
				case n.Op == "Shape":
				case !anglesWay[n.Op] && !(products[n.Op] && allKnown(s, n)):
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
func growSquare(t *onnx.Tensor, axes []int, n int) *plannedConstant {
	old := int(t.Dims[axes[0]])
	if axes[1] != axes[0]+1 || axes[1] != len(t.Dims)-1 || n <= old {
		return nil
	}
	x := numbers(t)
	outer := sizeOf(t.Dims[:axes[0]])
	if x == nil || int64(outer)*int64(n)*int64(n) > maxBuffer {
		return nil
	}
	dims := slices.Clone(t.Dims)
	dims[axes[0]], dims[axes[1]] = int64(n), int64(n)
	out := make([]float64, outer*n*n)
	counts := false
	for o := range outer {
		m := x[o*old*old : (o+1)*old*old]
		at := func(d int) float64 { // value at distance key − query
			d = min(max(d, 1-old), old-1)
			if d >= 0 {
				return m[d]
			}
			return m[-d*old]
		}
		for q := range old {
			for k := range old {
				if v := m[q*old+k]; v != at(k-q) && !(math.IsNaN(v) && math.IsNaN(at(k-q))) {
					return nil
				}
			}
		}
		// Beyond the old distances a mask's last value goes on: it has come to
		// rest there. Distances themselves go on counting. What buckets or a
		// bias go on with, a few equal values at the end do not tell.
		var step float64
		step, counts = counting(at, old)
		if !counts && !(twoValues(m) && atRest(at, old)) || t.Type.IsFloat() && slices.ContainsFunc(m, func(x float64) bool { return weighs(x, old) }) {
			return nil
		}
		for q := range n {
			for k := range n {
				if out[(o*n+q)*n+k] = at(k - q); counts {
					out[(o*n+q)*n+k] = at(0) + step*float64(k-q)
				}
			}
		}
	}
	if counts {
		return planned(t, dims, out, fmt.Sprintf("distances of %d×%d positions", n, n))
	}
	return planned(t, dims, out, fmt.Sprintf("mask of %d×%d positions, which goes on as it ended", n, n))
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

func planned(t *onnx.Tensor, dims []int64, x []float64, why string) *plannedConstant {
	p := &plannedConstant{dims: dims, why: why}
	if t.Type.IsFloat() {
		p.floats = x
		return p
	}
	p.ints = make([]int64, len(x))
	for i := range x {
		p.ints[i] = int64(x[i])
	}
	return p
}
