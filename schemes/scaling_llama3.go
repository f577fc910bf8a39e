package schemes

import "math"

// ScalingLlama3 divides slow frequencies, keeps fast ones, and goes over from one
// to the other straight in the frequency.
const ScalingLlama3 = "llama3"

// Bounds of Llama 3's scaling as its models have them.
const (
	llama3Low  = 1
	llama3High = 4
)

var typeLlama3 = ScalingType{Name: ScalingLlama3, Title: "Llama 3", Source: "Dubey et al. 2024; transformers, _compute_llama3_parameters",
	Settable: true, Extends: true, Continues: true, NeedsFactor: true, OwnAmplitude: true,
	Parameters: []Parameter{ParameterOriginalLength, ParameterLowFreq.with(llama3Low), ParameterHighFreq.with(llama3High)},
	Complete:   fromOriginal,
	Published:  Precedent{32, "Llama 3.2"}, // its config.json: 8,192 to 131,072 stated, factor 32
	Frequencies: func(r Rotary, f []float64, _ int) {
		for i := range f {
			f[i] = llama3Scale(f[i], r.Scaling)
		}
	},
	Float32: func(r Rotary, f, _ []float32, _ int) {
		for i := range f {
			f[i] = llama3Float32(f[i], r.Scaling)
		}
	},
	RampWaves: func(r Rotary) (from, to float64) {
		low, high := r.Scaling.lowHigh()
		return float64(r.Scaling.OriginalLength) / high, float64(r.Scaling.OriginalLength) / low
	},
	Unread: func(Scaling, Scaling) Loss {
		return Loss{Why: "Llama 3's original length and bounds cannot be read back from the file's frequencies"}
	},
	Anew: func(was Scaling, factor, longer float64, original int) (Scaling, error) {
		if was.Type != ScalingLlama3 {
			return Scaling{Type: ScalingLlama3, Factor: factor, OriginalLength: original, LowFreqFactor: llama3Low, HighFreqFactor: llama3High}, nil
		}
		if was.OriginalLength == 0 || was.HighFreqFactor == 0 {
			return was, Loss{Why: "Llama 3's original length and bounds cannot be read back from its divisors"}
		}
		was.Factor *= longer
		was.Frequencies, was.LongFrequencies = nil, nil
		return was, nil
	},
}

// llama3Scale scales one frequency by how many turns it makes over the original
// length: few are divided by the factor, many stay, the middle is blended.
func llama3Scale(f float64, s Scaling) float64 {
	low, high := s.lowHigh()
	turns := float64(s.OriginalLength) * f / (2 * math.Pi)
	switch {
	case turns < low:
		return f / s.factor()
	case turns > high || low == high:
		return f
	}
	g := (turns - low) / (high - low)
	return (1-g)*f/s.factor() + g*f
}

func llama3Float32(f float32, s Scaling) float32 {
	low, high := s.lowHigh()
	original := float64(s.OriginalLength)
	wave := times(inverse(f), float32(2*math.Pi))
	if wave > float32(original/low) {
		return float32(f / float32(s.factor()))
	}
	if low == high || wave < float32(original/high) {
		return f
	}
	turns := times(inverse(wave), float32(original))
	g := float32(float32(turns-float32(low)) / float32(high-low))
	slow := float32(times(float32(1-g), f) / float32(s.factor()))
	return float32(slow + times(g, f))
}

// lowHigh are llama3's bounds in turns, 1 and 4 unless given.
func (s Scaling) lowHigh() (low, high float64) {
	return orDefault(s.LowFreqFactor, llama3Low), orDefault(s.HighFreqFactor, llama3High)
}
