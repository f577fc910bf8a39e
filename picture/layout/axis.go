package layout

import (
	"math"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
)

// axis maps numbers to places on the page.
type axis struct {
	figure.Axis
	from, to  float64 // places of low and high
	low, high float64
}

// place is where a number stands; ok is false where the axis has no place for it.
func (a axis) place(v float64) (float64, bool) {
	if math.IsNaN(v) || a.Scale != figure.Linear && v <= 0 {
		return 0, false
	}
	low, high := a.low, a.high
	if a.Scale != figure.Linear {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	t := (v - low) / (high - low)
	if math.IsNaN(t) {
		return 0, false
	}
	return a.from + min(max(t, -0.02), 1.02)*(a.to-a.from), true
}

// newAxis is an axis over a range of numbers, widened where it is empty.
func newAxis(a figure.Axis, low, high float64, ok bool, from, to float64) axis {
	if a.Min < a.Max {
		low, high, ok = a.Min, a.Max, true
	}
	if !ok || math.IsNaN(low) || math.IsNaN(high) {
		low, high = 0, 1
		if a.Scale != figure.Linear {
			low, high = 1, 10
		}
	}
	if a.Scale != figure.Linear {
		low, high = max(low, math.SmallestNonzeroFloat32), max(high, math.SmallestNonzeroFloat32)
		if high/low < 2 {
			low, high = low/2, high*2
		}
	} else if !(high-low > 1e-9*max(math.Abs(low), math.Abs(high))) {
		room := max(math.Abs(low)/10, 0.5)
		low, high = low-room, high+room
	}
	if math.IsInf(high-low, 0) {
		low, high = -math.MaxFloat64/4, math.MaxFloat64/4
	}
	return axis{Axis: a, from: from, to: to, low: low, high: high}
}

// widen makes room at the ends of an axis, as parts of its length.
func (a *axis) widen(below, above float64) {
	if a.Scale == figure.Linear {
		span := a.high - a.low
		a.low, a.high = a.low-below*span, a.high+above*span
		return
	}
	span := math.Log(a.high / a.low)
	a.low, a.high = a.low*math.Exp(-below*span), a.high*math.Exp(above*span)
}

// tick is a number as it stands beside an axis.
func tick(v float64) string {
	const million = 1e6
	if math.Abs(v) < million {
		return figure.Number(v)
	}
	const digits = 6 // more than ticks of a step have: what is left behind them is rounding
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	return strings.Replace(strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e+0", "e", 1), "e+", "e", 1)
}

// ticks are the numbers that are written beside an axis, at most about most.
func (a axis) ticks(most int) []float64 {
	switch a.Scale {
	case figure.Log10:
		return powers(a.low, a.high, 10, most)
	case figure.Log2:
		return powers(a.low, a.high, 2, most)
	}
	span := a.high - a.low
	step := math.Pow(10, math.Floor(math.Log10(span/float64(most))))
	for _, k := range []float64{1, 2, 5, 10} {
		if span/(step*k) <= float64(most) {
			step *= k
			break
		}
	}
	if a.Whole {
		step = max(1, math.Round(step))
	}
	var out []float64
	for i := math.Ceil(a.low/step - 1e-9); len(out) < 4*most; i++ {
		v := i * step
		if v > a.high+step*1e-9 {
			break
		}
		if v == 0 {
			v = 0 // no minus before zero
		}
		out = append(out, tidy(v, step))
	}
	return out
}

// tidy takes the digits away that rounding left behind those of a step.
func tidy(v, step float64) float64 {
	digits := math.Pow(10, math.Ceil(-math.Log10(step))+1)
	if math.IsInf(digits, 0) || digits < 1 || math.Abs(v) > 1e15 {
		return v
	}
	return math.Round(v*digits) / digits
}

// powers are the whole powers of a base within a range, every so many of them.
func powers(low, high, base float64, most int) (out []float64) {
	first, last := math.Ceil(math.Log(low)/math.Log(base)-1e-9), math.Floor(math.Log(high)/math.Log(base)+1e-9)
	step := max(1, math.Ceil((last-first+1)/float64(most)))
	for e := first; e <= last && len(out) < 4*most; e += step {
		out = append(out, math.Pow(base, e))
	}
	if len(out) < 2 {
		out = nil
		for _, v := range []float64{low, math.Sqrt(low) * math.Sqrt(high), high} {
			out = append(out, rounded(v))
		}
	}
	return out
}

// rounded keeps two digits.
func rounded(v float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	return math.Round(v/unit) * unit
}
