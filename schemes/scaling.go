package schemes

import "math"

// Defaults of YaRN (Peng et al. 2023, §3.2).
const (
	DefaultBetaFast = 32
	DefaultBetaSlow = 1
)

// NTKBase is the base that stretches a rotary encoding by factor while its
// fastest frequency stays: base · factor^(dim/(dim−2)) ("NTK-aware" scaling,
// facts/NUMERICS §4). The slowest frequency becomes exactly 1/factor of itself.
func NTKBase(base, factor float64, dim int) float64 {
	d := float64(dim)
	return base * math.Pow(factor, d/(d-2))
}

// DynamicBase is the base of dynamic NTK scaling for an input of the given
// length, of a model made for original positions (facts/NUMERICS §4).
func DynamicBase(base, factor float64, dim, original, length int) float64 {
	m, l := float64(max(length, original)), float64(original)
	return NTKBase(base, factor*m/l-(factor-1), dim)
}

// YaRNRamp returns the indices between which YaRN goes over from kept to
// divided frequencies. The unrounded index at which a pair makes r turns over
// the original length L is c(r) = dim·ln(L/(2πr))/(2·ln base); low is c of
// betaFast, high c of betaSlow, rounded outwards if truncate. The bounds are
// limited to 0 and dim−1 (not the last pair) and kept apart by 0.001, as
// transformers does. Betas of 0 are the defaults.
func YaRNRamp(base float64, dim, original int, betaFast, betaSlow float64, truncate bool) (low, high float64) {
	low = turnsAt(base, dim, original, orDefault(betaFast, DefaultBetaFast))
	high = turnsAt(base, dim, original, orDefault(betaSlow, DefaultBetaSlow))
	if truncate {
		low, high = math.Floor(low), math.Ceil(high)
	}
	low, high = max(low, 0), min(high, float64(dim-1))
	if low == high {
		high += 0.001
	}
	return low, high
}

func turnsAt(base float64, dim, original int, turns float64) float64 {
	return float64(dim) * math.Log(float64(original)/(turns*2*math.Pi)) / (2 * math.Log(base))
}

// YaRNAmplitude is the attention factor m(s, k) = 0.1·k·ln s + 1 (1 for s ≤ 1).
// Plain YaRN has k 1; DeepSeek divides m(s, mscale) by m(s, mscale_all_dim).
func YaRNAmplitude(factor, k float64) float64 {
	if factor <= 1 {
		return 1
	}
	return 0.1*k*math.Log(factor) + 1
}

// LongRoPEAmplitude is sqrt(1 + ln s/ln L), 1 for s ≤ 1 (Ding et al. 2024).
func LongRoPEAmplitude(factor float64, original int) float64 {
	if factor <= 1 || original <= 1 {
		return 1
	}
	return math.Sqrt(1 + math.Log(factor)/math.Log(float64(original)))
}

func orDefault(x, otherwise float64) float64 {
	if x == 0 {
		return otherwise
	}
	return x
}

// kind is the scaling's type with the zero value spelled out.
func (s Scaling) kind() string {
	if s.Type == "" {
		return ScalingNone
	}
	return s.Type
}

// factor is Factor with "not known" as 1.
func (s Scaling) factor() float64 { return orDefault(s.Factor, 1) }

// yarnRamp is γ of pair i: 0 where the frequency stays, 1 where it is divided.
func yarnRamp(i int, low, high float64) float64 {
	return min(max((float64(i)-low)/(high-low), 0), 1)
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

// lowHigh are llama3's bounds in turns, 1 and 4 unless given.
func (s Scaling) lowHigh() (low, high float64) {
	return orDefault(s.LowFreqFactor, 1), orDefault(s.HighFreqFactor, 4)
}

// isLong reports whether an input of the given length uses the long factors.
func (s Scaling) isLong(length int) bool { return length > s.OriginalLength }

// longRoPEFactors are the divisors for an input of the given length.
func (s Scaling) longRoPEFactors(length int) []float64 {
	if s.isLong(length) && s.LongFactor != nil || s.ShortFactor == nil {
		return s.LongFactor
	}
	return s.ShortFactor
}

// isFormula reports whether the parameters are enough to compute frequencies.
func (s Scaling) isFormula() bool {
	switch s.kind() {
	case ScalingNone, ScalingLinear, ScalingNTK, ScalingProportional:
		return true
	case ScalingYaRN, ScalingLlama3, ScalingDynamic:
		return s.Factor > 0 && s.OriginalLength > 0
	case ScalingLongRoPE:
		return s.ShortFactor != nil || s.LongFactor != nil
	}
	return false
}
