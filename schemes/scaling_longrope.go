package schemes

import (
	"math"
	"slices"
)

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

// Lists are the words for LongRoPE's two lists of factors.
const (
	ListShort = "short"
	ListLong  = "long"
)

// Using is s with one of its two lists, ListShort or ListLong, in the place of both, so that no length
// chooses; false where s does not hold that list beside another.
func (s Scaling) Using(list string) (Scaling, bool) {
	if !s.ByLength() || !s.Kind().Listed {
		return s, false
	}
	factors, frequencies := s.ShortFactor, s.Frequencies
	if list == ListLong {
		factors, frequencies = s.LongFactor, s.LongFrequencies
	}
	s.ShortFactor, s.LongFactor, s.Frequencies, s.LongFrequencies = factors, factors, frequencies, frequencies
	return s, true
}

// ByLength reports whether frequencies depend on the length of the input: of two lists that are one they do not.
func (s Scaling) ByLength() bool {
	if k := s.Kind(); !k.Listed {
		return k.ByLength
	}
	return s.ShortFactor != nil && s.LongFactor != nil && !slices.Equal(s.ShortFactor, s.LongFactor)
}

// longRoPEFactors are the divisors for an input of the given length.
func (s Scaling) longRoPEFactors(length int) []float64 {
	if s.isLong(length) && s.LongFactor != nil || s.ShortFactor == nil {
		return s.LongFactor
	}
	return s.ShortFactor
}
