package ggufpos

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// divisorTolerance is how far divisors that are to be one number may differ:
// they are stored as float32.
const divisorTolerance = 1e-5

// notTurned is what Gemma 4 stores for pairs that do not turn.
const notTurned = 1e20

func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance*math.Max(math.Abs(a), math.Abs(b))
}

// allOnes reports whether divisors leave every frequency as it is, or there are
// none.
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
	if ramp, ok := e.fromRamp(); ok {
		return ramp
	}
	return s
}

// fromRamp names the scaling of divisors that rise from 1 to the factor. Only
// the ratios of Llama 3's original length and bounds show in them, so that its
// low bound is taken to be 1, as every published model has it.
func (e *engine) fromRamp() (schemes.Scaling, bool) {
	found, ok := fit.Divisors(e.freqs, e.effectiveBase(), fit.Options{Amplitude: e.amplitude})
	if !ok {
		return schemes.Scaling{}, false
	}
	s := found.Rotary.Scaling
	s.Frequencies = e.frequencies()
	if s.AttentionFactor = e.amplitude; s.Kind().Amplitude == nil {
		s.AttentionFactor = notOne(e.amplitude)
	}
	e.evidence = append(e.evidence, report.Evidence{Kind: "fit", Says: nameFreqs + " divides by " + s.String() + ": " + found.Why, Residual: report.Pointer(report.Number(found.Residual))})
	return s, true
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
