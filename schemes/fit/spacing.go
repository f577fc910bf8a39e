package fit

import "math"

// Spacing is how the coordinates of distances in a window are spaced, of which a network makes biases:
// Scale·sign(d)·ln(1 + Slope·|d|), log-spaced (Liu et al. 2022, "Swin Transformer V2", eq. 4), or Scale·d with a slope of 0.
type Spacing struct{ Scale, Slope float64 }

const (
	// spacingError is what float32 coordinates may be off, of the largest.
	spacingError = 5e-6
	// leastSlope and mostSlope bound the search; with the least, distances are spaced evenly within float32.
	leastSlope, mostSlope = 1e-7, 1e7
)

// SpacingOf reads the coordinates of the distances −m … m, ascending, or descending as well. It is false for what is no such
// spacing, and for fewer than two distances each way.
func SpacingOf(x []float64) (Spacing, bool) {
	m := len(x) / 2
	if len(x)%2 == 0 || m < 2 || x[m+1] == 0 {
		return Spacing{}, false
	}
	ratio := x[2*m] / x[m+1]
	of := func(slope float64) float64 { return math.Log1p(slope*float64(m)) / math.Log1p(slope) }
	s := Spacing{Scale: x[2*m] / float64(m)}
	if math.Abs(ratio-float64(m)) > spacingError*float64(m) {
		low, high := math.Log(leastSlope), math.Log(mostSlope)
		if !(ratio < of(leastSlope) && ratio > of(mostSlope)) {
			return Spacing{}, false
		}
		for range 100 {
			if middle := (low + high) / 2; of(math.Exp(middle)) > ratio {
				low = middle
			} else {
				high = middle
			}
		}
		s.Slope = math.Exp((low + high) / 2)
		s.Scale = x[2*m] / math.Log1p(s.Slope*float64(m))
	}
	for i, v := range x {
		if !(math.Abs(v-s.At(float64(i-m))) <= spacingError*math.Abs(x[2*m])) {
			return Spacing{}, false
		}
	}
	return s, true
}

// At is the coordinate of a distance.
func (s Spacing) At(d float64) float64 {
	if s.Slope == 0 {
		return s.Scale * d
	}
	return s.Scale * math.Copysign(math.Log1p(s.Slope*math.Abs(d)), d)
}
