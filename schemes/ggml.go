package schemes

// ggmlSteps are the constants of ggml's CPU rope operator.
type ggmlSteps struct {
	thetaScale float32
	divisor    []float32 // rope_freqs; nil: none
	freqScale  float32
	ramp       []float32 // share of the unscaled angle; nil: no YaRN
	amplitude  float32
	pairs      int
}

func (g ggmlSteps) row(p float32, cos, sin []float64) {
	theta := p
	for i := range g.pairs {
		full := theta
		if g.divisor != nil {
			full = float32(full / g.divisor[i])
		}
		angle := times(g.freqScale, full)
		if g.ramp != nil {
			angle = float32(times(angle, float32(1-g.ramp[i])) + times(full, g.ramp[i]))
		}
		s, c := sinCosf(angle)
		cos[i], sin[i] = float64(times(c, g.amplitude)), float64(times(s, g.amplitude))
		theta = times(theta, g.thetaScale)
	}
}
