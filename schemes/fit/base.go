package fit

import (
	"math"
	"slices"
)

// DistanceBase is the base of rows sin | cos whose positions count up or down by one, as those of relative
// distances do. Frequencies are read from rows as far apart as there are, with the error that the rows show: how far
// sin² + cos² is from 1. Those that were rounded before sines were taken of their angles have that of a type of 16 bits.
func DistanceBase(rows Matrix) (base float64, ok bool) {
	n := rows.Cols() / 2
	if rows.Rows() < 3 || n < 2 {
		return 0, false
	}
	f, sigma, ok := turnsAlong(rows, n, func(k int) (sine, cosine int) { return k, n + k })
	if !ok || !tell(f, sigma) {
		return 0, false
	}
	for _, rounded := range []float64{0, Float16.Step(), BFloat16.Step()} {
		for k := range sigma {
			sigma[k] += rounded
		}
		if r := explain(f, sigma, Float32, Options{}); r.OK && r.Rotary.Scaling.IsNone() && r.Rotary.Base > 1 {
			return r.Rotary.Base, true
		}
	}
	return 0, false
}

// tell gives turns that went with rounding a number smaller than those before, whose error says that it is none; false where fewer than
// a base wants are left.
func tell(f, sigma []float64) bool {
	telling := 0
	for k := range f {
		switch {
		case sigma[k] <= mostUnclear:
			telling++
		case k == 0:
			return false
		default:
			f[k], sigma[k] = f[k-1]/2, math.Inf(1)
		}
	}
	return telling == len(f) || telling >= fewTelling
}

// turnsAlong are the angles by which pairs of columns turn from one row to the next, and their relative errors: the sines and cosines of all are
// as far off as their squares show. ok is false where columns are no sines and cosines.
func turnsAlong(rows Matrix, pairs int, columns func(k int) (sine, cosine int)) (turn, relative []float64, ok bool) {
	turn, relative = make([]float64, pairs), make([]float64, pairs)
	most := farAngleError
	for k := range pairs {
		sine, cosine := columns(k)
		off := 0.0
		turn[k], off = turnOf(rows, sine, cosine)
		most = math.Max(most, off)
	}
	for k := range pairs {
		relative[k] = 2 * most / (turn[k] * float64(rows.Rows()-1))
	}
	return turn, relative, most < noSine
}

// turnOf is the angle by which rows of a sine and a cosine turn from one to the next: what is known of it between two rows tells how often
// rows twice as far apart turned around. off is how far the root of sin² + cos² is from 1 at the most.
func turnOf(rows Matrix, sine, cosine int) (turn, off float64) {
	phase := func(r int) float64 {
		x, y := rows.At(r, cosine), rows.At(r, sine)
		off = math.Max(off, math.Abs(math.Hypot(x, y)-1))
		return math.Atan2(y, x)
	}
	first := phase(0)
	for last := 1; ; last = min(2*last, rows.Rows()-1) {
		turn += math.Remainder(phase(last)-first-turn*float64(last), 2*math.Pi) / float64(last)
		if last == rows.Rows()-1 {
			return math.Abs(turn), off
		}
	}
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
