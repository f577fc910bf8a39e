package fit

import "math"

// Deviation is an entry of a table that is not what the formula of the other rows
// gives.
type Deviation struct {
	Row, Column int
	Sine        bool // in the table of sines
	Got, Want   float64
	Rows        int // rows in which there are such entries
}

const (
	// damagedShare is the part of a table's rows that may deviate for the others to be
	// called its formula.
	damagedShare = 0.1
	// blockRows is the least number of rows that are fitted alone: fewer fix no frequency.
	blockRows = 8
	// deviation is how many times the tolerance of a fit an entry must be off: the fit
	// allows for rounding, damage is larger.
	deviation = 4
)

// DamagedCache looks through all rows of a cache of cosines and sines, fitted or not, for
// entries off the formula that all other rows follow; ok tells that there is one. The
// formula is that of the whole table or, where none explains it whole, that of one of
// its parts which explains nearly all rows: damage to a row keeps it from no more than
// one part.
func DamagedCache(cos, sin Matrix, p Precision) (d Deviation, ok bool) {
	n := min(cos.Rows(), sin.Rows())
	if n < 2*blockRows || cos.Cols() != sin.Cols() {
		return d, false
	}
	const parts = 4
	size := max(n/parts, blockRows)
	for at := 0; at+size <= n; at += size {
		sub := func(m Matrix) Matrix {
			return Func(size, m.Cols(), func(r, c int) float64 { return m.At(at+r, c) })
		}
		for _, c := range columnOrders(sub(cos), sub(sin), someRows(sub(cos))) {
			t := &phases{rows: size, pairs: c.pairs, precision: p,
				cos: func(r, k int) float64 { return cos.At(at+r, c.column(k)) },
				sin: func(r, k int) float64 { return sin.At(at+r, c.column(k)) },
			}
			found, fitted := t.explainCache(spread(size, rowsToCompare))
			if !fitted {
				continue
			}
			if d, rows := t.deviations(found, at, n, c, cos.Cols()); rows <= int(damagedShare*float64(n)) {
				d.Rows = rows
				return d, rows > 0
			}
		}
	}
	return d, false
}

// deviations counts the rows of the whole table that are off a formula, and tells the
// entry that is off most in the first of them.
func (t *phases) deviations(found CacheResult, at, n int, c columnOrder, columns int) (first Deviation, rows int) {
	rotator := found.Rotator()
	cos, sin := make([]float64, t.pairs), make([]float64, t.pairs)
	for i := range n {
		position := float64(i-at) + found.Start
		rotator.Row(position, cos, sin)
		limit := deviation * tableError(t.precision, position) * t.amplitude
		var worst Deviation
		most := limit
		see := func(k int, sine bool, got, want float64) {
			if off := math.Abs(got - want); off > most || math.IsNaN(off) && !math.IsNaN(worst.Got) {
				most, worst = off, Deviation{Row: i, Column: c.column(k), Sine: sine, Got: got, Want: want}
			}
		}
		for k := range t.pairs {
			see(k, false, t.cos(i-at, k), cos[k])
			see(k, true, t.sin(i-at, k), sin[k])
		}
		if most > limit || math.IsNaN(most) {
			if rows++; rows == 1 {
				first = worst
			}
		}
		if rows > n/2 {
			return first, rows
		}
	}
	return first, rows
}
