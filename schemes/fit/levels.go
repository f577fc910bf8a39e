package fit

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// Levels explains rows of several grids behind one another as sines and cosines of rows and columns by one formula, each grid with a row of its own that
// is added to all of its places (Deformable DETR, Zhu et al. 2021, §A.2). Which numbers a level's row has shows where each pair of columns turns
// around. The result is that of the first grid, with all rows.
func Levels(m Matrix, grids [][2]int) (SinusoidResult, bool) {
	total := 0
	for _, g := range grids {
		total += g[0] * g[1]
	}
	if len(grids) < 2 || total != m.Rows() || m.Cols()%4 != 0 || m.Cols() < 8 {
		return SinusoidResult{}, false
	}
	for _, layout := range []string{schemes.LayoutInterleaved, schemes.LayoutSinCos, schemes.LayoutInterleavedCosSin, schemes.LayoutCosSin} {
		if r, ok := levelsOf(m, grids, layout); ok {
			return r, true
		}
	}
	return SinusoidResult{}, false
}

// levelsOf is Levels where pairs of columns stand in a layout.
func levelsOf(m Matrix, grids [][2]int, layout string) (out SinusoidResult, ok bool) {
	first := 0
	for i, grid := range grids {
		from := first
		level := Func(grid[0]*grid[1], m.Cols(), func(r, c int) float64 { return m.At(from+r, c) })
		first += grid[0] * grid[1]
		if level.Rows() < 4 {
			continue // a place or two turn around nothing
		}
		r, ok := levelOf(level, grid, layout)
		if !ok || r.Sinusoid.Layout != layout || out.Sinusoid.Base > 0 && r.Sinusoid.Base != out.Sinusoid.Base {
			return out, false
		}
		if i == 0 {
			out = r
		}
	}
	out.Sinusoid.Rows = m.Rows()
	return out, out.Sinusoid.Base > 0
}

// levelOf explains one grid: pairs that turn neither slowly nor by half a circle tell base, step and start; what all places of a column have more than
// these say is the level's; the rest is the table of a grid, to all of its digits.
func levelOf(m Matrix, grid [2]int, layout string) (SinusoidResult, bool) {
	pairs, half := pairsOf(m.Cols(), layout), m.Cols()/2
	more := make([]float64, m.Cols())
	for axis := range 2 {
		own, stride, n := pairs[axis*half/2:(axis+1)*half/2], grid[1], grid[0]
		if across, down := between(m, own[0], 0, grid[1]-1), between(m, own[0], 0, (grid[0]-1)*grid[1]); across > down {
			stride, n = 1, grid[1]
		}
		var known []int
		steps := make([]float64, len(own))
		for k, pair := range own {
			if steps[k] = 2 * math.Asin(min(1, between(m, pair, 0, stride)/2)); steps[k] > slowTurn && steps[k] < fastTurn {
				known = append(known, k)
			}
		}
		if n < 2 || len(known) < 2 {
			return SinusoidResult{}, false
		}
		a, b := known[0], known[len(known)-1]
		power := float64(half) / 2 / float64(b-a)
		base, _ := roundest(math.Pow(steps[a]/steps[b], power), turnError/steps[b]*power)
		center, ok := centre(m, own[a], stride)
		if !ok || base <= 1 {
			return SinusoidResult{}, false
		}
		frequency := func(k int) float64 { return math.Pow(base, -2*float64(k)/float64(half)) }
		step := steps[a] / frequency(a)
		start := math.Atan2(m.At(0, own[a][0])-center[0], m.At(0, own[a][1])-center[1]) / frequency(a)
		for k, pair := range own {
			for place := range n {
				sin, cos := math.Sincos((start + float64(place)*step) * frequency(k))
				more[pair[0]] += (m.At(place*stride, pair[0]) - sin) / float64(n)
				more[pair[1]] += (m.At(place*stride, pair[1]) - cos) / float64(n)
			}
		}
	}
	return GridTable(Func(m.Rows(), m.Cols(), func(r, c int) float64 { return m.At(r, c) - more[c] }), Float32, grid[:])
}

const (
	// slowTurn and fastTurn are the least and most of a turn from place to place that tell anything by numbers of 32 bits: near half a circle a chord says
	// little of its arc.
	slowTurn, fastTurn = 0.01, 2.0
	// turnError is the error of a turn: some roundings of its four numbers.
	turnError = 5e-7
)

// pairsOf are the columns of sine and cosine of each frequency of two axes, the sine first.
func pairsOf(columns int, layout string) (pairs [][2]int) {
	quarter := columns / 4
	for i := range columns / 2 {
		sin, cos := 2*i, 2*i+1
		if layout == schemes.LayoutSinCos || layout == schemes.LayoutCosSin {
			sin = i/quarter*2*quarter + i%quarter
			cos = sin + quarter
		}
		if layout == schemes.LayoutCosSin || layout == schemes.LayoutInterleavedCosSin {
			sin, cos = cos, sin
		}
		pairs = append(pairs, [2]int{sin, cos})
	}
	return pairs
}

// between is how far two rows are apart in a pair of columns.
func between(m Matrix, pair [2]int, a, b int) float64 {
	return math.Hypot(m.At(b, pair[0])-m.At(a, pair[0]), m.At(b, pair[1])-m.At(a, pair[1]))
}

// centre is around what a pair of columns turns in a circle of radius 1, from (sin, cos) of an angle that grows with the place.
func centre(m Matrix, pair [2]int, stride int) (c [2]float64, ok bool) {
	chord := between(m, pair, 0, stride)
	if !(chord > 0) || chord > 2 {
		return c, false
	}
	x, y := pair[0], pair[1]
	dx, dy := (m.At(stride, x)-m.At(0, x))/chord, (m.At(stride, y)-m.At(0, y))/chord
	high := math.Sqrt(1 - chord*chord/4)
	return [2]float64{(m.At(0, x)+m.At(stride, x))/2 + high*dy, (m.At(0, y)+m.At(stride, y))/2 - high*dx}, true
}
