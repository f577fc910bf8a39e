package onnxpos

import (
	"math"

	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// cache is a pair of tables of cosines and sines; packed in one where sin is
// the same tensor.
type cache struct {
	cos, sin tableRows
	pairFit
	fitted bool
	// ahead is how many rows of other frequencies stand before those of result:
	// LongRoPE's short list in one table with the long one. 0: none.
	ahead int
	short schemes.Rotary
}

// pairFit is how rows of cosines and sines came about.
type pairFit struct {
	result  fit.CacheResult
	negated bool          // sines are stored with the other sign
	coarse  fit.Precision // that the numbers were rounded to before they were stored; "": their own
}

// positions is how many positions the pair of tables holds.
func (c *cache) positions() int { return min(c.cos.Len(), c.sin.Len()) - c.ahead }

// fit recovers the frequencies of a pair of tables, or of two that stand one
// behind the other, as DirectML's LongRoPE has them.
func (c *cache) fit(m *Model) {
	n := min(c.cos.Len(), c.sin.Len())
	m.SpendElements(min(n, maxFitRows) * min(c.cos.Dim(), maxColumns))
	if c.pairFit, c.fitted = c.fitRows(0, n); c.fitted && c.goesOn(c.pairFit, 0, n) {
		return
	}
	if first := c.restart(n); first > 0 {
		short, ok := c.fitRows(0, first)
		long, goes := c.fitRows(first, n)
		if ok && goes && c.goesOn(short, 0, first) && c.goesOn(long, first, n) {
			c.pairFit, c.fitted = long, true
			c.ahead, c.short = first, short.result.Rotary
			return
		}
	}
	c.fitted = false
}

// fitRows explains rows from first up to end, by the first of them.
func (c *cache) fitRows(first, end int) (f pairFit, ok bool) {
	if c.cos.Len() != c.sin.Len() && c.sin.tensor != c.cos.tensor {
		return f, false
	}
	cos, err := c.cos.between(first, min(end, first+maxFitRows))
	if err != nil {
		return f, false
	}
	p := c.cos.precision()
	if c.sin.tensor == c.cos.tensor {
		f.result, ok = fit.PackedRotaryCache(cos, p)
		return f, ok
	}
	sin, err := c.sin.between(first, min(end, first+maxFitRows))
	if err != nil {
		return f, false
	}
	if f.result, ok = fit.RotaryCache(cos, sin, p); ok {
		return f, true
	}
	// Exporters fold what a graph does to its tables: half precision, a sign.
	for _, coarse := range []fit.Precision{fit.Float16, fit.BFloat16} {
		if p == fit.Float32 && rounded(cos, coarse) && rounded(sin, coarse) {
			if f.result, ok = fit.RotaryCache(cos, sin, coarse); ok {
				f.coarse = coarse
				return f, true
			}
		}
	}
	negative := fit.Func(sin.Rows(), sin.Cols(), func(r, k int) float64 { return -sin.At(r, k) })
	f.result, f.negated = fit.RotaryCache(cos, negative, p)
	return f, f.negated
}

// rounded reports whether all numbers of a table are of a coarser precision.
func rounded(m fit.Matrix, p fit.Precision) bool {
	for r := range m.Rows() {
		for c := range m.Cols() {
			if p.Round(m.At(r, c)) != m.At(r, c) {
				return false
			}
		}
	}
	return true
}

// farRows is how many of the rows behind those of a fit are compared with it.
const farRows = 64

// farError is how far the slower pairs of a far row may lie from a fit:
// frequencies that were measured over maxFitRows are extrapolated.
const farError = 2e-2

// goesOn reports whether the rows from first up to end that the fit has not
// seen go on as it says: those pairs that turn little enough to be foretold.
func (c *cache) goesOn(f pairFit, first, end int) bool {
	if end-first <= maxFitRows {
		return true
	}
	rule := f.result.Rotary
	frequencies := rule.InverseFrequencies()
	cos, sin := make([]float64, len(frequencies)), make([]float64, len(frequencies))
	seen := *c
	seen.pairFit, seen.ahead = f, 0
	amplitude := f.result.Amplitude
	if amplitude == 0 {
		amplitude = 1
	}
	for i := range farRows {
		position := maxFitRows + i*(end-first-1-maxFitRows)/(farRows-1)
		if err := seen.rotation(first+position, cos, sin); err != nil {
			return false
		}
		for k, w := range frequencies {
			angle := (float64(position) + f.result.Start) * w
			if angle*farAngle > farError {
				continue
			}
			if math.Abs(cos[k]/amplitude-math.Cos(angle)) > 2*farError || math.Abs(sin[k]/amplitude-math.Sin(angle)) > 2*farError {
				return false
			}
		}
	}
	return true
}

// farAngle is the relative error of an extrapolated angle in half precision; of
// float32 it is far less.
const farAngle = 2e-4

// restart is a row behind the first that turns by nothing again, as the first
// does; 0: there is none.
func (c *cache) restart(n int) int {
	if c.sin.tensor == c.cos.tensor || c.cos.outer() != 1 || c.sin.outer() != 1 {
		return 0
	}
	first, err := c.cos.between(0, 1)
	if err != nil || n < 4 {
		return 0
	}
	columns := c.sin.Dim()
	for from := 1; from < n; from += maxFitRows {
		sin, err := c.sin.between(from, min(from+maxFitRows, n))
		if err != nil {
			return 0
		}
	row:
		for r := range sin.Rows() {
			for k := range columns {
				if sin.At(r, k) != 0 {
					continue row
				}
			}
			cos, err := c.cos.between(from+r, from+r+1)
			if err != nil {
				return 0
			}
			for k := range columns {
				if math.Abs(cos.At(0, k)-first.At(0, k)) > cosTolerance*math.Abs(first.At(0, k)) {
					continue row
				}
			}
			if from+r >= 2 && n-from-r >= 2 {
				return from + r
			}
		}
	}
	return 0
}
