package fit

import (
	"cmp"
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// GridTable explains a table of sines and cosines of positions on a grid, row after row of it, as
// MAE, ViT, SimpleViT, DiT, Stable Diffusion 3, LoFTR and video transformers make them
// (facts/NUMERICS §2): each column follows one axis, whichever, sines and cosines of an axis in
// halves or in turns; places may start anywhere and be apart by any part of a position. shape is that
// of the grid, one axis or more; where it is nil, square grids of two axes are tried first, then others
// that the number of rows allows.
func GridTable(m Matrix, p Precision, shape []int) (SinusoidResult, bool) {
	prefix := 0 // class tokens, and texts before a video
	for prefix < m.Rows() && isZero(m, prefix) {
		prefix++
	}
	if m.Cols() < 8 && len(shape) != 1 || m.Cols() < 4 || m.Rows()-prefix < 4 {
		return SinusoidResult{}, false
	}
	shapes := [][]int{shape}
	if shape == nil {
		shapes = grids(m.Rows() - prefix)
	}
	for _, grid := range shapes {
		for _, columns := range axisColumns(m, p, grid, prefix) {
			for _, layout := range []string{schemes.LayoutSinCos, schemes.LayoutCosSin, schemes.LayoutInterleaved, schemes.LayoutInterleavedCosSin} {
				s := schemes.Sinusoid{Dim: m.Cols(), Layout: layout, Rows: m.Rows(), Grid: grid, AxisColumns: columns, Prefix: prefix}
				if !baseOfCells(&s, m, p) {
					continue
				}
				if out, ok := chooseGrid(rowsApart(s, m, p), m, p); ok {
					return out, true
				}
			}
		}
	}
	return SinusoidResult{}, false
}

// axisColumns are ways to give the columns of a table to the axes of a grid that agree with the
// columns that differ along an axis, as the cells on the axes themselves say; slow cosines may
// differ along none.
func axisColumns(m Matrix, p Precision, grid []int, prefix int) (out [][][]int) {
	cells := 1
	for _, n := range grid {
		cells *= n
	}
	if len(grid) < 1 || len(grid) > 3 || prefix+cells != m.Rows() {
		return nil
	}
	of := make([]int, m.Cols())
	for c := range of {
		of[c] = -1
		stride := 1
		for axis := len(grid) - 1; axis >= 0; axis-- {
			differs := false
			for i := 1; i < grid[axis] && !differs; i++ {
				differs = math.Abs(m.At(prefix+i*stride, c)-m.At(prefix, c)) > sineError*p.Step()
			}
			switch stride *= grid[axis]; {
			case differs && of[c] >= 0:
				return nil
			case differs:
				of[c] = axis
			}
		}
	}
	for _, order := range orders(len(grid)) {
		for _, columns := range arrangements(m.Cols(), order) {
			agrees := true
			for axis, list := range columns {
				seen := false
				for _, c := range list {
					agrees = agrees && (of[c] < 0 || of[c] == axis)
					seen = seen || of[c] == axis
				}
				agrees = agrees && seen
			}
			if agrees {
				out = append(out, columns)
			}
		}
	}
	return out
}

// orders are the orders in which up to three axes may have their columns.
func orders(axes int) [][]int {
	switch axes {
	case 1:
		return [][]int{{0}}
	case 2:
		return [][]int{{0, 1}, {1, 0}}
	}
	return [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}, {1, 2, 0}, {2, 0, 1}}
}

// arrangements are the columns of each axis where axes come in an order: in runs of as many, what is
// left over holding zeros; the first of three with a quarter, as time has beside space (CogVideoX);
// by pairs in turns (LoFTR).
func arrangements(columns int, order []int) (out [][][]int) {
	add := func(first, each int, inTurns bool) {
		of := make([][]int, len(order))
		at := 0
		for i, axis := range order {
			n := each
			if i == 0 {
				n = first
			}
			for k := range n {
				c := at + k
				if inTurns {
					c = (k/2*len(order)+i)*2 + k%2
				}
				of[axis] = append(of[axis], c)
			}
			at += n
		}
		out = append(out, of)
	}
	each := columns / len(order) / 2 * 2
	if each < 2 {
		return nil
	}
	add(each, each, false)
	add(each, each, true)
	if len(order) == 3 && columns%16 == 0 {
		add(columns/4, columns/8*3, false)
	}
	return out
}

// baseOfCells reads base, denominator, step and start off the first two cells along the axis that
// has the most columns, the last of such.
func baseOfCells(s *schemes.Sinusoid, m Matrix, p Precision) bool {
	axis := len(s.Grid) - 1
	for a := axis; a >= 0; a-- {
		if len(s.AxisColumns[a]) > len(s.AxisColumns[axis]) {
			axis = a
		}
	}
	at, f, sigma, ok := turns(*s, m, p, axis)
	if !ok || !tell(f, sigma) {
		return false
	}
	step := f[0]
	for k := range f {
		f[k] /= step
	}
	for k, e := range errorsOf(f, p) {
		sigma[k] += e + sigma[0]
	}
	r := explain(f, sigma, p, Options{})
	if !r.OK || r.Rotary.Scaling.Type != "" {
		return false
	}
	s.Base, s.Denominator = r.BaseUnderDenominator, r.Denominator
	s.Step = stepOf(step, p)
	s.Start = startOf(at, s.InverseAxisFrequencies(axis), cmp.Or(s.Step, 1), p)
	return true
}

// turns are the angles of an axis in the first cell, how far they turn to the next one along it, and the relative error of that;
// not ok where these are no sines and cosines, or the first does not turn.
func turns(s schemes.Sinusoid, m Matrix, p Precision, axis int) (at, turn, relative []float64, ok bool) {
	columns, next := s.AxisColumns[axis], 1
	for _, n := range s.Grid[axis+1:] {
		next *= n
	}
	if s.Grid[axis] < 2 {
		return nil, nil, nil, false
	}
	at = make([]float64, len(columns)/2)
	for k := range at {
		i, j := s.AxisPlaces(columns, k)
		for _, row := range []int{s.Prefix, s.Prefix + next} {
			if sin, cos := m.At(row, i), m.At(row, j); !(math.Abs(sin*sin+cos*cos-1) <= 2*p.circleError()) {
				return nil, nil, nil, false
			}
		}
		at[k] = math.Atan2(m.At(s.Prefix, i), m.At(s.Prefix, j))
	}
	line := Func(s.Grid[axis], m.Cols(), func(r, c int) float64 { return m.At(s.Prefix+r*next, c) })
	turn, relative, ok = turnsAlong(line, len(at), func(k int) (sine, cosine int) { return s.AxisPlaces(columns, k) })
	return at, turn, relative, ok && turn[0] != 0 && turn[0] <= math.Pi
}

// rowsApart reads off a table how far places on the first axis are apart (rows, or frames), where
// that is not what those on the others are.
func rowsApart(s schemes.Sinusoid, m Matrix, p Precision) schemes.Sinusoid {
	at, turn, _, ok := turns(s, m, p, 0)
	if !ok {
		return s
	}
	step, columns := stepOf(turn[0], p), cmp.Or(s.Step, 1)
	if math.Abs(cmp.Or(step, 1)/columns-1) > 2*stepError(turn[0], p) {
		s.ColumnStep, s.ColumnStart = columns, s.Start
		s.Step, s.Start = step, startOf(at, s.InverseAxisFrequencies(0), cmp.Or(step, 1), p)
	}
	return s
}

// stepOf is how far two places are apart whose first angle turns so far.
func stepOf(turn float64, p Precision) float64 {
	return roundStep(turn, stepError(turn, p))
}

// stepError is its relative error.
func stepError(turn float64, p Precision) float64 { return gridStepError + 4*sineError*p.Step()/turn }

// roundStep takes a round number for the distance of patches, or a round number
// of patches to a position; 0 stands for 1.
func roundStep(step, relative float64) float64 {
	round, digits := roundest(step, relative)
	if per, fewer := roundest(1/step, relative); fewer < digits {
		round = 1 / per
	}
	if round == 1 {
		return 0
	}
	return round
}

// gridStepError is the relative error of a distance of patches that was read off
// float32 sines.
const gridStepError = 1e-6

// startOf is the position of angles that are known up to full turns: the slowest
// tells it roughly, each faster one more closely; that of the first place is often one step.
func startOf(angles, frequencies []float64, step float64, p Precision) float64 {
	start, limit := 0.0, math.Inf(1)
	for k := len(angles) - 1; k >= 0; k-- {
		f := frequencies[k]
		turns := 0.0
		if !math.IsInf(limit, 1) {
			turns = math.Round((start*f - angles[k]) / (2 * math.Pi))
		}
		start, limit = (angles[k]+2*math.Pi*turns)/f, 4*sineError*p.Step()/f
	}
	if math.Abs(start) <= limit {
		return 0
	}
	relative := limit/math.Abs(start) + gridStepError
	if whole := math.Round(start / step); whole != 0 && math.Abs(start/step/whole-1) <= relative {
		return whole * step // counted from one, or cut out of a larger grid
	}
	round, digits := roundest(math.Abs(start), relative)
	if digits > roundDigits {
		return start
	}
	return math.Copysign(round, start)
}

// grids are the shapes of n cells, the squarest first.
func grids(n int) [][]int {
	var all [][]int
	for h := int(math.Sqrt(float64(n))); h >= 2; h-- {
		if n%h != 0 {
			continue
		}
		all = append(all, []int{h, n / h})
		if h != n/h {
			all = append(all, []int{n / h, h})
		}
	}
	return all
}

func chooseGrid(s schemes.Sinusoid, m Matrix, p Precision) (SinusoidResult, bool) {
	var best replay
	chosen := schemes.RecipeExact
	sample := spread(m.Rows(), rowsToCompare)
	for i, recipe := range []schemes.Recipe{schemes.RecipeExact, schemes.RecipePow, schemes.RecipeExp} {
		s.Recipe = recipe
		got := replaySinusoid(s, m, p, 1, sample)
		if i == 0 || got.better(best) {
			best, chosen = got, recipe
		}
		if i == 0 && got.beyond {
			return SinusoidResult{}, false
		}
	}
	s.Recipe = chosen
	if rows := someRows(m); len(rows) > len(sample) {
		best = replaySinusoid(s, m, p, 1, rows)
	}
	return SinusoidResult{Sinusoid: s, Different: best.different, Compared: m.Cols() * m.Rows(), Residual: best.worst,
		Why: fmt.Sprintf("a grid of %v positions", s.Grid)}, !best.beyond
}
