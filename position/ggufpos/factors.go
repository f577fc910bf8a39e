package ggufpos

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Tolerances of reading divisors back: they are stored as float32.
const (
	divisorTolerance = 1e-5
	rampTolerance    = 2e-3
)

// notTurned is what Gemma 4 stores for pairs that do not turn.
const notTurned = 1e20

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}

func allOnes(divisors []float64) bool {
	for _, d := range divisors {
		if !near(d, 1, divisorTolerance) {
			return false
		}
	}
	return true
}

// fromFreqs names the scaling that rope_freqs.weight stands for. A scaling by
// keys on top multiplies, which no scheme names.
func (e *engine) fromFreqs() schemes.Scaling {
	s := schemes.Scaling{Type: schemes.ScalingCustom, AttentionFactor: e.amplitude, Frequencies: e.frequencies()}
	if e.factor != 1 {
		if e.masked() && e.yarn {
			e.say("structure", nameFreqs+" stops pairs from turning")
			return schemes.Scaling{Type: schemes.ScalingYaRN, Rotated: e.turning(), Factor: e.factor, OriginalLength: e.original, AttentionFactor: e.amplitude,
				BetaFast: e.betaFast, BetaSlow: e.betaSlow, Frequencies: e.frequencies()}
		}
		if e.masked() {
			e.say("structure", nameFreqs+" stops pairs from turning")
			return schemes.Scaling{Type: schemes.ScalingProportional, Rotated: e.turning(), Factor: e.factor, AttentionFactor: notOne(e.amplitude), Frequencies: e.frequencies()}
		}
		if e.constant() && !e.yarn && e.freqs[0] > 0 { // both divide
			e.say("fit", fmt.Sprintf("every divisor in %s is %g, and the keys divide by %g", nameFreqs, e.freqs[0], e.factor))
			return schemes.Scaling{Type: schemes.ScalingLinear, Factor: e.freqs[0] * e.factor, AttentionFactor: notOne(e.amplitude)}
		}
		return s
	}
	switch {
	case slices.ContainsFunc(e.freqs, func(d float64) bool { return !(d > 0) }):
		e.say("structure", nameFreqs+" holds divisors that are not above 0")
		return s
	case e.masked():
		e.say("structure", nameFreqs+" stops pairs from turning")
		return schemes.Scaling{Type: schemes.ScalingProportional, Rotated: e.turning(), AttentionFactor: notOne(e.amplitude), Frequencies: e.frequencies()}
	case e.constant():
		e.say("fit", fmt.Sprintf("every divisor in %s is %g", nameFreqs, e.freqs[0]))
		return schemes.Scaling{Type: schemes.ScalingLinear, Factor: e.freqs[0], AttentionFactor: notOne(e.amplitude)}
	}
	if bent, ok := e.bakedYaRN(); ok {
		return bent
	}
	if llama3, ok := e.llama3(); ok {
		return llama3
	}
	return s
}

func notOne(v float64) float64 {
	if v == 1 {
		return 0
	}
	return v
}

// frequencies are the inverse frequencies that the engine uses.
func (e *engine) frequencies() []float64 {
	low, high := e.ramp()
	out := make([]float64, e.dims/2)
	for i := range out {
		out[i] = e.angle(i, 1, e.freqs, low, high)
	}
	return out
}

// masked tells divisors that only switch pairs off: 1 or enormous.
func (e *engine) masked() bool {
	some := false
	for _, d := range e.freqs {
		some = some || d > notTurned
		if d <= notTurned && !near(d, 1, divisorTolerance) {
			return false
		}
	}
	return some
}

// turning is the number of pairs that a mask leaves.
func (e *engine) turning() int {
	n := 0
	for _, d := range e.freqs {
		if d <= notTurned {
			n++
		}
	}
	return n
}

func (e *engine) constant() bool {
	for _, d := range e.freqs {
		if !near(d, e.freqs[0], divisorTolerance) {
			return false
		}
	}
	return true
}

// plateau is the largest divisor, when the divisors rise from 1 to it.
func (e *engine) plateau() (float64, bool) {
	last := e.freqs[len(e.freqs)-1]
	for i, d := range e.freqs {
		if !(d >= 1-divisorTolerance) || d > last*(1+divisorTolerance) || i > 0 && d < e.freqs[i-1]*(1-divisorTolerance) {
			return 0, false
		}
	}
	return last, last > 1+divisorTolerance
}

// kept is how much of the plain frequency a divisor d leaves with factor s:
// 1 at d = 1, 0 at d = s.
func kept(d, s float64) float64 { return (1/d - 1/s) / (1 - 1/s) }

// llama3 reads Llama 3's scaling back: the factor is the plateau, and between
// the ends the kept part is linear in the number of turns. Only the ratios of
// original length and bounds show in the divisors, so that the low bound is
// taken to be 1, as every published model has it.
func (e *engine) llama3() (schemes.Scaling, bool) {
	s, ok := e.plateau()
	if !ok {
		return schemes.Scaling{}, false
	}
	out := schemes.Scaling{Type: schemes.ScalingLlama3, Factor: float64(float32(s)), AttentionFactor: notOne(e.amplitude), Frequencies: e.frequencies()}
	var x, k []float64 // turns per position, kept part
	for i, d := range e.freqs {
		if part := kept(d, s); part > rampTolerance && part < 1-rampTolerance {
			x = append(x, math.Pow(e.base, -2*float64(i)/float64(e.dims))/(2*math.Pi))
			k = append(k, part)
		}
	}
	switch len(x) {
	case 0:
		e.say("fit", nameFreqs+" steps from 1 to the factor, as Llama 3's scaling may")
		return out, true
	case 1:
		e.say("fit", nameFreqs+" rises from 1 to the factor; bounds of 1 and 4 are taken to tell the original length")
		out.OriginalLength, out.LowFreqFactor, out.HighFreqFactor = int(math.Round((3*k[0]+1)/x[0])), 1, 4
		return out, true
	}
	slope, offset, worst := line(x, k)
	if worst > rampTolerance || offset >= 0 {
		return schemes.Scaling{}, false
	}
	out.OriginalLength, out.LowFreqFactor, out.HighFreqFactor = int(math.Round(slope/-offset)), 1, 1-1/offset
	e.evidence = append(e.evidence, report.Evidence{Kind: "fit", Says: nameFreqs + " follows Llama 3's formula", Residual: report.Pointer(report.Number(worst))})
	return out, true
}

// line fits k = slope·x + offset by least squares; worst is the largest
// deviation.
func line(x, k []float64) (slope, offset, worst float64) {
	n := float64(len(x))
	var sx, sk, sxx, sxk float64
	for i := range x {
		sx, sk, sxx, sxk = sx+x[i], sk+k[i], sxx+x[i]*x[i], sxk+x[i]*k[i]
	}
	slope = (n*sxk - sx*sk) / (n*sxx - sx*sx)
	offset = (sk - slope*sx) / n
	for i := range x {
		worst = math.Max(worst, math.Abs(slope*x[i]+offset-k[i]))
	}
	return slope, offset, worst
}

// bakedYaRN reads YaRN back that was written as divisors and an amplitude: the
// kept part is linear in the number of the pair, and the amplitude is YaRN's.
func (e *engine) bakedYaRN() (schemes.Scaling, bool) {
	s, ok := e.plateau()
	if !ok || !near(e.amplitude, schemes.YaRNAmplitude(s, 1), 1e-4) {
		return schemes.Scaling{}, false
	}
	var x, k []float64
	for i, d := range e.freqs {
		if part := kept(d, s); part > rampTolerance && part < 1-rampTolerance {
			x, k = append(x, float64(i)), append(k, part)
		}
	}
	if len(x) > 1 {
		if _, _, worst := line(x, k); worst > rampTolerance {
			return schemes.Scaling{}, false
		}
	}
	e.say("fit", nameFreqs+" and attn_factor are YaRN's")
	return schemes.Scaling{Type: schemes.ScalingYaRN, Factor: float64(float32(s)), AttentionFactor: e.amplitude, Frequencies: e.frequencies()}, true
}
