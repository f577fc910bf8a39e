package fit

import "math"

// Compact are rows of sines and cosines of distances that a logarithm and an arctangent press into a finite span (Yao et al. 2023,
// "Zipformer", §3.3; CompactRelPositionalEncoding of icefall): of θ = atan(x/s) with x = √D·sign(d)·ln(1 + |d|/√D) and
// s = LengthFactor·D/2π, cos(kθ) and sin(kθ) side by side for k = 1 … D/2, the last sine replaced by 1.
type Compact struct {
	Dim          int
	LengthFactor float64
}

// compactError is what float32 rows are off, by harmonic: an angle's rounding grows with k. Those of a coarser type are off by a step of it
// more, and their factor is taken for the roundest that it may be.
const compactError = 3e-7

// CompactOf reads rows of the distances from 0 on, or from 0 down, as they were rounded to a precision; it is false for rows of another formula.
func CompactOf(m Matrix, step int, p Precision) (Compact, bool) {
	d := m.Cols()
	if d < 4 || d%2 != 0 || m.Rows() < 4 {
		return Compact{}, false
	}
	best, at := 0.0, 0 // of the angles the one whose tangent tells most
	for r := 1; r < m.Rows(); r++ {
		if x := math.Abs(math.Sin(2 * math.Atan2(m.At(r, 1), m.At(r, 0)))); x > best {
			best, at = x, r
		}
	}
	c := Compact{Dim: d}
	c.LengthFactor = c.pressed(at*step) / math.Tan(math.Atan2(m.At(at, 1), m.At(at, 0))) * 2 * math.Pi / float64(d)
	if at == 0 || !(c.LengthFactor > 0) {
		return Compact{}, false
	}
	lost := 0.0 // by rounding, of each number
	if coarse := p.Step(); coarse > compactError {
		lost, c.LengthFactor = coarse, snap(c.LengthFactor, entrySteps*coarse)
	}
	row := make([]float64, d)
	for r := range m.Rows() {
		c.Row(r*step, row)
		for i, want := range row {
			if !(math.Abs(m.At(r, i)-want) <= lost+compactError*float64(i/2+2)) {
				return Compact{}, false
			}
		}
	}
	return c, true
}

// pressed is x of a distance.
func (c Compact) pressed(distance int) float64 {
	root := math.Sqrt(float64(c.Dim))
	return math.Copysign(root*math.Log1p(math.Abs(float64(distance))/root), float64(distance))
}

// Row writes the numbers of a distance.
func (c Compact) Row(distance int, dst []float64) {
	angle := math.Atan(c.pressed(distance) * 2 * math.Pi / (c.LengthFactor * float64(c.Dim)))
	for k := range c.Dim / 2 {
		dst[2*k+1], dst[2*k] = math.Sincos(float64(k+1) * angle)
	}
	dst[c.Dim-1] = 1
}
