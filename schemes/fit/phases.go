package fit

import (
	"math"
	"slices"
)

// phases are the columns of a table as points on circles: cos and sin of angle
// (row + start) · frequency, times one amplitude.
type phases struct {
	rows, pairs int
	cos, sin    func(r, k int) float64
	skip        []int // rows that hold no angle
	precision   Precision
	amplitude   float64
}

// isCircle reports whether cos²+sin² is one number all over, and sets the
// amplitude to its root.
func (t *phases) isCircle(rows []int) bool {
	limit := t.precision.circleError()
	var sum, least, most = 0.0, math.Inf(1), 0.0
	count := 0
	for _, r := range rows {
		if slices.Contains(t.skip, r) {
			continue
		}
		for k := range t.pairs {
			c, s := t.cos(r, k), t.sin(r, k)
			q := c*c + s*s
			sum, least, most, count = sum+q, min(least, q), max(most, q), count+1
		}
		if !(most-least <= 2*limit*most) {
			return false
		}
	}
	if count == 0 || !(most > 0) {
		return false
	}
	t.amplitude = math.Sqrt(sum / float64(count))
	return most-sum/float64(count) <= limit*most && sum/float64(count)-least <= limit*most
}

// pairsPerStride bounds the pairs of rows that are compared at one distance.
const pairsPerStride = 256

// advance is the mean turn of column k over m rows, within half a turn.
func (t *phases) advance(k, m int) (angle float64, ok bool) {
	var re, im float64
	n := 0
	for _, r := range spread(t.rows-m, pairsPerStride) {
		if slices.Contains(t.skip, r) || slices.Contains(t.skip, r+m) {
			continue
		}
		c0, s0, c1, s1 := t.cos(r, k), t.sin(r, k), t.cos(r+m, k), t.sin(r+m, k)
		re, im, n = re+c1*c0+s1*s0, im+s1*c0-c1*s0, n+1
	}
	return math.Atan2(im, re), n > 0
}

// frequency is the angle per row of column k and its relative error: the turn
// over one row, refined over doubled distances (facts/NUMERICS §8 B).
func (t *phases) frequency(k int) (f, sigma float64) {
	f, ok := t.advance(k, 1)
	if !ok {
		return 0, math.Inf(1)
	}
	reach := 1
	for m := 2; m <= t.rows/2; m *= 2 {
		angle, ok := t.advance(k, m)
		if !ok {
			break
		}
		f += wrap(angle-float64(m)*f) / float64(m)
		reach = m
	}
	return f, t.frequencyError(f, reach)
}

// frequencyError is small for slow columns too: a sine near zero is stored
// with as many digits as any number, but for float16's subnormal ones and in
// quantised tables.
func (t *phases) frequencyError(f float64, reach int) float64 {
	turn := math.Abs(f) * float64(reach)
	// Rounding errors of many rows cancel where the phase runs around the
	// circle, though not those of neighbours.
	rows := max(1, float64(t.rows)/independentRows)
	sigma := frequencyError + sineError*t.precision.Step()*min(1, 1/(turn*math.Sqrt(rows)))
	if t.precision == Int8 { // a sine near zero has no more digits than another
		sigma += t.precision.Step() / turn
		if turn < 2*t.precision.Step() {
			sigma = math.Inf(1)
		}
	}
	if t.precision == Float16 {
		sigma += 2 * subnormal16 / (t.amplitude * turn)
		if turn*t.amplitude < subnormal16 {
			sigma = math.Inf(1)
		}
	}
	return sigma
}

func wrap(angle float64) float64 { return math.Remainder(angle, 2*math.Pi) }

// frequencies are those of all columns.
func (t *phases) frequencies() (f, sigma []float64) {
	f, sigma = make([]float64, t.pairs), make([]float64, t.pairs)
	for k := range t.pairs {
		f[k], sigma[k] = t.frequency(k)
	}
	return f, sigma
}

// start is the position of row 0: from the slowest column, whose phase has not
// wrapped, each faster one makes it more precise. A whole number or a half is
// taken where the error allows one.
func (t *phases) start(f, sigma []float64) float64 {
	first := 0
	for slices.Contains(t.skip, first) {
		first++
	}
	p, known := 0.0, false
	err := math.Inf(1)
	for k := t.pairs - 1; k >= 0; k-- {
		if f[k] <= 0 || math.IsInf(sigma[k], 1) {
			continue
		}
		phase := math.Atan2(t.sin(first, k), t.cos(first, k))
		noise := (t.precision.Step() + sigma[k]*math.Abs(phase)) / f[k]
		switch {
		case !known:
			p, err, known = phase/f[k], noise, true
		case err*f[k] < 1:
			p += wrap(phase-p*f[k]) / f[k]
			err = noise
		}
	}
	p -= float64(first)
	if half := math.Round(2*p) / 2; math.Abs(half-p) <= max(4*err, 1e-3) {
		return half
	}
	return p
}
