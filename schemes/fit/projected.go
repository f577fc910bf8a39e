package fit

import (
	"math"
	"slices"
)

// projectedTolerance is how much of a projected sinusoid may lie outside of what
// sines and cosines of its frequencies span: some float32 roundings of a product
// with weights.
const projectedTolerance = 1e-5

// projectedFrequencies is how many frequencies stand for those of any sinusoidal
// encoding, which lie between one radian a position and none.
const projectedFrequencies = 48

// Projected is what ProjectedSinusoid found.
type Projected struct {
	// Dim and Base are those of the sinusoid where the usual base and one of the
	// given widths explain the table; else 0.
	Dim  int
	Base float64
	// Residual is the share of the table that is not explained, by root mean
	// square.
	Residual float64
}

// usualBase is that of Vaswani et al. 2017, §3.5.
const usualBase = 10000.0

// ProjectedSinusoid reports whether the columns of a table are sums of sines and
// cosines of at most one radian a row, as products of a sinusoidal encoding
// (Vaswani et al. 2017, §3.5) with weights are, whatever its base and width.
// Widths that it may have are tried with the usual base, the least first. Rows
// are too few to tell when sines and cosines can make any table of so many.
func ProjectedSinusoid(m Matrix, widths []int) (p Projected, ok bool) {
	rows := min(m.Rows(), maxProjected)
	widths = slices.Clone(widths)
	slices.Sort(widths)
	for _, dim := range widths {
		if dim < 2 || dim%2 != 0 || dim > maxWidth {
			continue
		}
		frequencies := make([]float64, dim/2)
		for i := range frequencies {
			frequencies[i] = math.Pow(usualBase, -2*float64(i)/float64(dim))
		}
		if residual, ok := spanned(m, sineBasis(rows, frequencies)); ok {
			return Projected{Dim: dim, Base: usualBase, Residual: residual}, true
		}
	}
	frequencies := make([]float64, projectedFrequencies)
	for i := range frequencies { // evenly: those of any base lie near
		frequencies[i] = 1 - float64(i)/projectedFrequencies
	}
	p.Residual, ok = spanned(m, sineBasis(rows, frequencies))
	return p, ok
}

// spanned reports whether a basis of columns spans those of a table, and what is
// left.
func spanned(m Matrix, basis [][]float64) (residual float64, ok bool) {
	if len(basis) == 0 || len(basis) > len(basis[0])-leastSpare {
		return 1, false
	}
	rows := len(basis[0])
	total, left := 0.0, 0.0
	column := make([]float64, rows)
	for c := range m.Cols() {
		for r := range column {
			column[r] = m.At(r, c)
		}
		total += dot(column, column)
		for range 2 {
			for _, b := range basis {
				subtract(column, b)
			}
		}
		left += dot(column, column)
	}
	if total == 0 {
		return 1, false
	}
	residual = math.Sqrt(left / total)
	return residual, residual <= projectedTolerance
}

const (
	maxProjected = 128
	maxWidth     = 1 << 13
	leastSpare   = 3 // dimensions that sines and cosines must leave
)

// sineBasis is an orthonormal basis of sines and cosines of the frequencies, in
// radians a row, by Gram and Schmidt, without what rounding alone tells apart.
func sineBasis(rows int, frequencies []float64) [][]float64 {
	var basis [][]float64
	for i := range 2 * len(frequencies) {
		w := frequencies[i/2]
		v := make([]float64, rows)
		for r := range v {
			angle := w * (float64(r) - float64(rows-1)/2)
			if v[r] = math.Cos(angle); i%2 == 1 {
				v[r] = math.Sin(angle)
			}
		}
		size := math.Sqrt(dot(v, v))
		for range 2 {
			for _, b := range basis {
				subtract(v, b)
			}
		}
		n := math.Sqrt(dot(v, v))
		if n <= projectedTolerance*size {
			continue
		}
		for r := range v {
			v[r] /= n
		}
		basis = append(basis, v)
	}
	return basis
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// subtract takes from v what lies along the unit vector b.
func subtract(v, b []float64) {
	along := dot(v, b)
	for i := range v {
		v[i] -= along * b[i]
	}
}
