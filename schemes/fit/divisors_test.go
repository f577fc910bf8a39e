package fit

import (
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// divisorsOf are the divisors of a scaling as converters write them, in float32.
func divisorsOf(r schemes.Rotary) []float64 {
	plain, f := r.PlainFrequencies(), r.InverseFrequencies()
	out := make([]float64, len(f))
	for i := range f {
		out[i] = float64(float32(plain[i] / f[i]))
	}
	return out
}

// What a GGUF file stores as divisors and an ONNX graph as frequencies has the
// same parameters, to the last digit.
func TestDivisorsAndFrequenciesAgree(t *testing.T) {
	llama := func(factor, low, high float64, length int) schemes.Scaling {
		return schemes.Scaling{Type: schemes.ScalingLlama3, Factor: factor, LowFreqFactor: low, HighFreqFactor: high, OriginalLength: length}
	}
	for _, c := range []struct {
		name    string
		dim     int
		base    float64
		scaling schemes.Scaling
	}{
		{"Llama 3.1", 128, 500000, llama(8, 1, 4, 8192)},
		{"Llama 3.2 1B", 64, 500000, llama(32, 1, 4, 8192)},
		{"Llama 3.3 with another base", 128, 2e6, llama(8, 1, 4, 8192)},
		{"other bounds", 128, 500000, llama(16, 1, 8, 4096)},
		{"YaRN", 128, 1e6, schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 4, OriginalLength: 32768, BetaFast: 32, BetaSlow: 1}},
	} {
		r := schemes.Rotary{Base: c.base, Dim: c.dim, Scaling: c.scaling}
		o := Options{Amplitude: r.Amplitude()}
		got, ok := Divisors(divisorsOf(r), c.base, o)
		same := InverseFrequencies(rounded(r.InverseFrequencies(), Float32), Float32, o)
		for who, result := range map[string]Result{"divisors": got, "frequencies": same} {
			s := result.Rotary.Scaling
			s.Frequencies = nil
			if s.AttentionFactor = 0; !ok || s.String() != c.scaling.String() || s.LowFreqFactor != c.scaling.LowFreqFactor || s.HighFreqFactor != c.scaling.HighFreqFactor || s.BetaFast != c.scaling.BetaFast {
				t.Errorf("%s: %s are read as %+v (%s), want %+v", c.name, who, s, result.Why, c.scaling)
			}
		}
	}
}

func TestDivisorsOfNothing(t *testing.T) {
	for name, d := range map[string][]float64{
		"too few": {1, 2}, "not above 0": {1, 1, 0, 4, 4}, "not a number": {1, math.NaN(), 2, 4, 4},
		"no ramp": {1, 3, 2, 5, 4, 9, 7, 8}, "first divided": {2, 2.1, 3, 4, 8, 8, 8, 8}, "none": nil,
	} {
		if r, ok := Divisors(d, 10000, Options{}); ok {
			t.Errorf("%s: %v", name, r.Rotary)
		}
	}
}

// A ramp of few pairs may be Llama 3's or YaRN's: the amplitude decides.
func TestAmplitudeDecides(t *testing.T) {
	for _, want := range []schemes.Rotary{
		{Base: 10000, Dim: 16, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 8, OriginalLength: 64}},
		{Base: 5e6, Dim: 32, Scaling: schemes.Scaling{Type: schemes.ScalingLlama3, Factor: 4, OriginalLength: 8192}},
	} {
		got, ok := Divisors(divisorsOf(want), want.Base, Options{Amplitude: want.Amplitude()})
		if !ok || got.Rotary.Scaling.Type != want.Scaling.Type {
			t.Errorf("%v is read as %v (%s)", want, got.Rotary, got.Why)
		}
	}
}
