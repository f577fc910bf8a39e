package schemes

import (
	"fmt"
	"math"
)

// ScalingYaRN divides slow frequencies, keeps fast ones, and goes over from one
// to the other along a ramp straight in the index.
const ScalingYaRN = "yarn"

// Defaults of YaRN (Peng et al. 2023, §3.2).
const (
	DefaultBetaFast = 32
	DefaultBetaSlow = 1
)

var typeYaRN = ScalingType{Name: ScalingYaRN, Title: "YaRN", Source: "Peng et al. 2023, §3.2 to 3.4",
	Settable: true, Extends: true, NeedsFactor: true, OwnAmplitude: true,
	Parameters:  []Parameter{ParameterOriginalLength, ParameterBetaFast, ParameterBetaSlow, ParameterNoTruncate},
	Complete:    fromOriginal,
	Frequencies: yarnFrequencies, Float32: yarnFloat32, ggml: yarnSteps,
	Amplitude: func(s Scaling) float64 { return YaRNAmplitude(s.factor(), 1) },
	MScale:    YaRNAmplitude,
	Reach:     timesOriginal,
	Bounds: func(r Rotary, base float64, length int) [2]float64 {
		s := r.Scaling
		low, high := YaRNRamp(base, r.Dim, length, s.BetaFast, s.BetaSlow, !s.NoTruncate)
		return [2]float64{low, high}
	},
	RampPairs: yarnBounds,
	Published: Precedent{40, "DeepSeek-V3"}, // its config.json: 4,096 to 163,840
	Unread:    yarnUnread, Anew: yarnAnew,
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

func yarnBounds(r Rotary) (low, high float64) {
	s := r.Scaling
	return YaRNRamp(r.Base, r.Dim, s.OriginalLength, s.BetaFast, s.BetaSlow, !s.NoTruncate)
}

// yarnRamp is γ of pair i: 0 where the frequency stays, 1 where it is divided.
func yarnRamp(i int, low, high float64) float64 {
	return min(max((float64(i)-low)/(high-low), 0), 1)
}

func yarnFrequencies(r Rotary, f []float64, _ int) {
	low, high := yarnBounds(r)
	for i := range f {
		g := yarnRamp(i, low, high)
		f[i] = f[i]/r.Scaling.factor()*g + f[i]*(1-g)
	}
}

func yarnFloat32(r Rotary, f, power []float32, _ int) {
	low, high := yarnBounds(r)
	span := float32(high - low)
	for i := range f {
		slow := inverse(times(float32(r.Scaling.factor()), power[i]))
		ramp := float32(float32(float32(i)-float32(low)) / span)
		keep := float32(1 - min(max(ramp, 0), 1))
		f[i] = float32(times(slow, float32(1-keep)) + times(f[i], keep))
	}
}

func yarnSteps(r Rotary, g *ggmlSteps) {
	s := r.Scaling
	g.freqScale = float32(1 / s.factor())
	// ggml rounds the bounds whatever the model wants.
	low, high := YaRNRamp(r.Base, r.Dim, s.OriginalLength, s.BetaFast, s.BetaSlow, true)
	g.ramp = make([]float32, g.pairs)
	for i := range g.ramp {
		y := float32(float32(float32(i)-float32(low)) / max(0.001, float32(high-low)))
		g.ramp[i] = float32(1 - min(1, max(0, y)))
	}
}

// yarnUnread: of rounded bounds the original length cannot be told, and of a ramp
// that leaves the vector not even the factor.
func yarnUnread(read, asked Scaling) Loss {
	switch {
	case read.Factor == 0:
		return Loss{Why: "YaRN's factor cannot be read back from the file's frequencies, whose ramp does not end among them"}
	case asked.OriginalLength == 0:
		return Loss{"YaRN's original length cannot be read back from the file's frequencies, and its ramp moves with the base",
			ParameterOriginalLength.Name, "is the length that the model was trained with"}
	}
	return Loss{fmt.Sprintf("YaRN from %d positions does not give the frequencies that the file has", read.OriginalLength),
		ParameterOriginalLength.Name, "is the length that the model was trained with; beta-fast and beta-slow, where they are not 32 and 1, are needed as well"}
}

// yarnAnew is YaRN by a factor. Bounds stay as they were; so does an amplitude
// that is not the one that the old factor gives.
func yarnAnew(was Scaling, factor, _ float64, original int) (Scaling, error) {
	s := Scaling{Type: ScalingYaRN, Factor: factor, OriginalLength: original, AttentionFactor: YaRNAmplitude(factor, 1)}
	if was.Type != ScalingYaRN {
		if was.AttentionFactor != 0 {
			s.AttentionFactor *= was.AttentionFactor
		}
		return s, nil
	}
	s.BetaFast, s.BetaSlow, s.NoTruncate = was.BetaFast, was.BetaSlow, was.NoTruncate
	const sameAmplitude = 1e-6
	if a := was.AttentionFactor; a != 0 && math.Abs(a-YaRNAmplitude(was.Factor, 1)) > sameAmplitude {
		s.AttentionFactor = a
	}
	return s, nil
}
