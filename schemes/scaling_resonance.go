package schemes

import "math"

// ScalingResonance rounds every wavelength to a whole number of positions, so that
// each pair comes to the same angles again in every turn.
const ScalingResonance = "resonance"

var typeResonance = ScalingType{Name: ScalingResonance, Title: "Resonance RoPE", Source: "Wang et al. 2024 (arXiv 2403.00071), §4.1",
	Engines: []string{}, Settable: true, Complete: always,
	NoFurther: "Resonance RoPE has no factor by which it would reach another length",
	Frequencies: func(_ Rotary, f []float64, _ int) {
		for i := range f {
			f[i] = ResonantFrequency(f[i])
		}
	}}

// ResonantFrequency is the frequency whose wavelength 2π/f is rounded to the
// nearest whole number.
func ResonantFrequency(f float64) float64 {
	return 2 * math.Pi / math.RoundToEven(2*math.Pi/f)
}
