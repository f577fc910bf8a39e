package fit

import (
	"math"
	"slices"
)

// DistanceBase is the base of float32 rows sin | cos whose positions count up or
// down by one, as those of relative distances do; two rows of three or more are read.
func DistanceBase(rows Matrix) (base float64, ok bool) {
	if rows.Rows() < 3 || rows.Cols() < 4 {
		return 0, false
	}
	n := rows.Cols() / 2
	f := make([]float64, n)
	for k := range n {
		turn := math.Atan2(rows.At(1, k), rows.At(1, n+k)) - math.Atan2(rows.At(0, k), rows.At(0, n+k))
		f[k] = math.Abs(math.Remainder(turn, 2*math.Pi))
		if math.Abs(math.Hypot(rows.At(0, k), rows.At(0, n+k))-1) > 1e-2 {
			return 0, false
		}
	}
	r := InverseFrequencies(f, Float32, Options{})
	if r.OK && r.Rotary.Scaling.IsNone() {
		return r.Rotary.Base, true
	}
	// The differences of float32 angles are coarse at large distances:
	// the first and the last frequency give the base well enough.
	if f[0] <= 0 || f[n-1] <= 0 || n < 2 {
		return 0, false
	}
	base = math.Pow(f[0]/f[n-1], float64(n)/float64(n-1))
	for k := range f {
		if math.Abs(f[k]/f[0]*math.Pow(base, float64(k)/float64(n))-1) > coarseFrequency {
			return 0, false
		}
	}
	if rounded := math.Round(base/100) * 100; math.Abs(rounded-base) < 1e-2*base {
		base = rounded
	}
	return base, base > 1
}

// Undouble removes the second mention of each frequency: f f, or each twice. Others
// it returns as they are.
func Undouble(f []float64) []float64 {
	n := len(f) / 2
	if len(f)%2 != 0 || n == 0 {
		return f
	}
	if slices.Equal(f[:n], f[n:]) {
		return f[:n]
	}
	var out []float64
	for i := 0; i < len(f); i += 2 {
		if f[i] != f[i+1] {
			return f
		}
		out = append(out, f[i])
	}
	return out
}
