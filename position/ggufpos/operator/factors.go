package operator

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// fromFreqs names the scaling that rope_freqs.weight stands for. A scaling by
// keys on top multiplies, which no scheme names.
func (e *Rope) fromFreqs() schemes.Scaling {
	turning, masked := fit.Mask(e.Freqs)
	s := schemes.Scaling{Type: schemes.ScalingCustom, AttentionFactor: e.amplitude, Frequencies: e.frequencies()}
	if e.Factor != 1 {
		if masked && e.Yarn {
			e.say("structure", FreqsTensor+" stops pairs from turning")
			return schemes.Scaling{Type: schemes.ScalingYaRN, Rotated: turning, Factor: e.Factor, OriginalLength: e.Original, AttentionFactor: e.amplitude,
				BetaFast: e.betaFast, BetaSlow: e.betaSlow, Frequencies: e.frequencies()}
		}
		if masked {
			e.say("structure", FreqsTensor+" stops pairs from turning")
			return schemes.Scaling{Type: schemes.ScalingProportional, Rotated: turning, Factor: e.Factor, Frequencies: e.frequencies()}.WithAttentionFactor(e.amplitude)
		}
		if fit.Alike(e.Freqs) && !e.Yarn && e.Freqs[0] > 0 { // both divide
			e.say("fit", fmt.Sprintf("every divisor in %s is %g, and the keys divide by %g", FreqsTensor, e.Freqs[0], e.Factor))
			return schemes.Scaling{Type: schemes.ScalingLinear, Factor: e.Freqs[0] * e.Factor}.WithAttentionFactor(e.amplitude)
		}
		return s
	}
	switch {
	case slices.ContainsFunc(e.Freqs, func(d float64) bool { return !(d > 0) }):
		e.say("structure", FreqsTensor+" holds divisors that are not above 0")
		return s
	case masked:
		e.say("structure", FreqsTensor+" stops pairs from turning")
		return schemes.Scaling{Type: schemes.ScalingProportional, Rotated: turning, Frequencies: e.frequencies()}.WithAttentionFactor(e.amplitude)
	case fit.Alike(e.Freqs):
		e.say("fit", fmt.Sprintf("every divisor in %s is %g", FreqsTensor, e.Freqs[0]))
		return schemes.Scaling{Type: schemes.ScalingLinear, Factor: e.Freqs[0]}.WithAttentionFactor(e.amplitude)
	}
	if ramp, ok := e.fromRamp(); ok {
		return ramp
	}
	return s
}

// fromRamp names the scaling of divisors that rise from 1 to the factor. Only
// the ratios of Llama 3's original length and bounds show in them, so that its
// low bound is taken to be 1, as every published model has it.
func (e *Rope) fromRamp() (schemes.Scaling, bool) {
	found, ok := fit.Divisors(e.Freqs, e.effectiveBase(), fit.Options{Amplitude: e.amplitude})
	if !ok {
		return schemes.Scaling{}, false
	}
	s := found.Rotary.Scaling.WithAttentionFactor(e.amplitude)
	s.Frequencies = e.frequencies()
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: FreqsTensor + " divides by " + s.String() + ": " + found.Why, Residual: report.Pointer(report.Number(found.Residual))})
	return s, true
}

// frequencies are the inverse frequencies that the engine uses.
func (e *Rope) frequencies() []float64 {
	low, high := e.ramp()
	out := make([]float64, e.Dims/2)
	for i := range out {
		out[i] = e.angle(i, 1, e.Freqs, low, high)
	}
	return out
}

// Masked reports whether the divisors of rope_freqs.weight only stop pairs from
// turning.
func (e *Rope) Masked() bool {
	_, masked := fit.Mask(e.Freqs)
	return masked
}
