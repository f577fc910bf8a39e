package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// AxialResult is an explanation of cos and sin tables of image patches: some
// columns turn with the row of a patch, the others with its column
// (facts/NUMERICS §5).
type AxialResult struct {
	Rotary    schemes.Rotary // Grid set; the layout where duplicated columns tell it
	Amplitude float64
	Prefix    int     // rows ahead of the patches
	Turning   bool    // those rows turn, by angles of their own (MLCD's class token)
	Turn      float64 // the largest angle from patch to patch
	Start     float64 // of the first patch, in patches
	Residual  float64 // relative to the amplitude
}

// axialBases are the bases that models of images use: of Qwen2-VL, Pixtral and
// EVA-02, of DINOv3, and others that are tried where the columns are too few to
// compute one.
var axialBases = []float64{10000, 100, 1000, 10, 20, 50, 500, 5000, 100000, 500000, 1000000}

// AxialRotaryCache explains tables of cos and sin of the places of a grid, row after row (of rows and
// columns, or of frames, rows and columns), perhaps behind some rows that do not turn. It needs two
// pairs of one axis to tell the base; where columns turn each along one axis, and no base explains
// them, the scaling is custom.
func AxialRotaryCache(cos, sin Matrix, p Precision, grid []int) (AxialResult, bool) {
	n := 1
	for _, size := range grid {
		if size < 2 || n > cos.Rows() {
			return AxialResult{}, false
		}
		n *= size
	}
	if len(grid) < 2 || cos.Rows() < n || cos.Rows() != sin.Rows() || cos.Cols() != sin.Cols() || cos.Cols() < 4 {
		return AxialResult{}, false
	}
	ahead := cos.Rows() - n
	rows := make([]int, n)
	for i := range rows {
		rows[i] = ahead + i
	}
	for _, c := range columnOrders(cos, sin, rows) {
		t := &axial{grid: grid, stride: make([]int, len(grid)), groups: make([][]int, len(grid)), cells: n, pairs: c.pairs, precision: p,
			cos: func(cell, k int) float64 { return cos.At(ahead+cell, c.column(k)) },
			sin: func(cell, k int) float64 { return sin.At(ahead+cell, c.column(k)) },
		}
		for axis, stride := len(grid)-1, 1; axis >= 0; axis-- {
			t.stride[axis] = stride
			stride *= grid[axis]
		}
		if !t.measure() {
			continue
		}
		turning := false
		for r := range ahead { // class tokens
			for k := range cos.Cols() {
				c, s := cos.At(r, k), sin.At(r, k)
				if math.Abs(math.Hypot(c, s)-t.amplitude) > t.limit() {
					return AxialResult{}, false
				}
				turning = turning || math.Abs(c-t.amplitude) > t.limit() || math.Abs(s) > t.limit()
			}
		}
		out, ok := t.explain()
		if !ok {
			out = AxialResult{Amplitude: t.amplitude, Rotary: schemes.Rotary{Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}}
		}
		out.Prefix, out.Turning = ahead, turning
		out.Rotary.Layout, out.Rotary.Grid, out.Rotary.Dim = c.layout, grid, 2*t.pairs
		if t.twice {
			out.Rotary.Dim = t.pairs
		}
		var of []int
		for _, columns := range t.groups {
			of = append(of, len(columns))
		}
		if len(of) > 2 || of[0] != of[1] {
			out.Rotary.Sections, out.Rotary.OwnFrequencies = of, true
		}
		return out, true
	}
	return AxialResult{}, false
}

// axial are the columns of tables of a grid, each of which turns along one axis.
type axial struct {
	grid, stride []int
	cells        int
	pairs        int
	cos, sin     func(cell, k int) float64
	precision    Precision
	amplitude    float64
	groups       [][]int // columns that turn along each axis
	twice        bool    // the columns of an axis stand there twice (Gemma 4)
}

// limit is how far an entry may lie from what is expected.
func (t *axial) limit() float64 {
	return t.amplitude * (axialError + 2*entrySteps*t.precision.Step())
}

// axialError is the error of entries whose frequencies are measured over a few
// patches and extrapolated to faster columns.
const axialError = 1e-3

// measure finds the amplitude and which axis turns each column.
func (t *axial) measure() bool {
	c, s := t.cos(0, 0), t.sin(0, 0)
	t.amplitude = math.Hypot(c, s)
	if t.amplitude == 0 {
		return false
	}
	for k := range t.pairs {
		of := -1
		for cell := range t.cells {
			c, s := t.cos(cell, k), t.sin(cell, k)
			if !(math.Abs(math.Hypot(c, s)/t.amplitude-1) <= t.precision.circleError()+axialError) {
				return false
			}
			for axis, size := range t.grid {
				first := cell - cell/t.stride[axis]%size*t.stride[axis]
				switch {
				case first == cell || of == axis || !t.apart(c, t.cos(first, k)) && !t.apart(s, t.sin(first, k)):
				case of >= 0:
					return false
				default:
					of = axis
				}
			}
		}
		if of >= 0 {
			t.groups[of] = append(t.groups[of], k)
		}
	}
	least, most := t.pairs, 0
	t.twice = true
	for _, columns := range t.groups {
		least, most = min(least, len(columns)), max(most, len(columns))
		t.twice = t.twice && len(columns)%2 == 0
	}
	if least == 0 {
		return false
	}
	if t.twice = t.twice && t.repeats(); t.twice {
		for i, columns := range t.groups {
			t.groups[i] = columns[:len(columns)/2]
		}
	}
	return most >= 2
}

// apart reports whether two entries differ by more than rounding, which is finer
// for small ones.
func (t *axial) apart(a, b float64) bool {
	size := max(math.Abs(a), math.Abs(b), leastEntry*t.amplitude)
	return math.Abs(a-b) > 2*entrySteps*t.precision.Step()*size
}

// leastEntry is below what entries that should be zero may be, relative to the
// amplitude.
const leastEntry = 1e-3

// repeats reports whether the second half of each axis's columns is the first
// again.
func (t *axial) repeats() bool {
	for axis, columns := range t.groups {
		half := len(columns) / 2
		for i := range half {
			for at := range t.length(axis) {
				c, s := t.at(axis, at, columns[i])
				c2, s2 := t.at(axis, at, columns[half+i])
				if t.apart(c, c2) || t.apart(s, s2) {
					return false
				}
			}
		}
	}
	return true
}

func (t *axial) length(axis int) int { return t.grid[axis] }

// at is the cosine and sine of a column at a place along its axis.
func (t *axial) at(axis, at, k int) (cos, sin float64) {
	cell := at * t.stride[axis]
	return t.cos(cell, k), t.sin(cell, k)
}

// explain finds the base with which the frequencies of each axis follow from
// that of its slowest column: ω(i) = ω(0) · base^(−i/q), i < q.
func (t *axial) explain() (out AxialResult, ok bool) {
	slowest := make([]float64, len(t.groups))
	ratio, q, fastest, pairs := 0.0, 0, 0.0, []int(nil)
	for axis, columns := range t.groups {
		along := &phases{rows: t.length(axis), pairs: t.pairs, precision: t.precision, amplitude: t.amplitude,
			cos: func(r, k int) float64 { c, _ := t.at(axis, r, k); return c },
			sin: func(r, k int) float64 { _, s := t.at(axis, r, k); return s },
		}
		n := len(columns)
		if slowest[axis], _ = along.frequency(columns[n-1]); slowest[axis] <= 0 {
			return out, false
		}
		if n > q && n > 1 {
			next, _ := along.frequency(columns[n-2])
			ratio, q = next/slowest[axis], n
		}
		pairs = append(pairs, n)
	}
	candidates := axialBases
	if ratio > 1 {
		base := math.Pow(ratio, float64(q))
		if round, digits := roundest(base, baseError*float64(q)); digits <= roundDigits {
			base = round
		}
		candidates = append([]float64{base}, candidates...)
	}
	for _, base := range candidates {
		if out.Residual, out.Start, ok = t.follows(base, slowest); ok {
			out.Amplitude = t.amplitude
			for axis, n := range pairs {
				fastest = max(fastest, slowest[axis]*math.Pow(base, float64(n-1)/float64(n)))
			}
			out.Turn = fastest
			out.Rotary = schemes.Rotary{Base: base}
			return out, true
		}
	}
	return out, false
}

// baseError is the relative error of the ratio of two measured frequencies.
const baseError = 1e-4

// follows compares all entries with those of a base.
func (t *axial) follows(base float64, slowest []float64) (worst, start float64, ok bool) {
	for axis, columns := range t.groups {
		q := len(columns)
		c, s := t.at(axis, 0, columns[q-1])
		first := math.Atan2(s, c) / slowest[axis]
		if axis == 0 {
			start = first
		}
		for i, k := range columns {
			f := slowest[axis] * math.Pow(base, float64(q-1-i)/float64(q))
			for at := range t.length(axis) {
				c, s := t.at(axis, at, k)
				angle := (first + float64(at)) * f
				worst = max(worst, math.Abs(c/t.amplitude-math.Cos(angle)), math.Abs(s/t.amplitude-math.Sin(angle)))
			}
		}
	}
	return worst, start, worst*t.amplitude <= t.limit()
}
