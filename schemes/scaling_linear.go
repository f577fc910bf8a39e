package schemes

// ScalingLinear is position interpolation: every frequency is divided.
const ScalingLinear = "linear"

var typeLinear = ScalingType{Name: ScalingLinear, Title: "Linear scaling", Source: "Chen et al. 2023, eq. 4",
	Settable: true, Extends: true, Continues: true, Uniform: true, NeedsFactor: true, Complete: always,
	Frequencies: divided, Float32: dividedFloat32, Reach: timesOriginal,
	Published: Precedent{16, "LLaMA in Chen et al. 2023"}, // §3.2: 2,048 to 32,768
	ggml:      func(r Rotary, g *ggmlSteps) { g.freqScale = float32(1 / r.Scaling.factor()) }}

// timesOriginal is the reach of a scaling that was made for its factor times the original length.
func timesOriginal(s Scaling) float64 { return float64(s.OriginalLength) * s.factor() }

// divided divides every frequency by the factor.
func divided(r Rotary, f []float64, _ int) {
	for i := range f {
		f[i] /= r.Scaling.factor()
	}
}

func dividedFloat32(r Rotary, f, _ []float32, _ int) {
	factor := float32(r.Scaling.factor())
	for i := range f {
		f[i] = float32(f[i] / factor)
	}
}
