package schemes

import "math"

// ScalingLongRoPE divides each frequency by a trained factor of its own: one list
// up to the original length, another beyond.
const ScalingLongRoPE = "longrope"

var typeLongRoPE = ScalingType{Name: ScalingLongRoPE, Title: "LongRoPE", Aliases: []string{"su"}, Source: "Ding et al. 2024, §3.2",
	Settable: true, NeedsFactor: true, Parameters: []Parameter{ParameterOriginalLength},
	Listed: true, ByLength: true, OwnAmplitude: true,
	NoFurther: "LongRoPE's factors are trained for one length and cannot be computed for another",
	Complete:  func(s Scaling) bool { return s.ShortFactor != nil || s.LongFactor != nil },
	Frequencies: func(r Rotary, f []float64, length int) {
		for i, divisor := range r.Scaling.longRoPEFactors(length) {
			if i < len(f) {
				f[i] /= divisor
			}
		}
	},
	Float32: func(r Rotary, f, power []float32, length int) {
		for i, divisor := range r.Scaling.longRoPEFactors(length) {
			if i < len(f) {
				f[i] = inverse(times(float32(divisor), power[i]))
			}
		}
	},
	Amplitude: func(s Scaling) float64 { return LongRoPEAmplitude(s.factor(), s.OriginalLength) },
	FactorOf: func(amplitude float64, original int) float64 {
		return math.Max(1, math.Exp((amplitude*amplitude-1)*math.Log(float64(original))))
	},
}

// LongRoPEAmplitude is sqrt(1 + ln s/ln L), 1 for s ≤ 1 (Ding et al. 2024).
func LongRoPEAmplitude(factor float64, original int) float64 {
	if factor <= 1 || original <= 1 {
		return 1
	}
	return math.Sqrt(1 + math.Log(factor)/math.Log(float64(original)))
}

// longRoPEFactors are the divisors for an input of the given length.
func (s Scaling) longRoPEFactors(length int) []float64 {
	if s.isLong(length) && s.LongFactor != nil || s.ShortFactor == nil {
		return s.LongFactor
	}
	return s.ShortFactor
}
