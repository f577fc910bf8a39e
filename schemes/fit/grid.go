package fit

import (
	"cmp"
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// mostPrefix is how many rows of zeros may stand before a grid's: class and
// distillation tokens.
const mostPrefix = 2

// GridTable explains a table of sines and cosines of two-dimensional positions,
// row after row of a grid, as MAE, ViT, SimpleViT, DiT and Stable Diffusion 3
// make them (facts/NUMERICS §2): a half of each row for the patch's row and one
// for its column, sines and cosines in halves of that or in turns; patches may
// start anywhere and be apart by any part of a position. Square grids are tried
// first, then others that the number of rows allows.
func GridTable(m Matrix, p Precision) (SinusoidResult, bool) {
	zero := zeroRows(m)
	prefix := 0
	for prefix < len(zero) && zero[prefix] == prefix {
		prefix++
	}
	if m.Cols() < 8 || m.Cols()%4 != 0 || prefix != len(zero) || prefix > mostPrefix || m.Rows()-prefix < 4 {
		return SinusoidResult{}, false
	}
	// The cell (0, 1) turns one axis by a step and leaves the other where it was.
	for _, widthFirst := range []bool{false, true} {
		for _, layout := range []string{schemes.LayoutSinCos, schemes.LayoutCosSin, schemes.LayoutInterleaved, schemes.LayoutInterleavedCosSin} {
			s := schemes.Sinusoid{Dim: m.Cols(), Layout: layout, Rows: m.Rows(), WidthFirst: widthFirst, Prefix: prefix}
			if !baseOfCells(&s, m, p) {
				continue
			}
			for _, grid := range grids(m.Rows() - prefix) {
				if out, ok := chooseGrid(rowsApart(s, grid, m, p), m, p); ok {
					return out, true
				}
			}
		}
	}
	return SinusoidResult{}, false
}

// baseOfCells reads base, denominator, step and start off the first two cells,
// which differ on one axis.
func baseOfCells(s *schemes.Sinusoid, m Matrix, p Precision) bool {
	q := m.Cols() / 4
	first := 0
	if !s.WidthFirst {
		first = 2 * q
	}
	at, turn, ok := turns(*s, m, p, first, 1)
	if !ok {
		return false
	}
	step := turn[0]
	sigma := make([]float64, q)
	f := make([]float64, q)
	for k := range f {
		sigma[k] = 4 * sineError * p.Step() / step
		f[k] = turn[k] / step
	}
	for k, e := range errorsOf(f, p) {
		sigma[k] += e
	}
	r := explain(f, sigma, p, Options{})
	if !r.OK || r.Rotary.Scaling.Type != "" {
		return false
	}
	s.Base, s.Denominator = r.BaseUnderDenominator, r.Denominator
	s.Step = stepOf(step, p)
	s.Start = startOf(at, s.InverseGridFrequencies(), p)
	return true
}

// turns are the angles of one axis in the first cell, and how far they turn to another cell; not ok
// where these are no sines and cosines, or the first does not turn.
func turns(s schemes.Sinusoid, m Matrix, p Precision, first, cell int) (at, turn []float64, ok bool) {
	q := m.Cols() / 4
	at, turn = make([]float64, q), make([]float64, q)
	for k := range q {
		var angle [2]float64
		for c, row := range []int{s.Prefix, s.Prefix + cell} {
			i, j := s.GridColumns(k)
			sin, cos := m.At(row, first+i), m.At(row, first+j)
			if !(math.Abs(sin*sin+cos*cos-1) <= 2*p.circleError()) {
				return nil, nil, false
			}
			angle[c] = math.Atan2(sin, cos)
		}
		at[k] = angle[0]
		if turn[k] = angle[1] - angle[0]; turn[k] < 0 {
			turn[k] += 2 * math.Pi
		}
	}
	return at, turn, turn[0] != 0 && turn[0] <= math.Pi
}

// rowsApart reads off a table of a grid how far its rows are apart, where that is not what its
// columns are.
func rowsApart(s schemes.Sinusoid, grid []int, m Matrix, p Precision) schemes.Sinusoid {
	s.Grid = grid
	first := 0
	if s.WidthFirst {
		first = m.Cols() / 2
	}
	at, turn, ok := turns(s, m, p, first, grid[1])
	if !ok {
		return s
	}
	step, columns := stepOf(turn[0], p), cmp.Or(s.Step, 1)
	if math.Abs(cmp.Or(step, 1)/columns-1) > 2*stepError(turn[0], p) {
		s.ColumnStep, s.ColumnStart = columns, s.Start
		s.Step, s.Start = step, startOf(at, s.InverseGridFrequencies(), p)
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
// tells it roughly, each faster one more closely.
func startOf(angles, frequencies []float64, p Precision) float64 {
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
	round, digits := roundest(math.Abs(start), limit/math.Abs(start)+gridStepError)
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
		Why: fmt.Sprintf("a grid of %d by %d positions", s.Grid[0], s.Grid[1])}, !best.beyond
}
