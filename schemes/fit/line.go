package fit

import (
	"math"
	"strconv"
)

// vector is a list of frequencies with what is known of their errors.
// Numbers that say nothing have an infinite error.
type vector struct {
	f     []float64
	y     []float64 // −ln f
	sigma []float64 // standard error of y
	// asMeasured keeps numbers as they come out of the fit.
	asMeasured bool
}

func newVector(f []float64, sigma []float64, o Options) vector {
	v := vector{f: f, sigma: sigma, y: make([]float64, len(f)), asMeasured: o.asMeasured}
	for i, x := range f {
		v.y[i] = -math.Log(x)
		if x <= 0 {
			v.y[i], v.sigma[i] = 0, math.Inf(1)
		}
	}
	return v
}

// errorsOf are the standard errors of stored frequencies.
func errorsOf(f []float64, p Precision) []float64 {
	sigma := make([]float64, len(f))
	for i, x := range f {
		sigma[i] = p.Step() + frequencyError
		if p == Float16 {
			sigma[i] += subnormal16 / x
			if x < lost16 {
				sigma[i] = math.Inf(1)
			}
		}
	}
	return sigma
}

// limit is how far y of index i may be from its formula.
func (v vector) limit(i int) float64 { return acceptance * v.sigma[i] }

// line is y = slope·i + offset.
type line struct{ slope, offset float64 }

func (l line) at(i int) float64 { return l.slope*float64(i) + l.offset }

// fitLine is the line through the given indices by weighted least squares,
// through the origin if asked.
func (v vector) fitLine(first, end int, origin bool) line {
	var w, wi, wii, wy, wiy float64
	for i := first; i < end; i++ {
		x, weight := float64(i), 1/(v.sigma[i]*v.sigma[i])
		w, wi, wii = w+weight, wi+weight*x, wii+weight*x*x
		wy, wiy = wy+weight*v.y[i], wiy+weight*x*v.y[i]
	}
	if origin {
		return line{wiy / wii, 0}
	}
	slope := (w*wiy - wi*wy) / (w*wii - wi*wi)
	return line{slope, (wy - slope*wi) / w}
}

// onLine reports whether the line explains the indices first … end−1.
func (v vector) onLine(l line, first, end int) bool {
	for i := first; i < end; i++ {
		if !(math.Abs(v.y[i]-l.at(i)) <= v.limit(i)) {
			return false
		}
	}
	return true
}

// explains compares a formula's frequencies with all that are given. residual
// is the largest relative difference, of those that say anything.
func (v vector) explains(f []float64) (residual float64, ok bool) {
	ok = len(f) == len(v.f)
	for i := range min(len(f), len(v.f)) {
		if math.IsInf(v.sigma[i], 1) {
			continue
		}
		d := math.Abs(math.Log(f[i] / v.f[i]))
		if !(d <= v.limit(i)) {
			ok = false
		}
		residual = max(residual, d)
	}
	return residual, ok
}

// baseError is the relative error of a base that a line through the origin
// gives from the indices below end: the least that any one of them allows.
func (v vector) baseError(end int) float64 {
	least := math.Inf(1)
	for i := 1; i < end; i++ {
		least = min(least, v.sigma[i]/float64(i))
	}
	return acceptance * least * float64(len(v.f))
}

// suffixError is the relative error of a base that a free line through the
// indices first … end−1 gives: the least that any two of them allow.
func (v vector) suffixError(first, end int) float64 {
	least := math.Inf(1)
	for i := first; i < end; i++ {
		for j := i + 1; j < end; j++ {
			least = min(least, (v.sigma[i]+v.sigma[j])/float64(j-i))
		}
	}
	return acceptance * least * float64(len(v.f))
}

// roundest is the number with the fewest significant digits within the given
// relative error of x, and how many those are. A number that only longer ones
// can tell from x comes back as it is, with 17 digits.
func roundest(x, relative float64) (round float64, digits int) {
	if x <= 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return x, 17
	}
	for digits := 1; digits < 17; digits++ {
		candidate, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
		if math.Abs(candidate-x) <= relative*x {
			return candidate, digits
		}
	}
	return x, 17
}

// snap is snap unless numbers are to stay as they are measured.
func (v vector) snap(x, relative float64) float64 {
	if v.asMeasured {
		return x
	}
	return snap(x, relative)
}

// snap is roundest where the result is one that a person would choose, or is a
// whole number that the error singles out; otherwise x itself.
func snap(x, relative float64) float64 {
	round, digits := roundest(x, relative)
	if digits <= roundDigits {
		return round
	}
	if whole := math.Round(x); relative*x < 0.5 && math.Abs(whole-x) <= relative*x {
		return whole
	}
	return x
}
