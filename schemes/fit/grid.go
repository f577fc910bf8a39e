package fit

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/schemes"
)

// mostPrefix is how many rows of zeros may stand before a grid's: class and
// distillation tokens.
const mostPrefix = 2

// GridTable explains a table of sines and cosines of two-dimensional positions,
// row after row of a grid, as MAE, ViT and DiT make them (facts/NUMERICS §2).
// Square grids are tried first, then others that the number of rows allows.
func GridTable(m Matrix, p Precision) (SinusoidResult, bool) {
	zero := zeroRows(m)
	prefix := 0
	for prefix < len(zero) && zero[prefix] == prefix {
		prefix++
	}
	if m.Cols() < 8 || m.Cols()%4 != 0 || prefix != len(zero) || prefix > mostPrefix || m.Rows()-prefix < 4 {
		return SinusoidResult{}, false
	}
	q := m.Cols() / 4
	// The cell (0, 1) turns one axis by 1 and leaves the other where it was.
	for _, widthFirst := range []bool{false, true} {
		first := 0
		if !widthFirst {
			first = 2 * q
		}
		base, ok := baseOfRow(m, p, prefix+1, first, q)
		if !ok {
			continue
		}
		for _, grid := range grids(m.Rows() - prefix) {
			s := schemes.Sinusoid{Dim: m.Cols(), Base: base, Layout: schemes.LayoutSinCos, Denominator: schemes.DenominatorHalf,
				Rows: m.Rows(), Grid: grid, WidthFirst: widthFirst, Prefix: prefix}
			if out, ok := chooseGrid(s, m, p); ok {
				return out, true
			}
		}
	}
	return SinusoidResult{}, false
}

// baseOfRow reads a row of position 1 on one axis: q sines, then q cosines.
func baseOfRow(m Matrix, p Precision, row, first, q int) (float64, bool) {
	f := make([]float64, q)
	for k := range f {
		s, c := m.At(row, first+k), m.At(row, first+q+k)
		if !(math.Abs(s*s+c*c-1) <= 2*p.circleError()) {
			return 0, false
		}
		f[k] = math.Atan2(s, c)
	}
	sigma := errorsOf(f, p)
	for k := range sigma {
		sigma[k] += sineError * p.Step()
	}
	r := explain(f, sigma, p, Options{})
	return r.Rotary.Base, r.OK && r.Rotary.Scaling.Type == ""
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
