package rows

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Cache is a pair of tables of cosines and sines; packed in one where Sin is
// the same tensor.
type Cache struct {
	Cos, Sin Table // a row a position
	pairFit
	Fitted bool // the rows follow a formula, which is in Result
	// Ahead is how many rows of other frequencies stand before those of Result:
	// LongRoPE's short list in one table with the long one. 0: none.
	Ahead int
	Short schemes.Rotary // their formula
	// Before is how many rows of no position stand before that of position 0, for tokens that fill up: Fit keeps it where those rows are
	// what no formula explains.
	Before int
}

// pairFit is how rows of cosines and sines came about.
type pairFit struct {
	Result  fit.CacheResult
	negated [2]bool       // the sines of a pair's first and second column are stored with the other sign
	coarse  fit.Precision // that the numbers were rounded to before they were stored; "": their own
}

// Negated reports whether the sines of one of so many columns are stored with the other sign: all, or those of the first of
// each pair (−sin, sin), which the graph multiplies with the second.
func (c *Cache) Negated(column, columns int) bool {
	return negates(c.negated, c.Result.Columns, column, columns)
}

func negates(negated [2]bool, order string, column, columns int) bool {
	switch order {
	case fit.ColumnsHalfDuplicated:
		return negated[min(2*column/columns, 1)]
	case fit.ColumnsInterleavedDuplicated:
		return negated[column%2]
	}
	return negated[0]
}

// Positions is how many positions the pair of tables holds.
func (c *Cache) Positions() int { return min(c.Cos.Len(), c.Sin.Len()) - c.Unread() }

// Unread is how many rows stand before those of Result.
func (c *Cache) Unread() int { return c.Ahead + c.Before }

// packed reports whether a row holds cosines and sines, each pair's in an order of theirs, and not columns that are told apart.
func (c *Cache) packed() bool { return c.Sin.Tensor == c.Cos.Tensor && c.Cos.Columns == nil }

// Fit recovers the frequencies of a pair of tables, or of two that stand one
// behind the other, as DirectML's LongRoPE has them.
func (c *Cache) Fit() {
	n, before := min(c.Cos.Len(), c.Sin.Len()), c.Before
	c.Before = 0
	if c.pairFit, c.Fitted = c.fitRows(0, n); c.Fitted && c.goesOn(c.pairFit, 0, n) {
		return
	}
	if before > 0 && before < n {
		if fit, ok := c.fitRows(before, n); ok && c.goesOn(fit, before, n) {
			c.pairFit, c.Fitted, c.Before = fit, true, before
			return
		}
	}
	if first := c.restart(n); first > 0 {
		short, ok := c.fitRows(0, first)
		long, goes := c.fitRows(first, n)
		if ok && goes && c.goesOn(short, 0, first) && c.goesOn(long, first, n) {
			c.pairFit, c.Fitted = long, true
			c.Ahead, c.Short = first, short.Result.Rotary
			return
		}
	}
	c.Fitted = false
}

// fitRows explains rows from first up to end, by the first of them.
func (c *Cache) fitRows(first, end int) (f pairFit, ok bool) {
	if c.Cos.Len() != c.Sin.Len() && c.Sin.Tensor != c.Cos.Tensor {
		return f, false
	}
	cos, err := c.Cos.between(first, min(end, first+MaxFitRows))
	if err != nil {
		return f, false
	}
	p := c.Cos.Precision()
	if c.packed() {
		for i, stored := range fit.Precisions(p, cos) {
			if f.Result, ok = fit.PackedRotaryCache(cos, stored); ok && i > 0 {
				f.coarse = stored
			}
			if ok {
				break
			}
		}
		return f, ok
	}
	sin, err := c.Sin.between(first, min(end, first+MaxFitRows))
	if err != nil {
		return f, false
	}
	// Exporters fold what a graph does to its tables: half precision, a sign.
	for i, stored := range fit.Precisions(p, cos, sin) {
		if f.Result, ok = fit.RotaryCache(cos, sin, stored); ok {
			if i > 0 {
				f.coarse = stored
			}
			return f, true
		}
	}
	for _, order := range []string{fit.ColumnsHalf, fit.ColumnsHalfDuplicated, fit.ColumnsInterleavedDuplicated} {
		for _, negated := range [][2]bool{{true, true}, {true, false}} {
			signed := fit.Func(sin.Rows(), sin.Cols(), func(r, k int) float64 {
				if negates(negated, order, k, sin.Cols()) {
					return -sin.At(r, k)
				}
				return sin.At(r, k)
			})
			if f.Result, ok = fit.RotaryCache(cos, signed, p); ok && (negated[0] == negated[1] || f.Result.Columns == order) {
				f.negated = negated
				return f, true
			}
		}
	}
	return f, false
}

// farRows is how many of the rows behind those of a fit are compared with it.
const farRows = 64

// farError is how far the slower pairs of a far row may lie from a fit:
// frequencies that were measured over MaxFitRows are extrapolated.
const farError = 2e-2

// goesOn reports whether the rows from first up to end that the fit has not
// seen go on as it says: those pairs that turn little enough to be foretold.
func (c *Cache) goesOn(f pairFit, first, end int) bool {
	if end-first <= MaxFitRows {
		return true
	}
	rule := f.Result.Rotary
	frequencies := rule.InverseFrequencies()
	cos, sin := make([]float64, len(frequencies)), make([]float64, len(frequencies))
	seen := *c
	seen.pairFit, seen.Ahead = f, 0
	amplitude := f.Result.Amplitude
	if amplitude == 0 {
		amplitude = 1
	}
	for i := range farRows {
		position := MaxFitRows + i*(end-first-1-MaxFitRows)/(farRows-1)
		if err := seen.Rotation(first+position, cos, sin); err != nil {
			return false
		}
		for k, w := range frequencies {
			angle := (float64(position) + f.Result.Start) * w
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
func (c *Cache) restart(n int) int {
	if c.Sin.Tensor == c.Cos.Tensor || c.Cos.Outer() != 1 || c.Sin.Outer() != 1 {
		return 0
	}
	first, err := c.Cos.between(0, 1)
	if err != nil || n < 4 {
		return 0
	}
	columns := c.Sin.Dim()
	for from := 1; from < n; from += MaxFitRows {
		sin, err := c.Sin.between(from, min(from+MaxFitRows, n))
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
			cos, err := c.Cos.between(from+r, from+r+1)
			if err != nil {
				return 0
			}
			for k := range columns {
				if math.Abs(cos.At(0, k)-first.At(0, k)) > CosTolerance*math.Abs(first.At(0, k)) {
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

// Row is the row of a position in an input of the given length: of the short
// list up to the length where it ends, else of the long one.
func (c *Cache) Row(position, length int) int {
	if length <= c.Ahead {
		return position
	}
	return position + c.Unread()
}

// Rotation reads row r of the tables.
func (c *Cache) Rotation(r int, cos, sin []float64) error {
	if r >= c.Cos.Len() {
		return fmt.Errorf("row %d is beyond the cache's %d", r, c.Cos.Len())
	}
	row, err := firstHead(c.Cos, r, len(cos))
	if err != nil {
		return err
	}
	if c.packed() {
		n := len(row) / 2
		cosines, sines := make([]float64, n), make([]float64, n)
		for k := range n {
			cosines[k] = row[fit.PackedColumn(c.Result.Packed, k, n, false)]
			sines[k] = row[fit.PackedColumn(c.Result.Packed, k, n, true)]
		}
		if err := c.pick(cosines, cos); err != nil {
			return err
		}
		return c.pick(sines, sin)
	}
	if err := c.pick(row, cos); err != nil {
		return err
	}
	if row, err = firstHead(c.Sin, r, len(sin)); err != nil {
		return err
	}
	if err := c.pick(row, sin); err != nil {
		return err
	}
	if c.negated[0] {
		for i := range sin {
			sin[i] = -sin[i]
		}
	}
	return nil
}

// PerHead reports whether axes ahead of a table's positions are heads of so many pairs, each with angles of its own: one head has a cosine and
// a sine of every element at the most.
func (t Table) PerHead(pairs int) bool {
	return t.Outer() > 1 && t.Columns == nil && !t.Stacked && t.Inner() >= pairs && t.Dim() > 4*pairs && pairs > 1
}

// firstHead is row r of a table, of the first head where there are several.
func firstHead(t Table, r, pairs int) ([]float64, error) {
	row := make([]float64, t.Dim())
	err := t.Row(r, row)
	if t.PerHead(pairs) {
		row = row[:t.Inner()]
	}
	return row, err
}

// pick takes one column a pair out of a row.
func (c *Cache) pick(row, out []float64) error {
	step := 1
	if len(row) == 2*len(out) && c.Result.Columns == fit.ColumnsInterleavedDuplicated {
		step = 2
	}
	if len(row) != len(out) && len(row) != 2*len(out) {
		return fmt.Errorf("%d columns for %d pairs", len(row), len(out))
	}
	for i := range out {
		out[i] = row[i*step]
	}
	return nil
}

// CosTolerance is how far cos(0)·A may differ from column to column and sin(0)
// from zero: storage in bfloat16 is the coarsest.
const CosTolerance = 1e-2

// Store stores a pair of tables of the given length. The rows that are there
// stay when the numbers do; only then is the maker's rounding replayed from
// the recovered frequencies.
func (c *Cache) Store(e *Editor, scheme schemes.Rotary, positions int, same bool) error {
	if c.Cos.Stacked {
		return &position.Refusal{Why: fmt.Sprintf("its cosines stand over its sines in one constant, and the graph cuts them apart at row %d", c.Cos.Len()), Instead: "export the model for the wanted length"}
	}
	kept := c.Before
	if same {
		scheme = c.Result.Rotary
		kept = min(c.Cos.Len(), positions+c.Unread())
	}
	amplitude := scheme.Amplitude()
	if same && c.Result.Amplitude != 0 {
		amplitude = c.Result.Amplitude
	}
	n := len(scheme.InverseFrequencies())
	rotator := scheme.Rotator(c.Result.Recipe, 0)
	factor := 1.0
	if a := scheme.Amplitude(); a != 0 {
		factor = amplitude / a
	}
	cos, sin := make([]float64, n), make([]float64, n)
	row := func(sine bool) RowFunc {
		return func(i int, dst []float64) error {
			rotator.Row(float64(i-c.Unread())+c.Result.Start, cos, sin)
			for k := range n {
				cos[k] *= factor
				sin[k] *= factor
				if c.coarse != "" {
					cos[k], sin[k] = c.coarse.Round(cos[k]), c.coarse.Round(sin[k])
				}
			}
			c.Spread(cos, sin, sine, dst)
			for k := range dst {
				if sine && c.Negated(k, len(dst)) {
					dst[k] = -dst[k]
				}
			}
			return nil
		}
	}
	why := fmt.Sprintf("%d rows of %s", positions+c.Unread(), scheme)
	if err := e.Resize(c.Cos, positions+c.Unread(), kept, row(false), why); err != nil {
		return err
	}
	if c.packed() {
		return nil
	}
	return e.Resize(c.Sin, positions+c.Unread(), kept, row(true), why)
}

// Spread puts the n cosines or sines of one position into the columns of a
// table row.
func (c *Cache) Spread(cos, sin []float64, sine bool, dst []float64) {
	switch {
	case c.packed():
		n := len(dst) / 2
		cosines, sines := make([]float64, n), make([]float64, n)
		c.double(cos, cosines)
		c.double(sin, sines)
		for k := range n {
			dst[fit.PackedColumn(c.Result.Packed, k, n, false)] = cosines[k]
			dst[fit.PackedColumn(c.Result.Packed, k, n, true)] = sines[k]
		}
	case sine:
		c.double(sin, dst)
	default:
		c.double(cos, dst)
	}
}

// double puts a number a pair into columns, twice where there are twice as many.
func (c *Cache) double(from, dst []float64) {
	n := len(from)
	switch {
	case len(dst) == n:
		copy(dst, from)
	case c.Result.Columns == fit.ColumnsInterleavedDuplicated:
		for k := range n {
			dst[2*k], dst[2*k+1] = from[k], from[k]
		}
	default:
		copy(dst, from)
		copy(dst[n:], from)
	}
}
