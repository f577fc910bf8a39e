package operator

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// Rotate computes M·cos and M·sin of each pair for one position, as ggml's
// rope operator does (facts/GGUF-FACTS §b, "What the engine computes"), in
// float64. length is that of the context, which chooses LongRoPE's factors.
// cos and sin have one element a pair.
func (e *Rope) Rotate(pos, length int, cos, sin []float64) {
	divisors := e.Freqs
	if e.Long != nil || e.Short != nil {
		if divisors = e.Short; length > e.Original {
			divisors = e.Long
		}
	}
	low, high := e.ramp()
	for i := 0; i < e.Dims/2 && i < len(cos); i++ {
		angle := 0.0
		if e.turns(i) {
			angle = e.angle(i, float64(pos), divisors, low, high)
		}
		cos[i], sin[i] = e.amplitude*math.Cos(angle), e.amplitude*math.Sin(angle)
	}
}

// angle is the turn of pair i at a position.
func (e *Rope) angle(i int, pos float64, divisors []float64, low, high float64) float64 {
	theta := pos * math.Pow(e.effectiveBase(), -2*float64(i)/float64(e.Dims))
	if i < len(divisors) {
		theta /= divisors[i]
	}
	interpolated := theta / e.Factor
	if !e.Yarn {
		return interpolated
	}
	ramp := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
	ramp *= e.ramped // ggml's rope_yarn
	return interpolated*(1-ramp) + theta*ramp
}

// effectiveBase is the base after hunyuan's NTK factor.
func (e *Rope) effectiveBase() float64 {
	if e.Alpha > 0 && e.HeadDim > 2 {
		return e.Base * math.Pow(e.Alpha, float64(e.HeadDim)/float64(e.HeadDim-2))
	}
	return e.Base
}

// KeyBase is the base that the key must state for a rotation: hunyuan's NTK factor
// is applied to it unless that is the rotation's own scaling.
func (e *Rope) KeyBase(r schemes.Rotary) float64 {
	// A base that is no number is not even equal to itself.
	if r.Scaling.Kind().IsBase() || math.Float64bits(e.effectiveBase()) == math.Float64bits(e.Base) || !ValidBase(e.Base) {
		return r.Base
	}
	if r.Base == e.effectiveBase() {
		return e.Base
	}
	return r.Base * e.Base / e.effectiveBase()
}

// ramp is where YaRN's ramp starts and ends, in pairs.
func (e *Rope) ramp() (low, high float64) {
	if !e.Yarn {
		return 0, 0
	}
	dim := func(turns float64) float64 {
		return float64(e.Dims) * math.Log(float64(e.Original)/(turns*2*math.Pi)) / (2 * math.Log(e.effectiveBase()))
	}
	return math.Max(0, math.Floor(dim(e.betaFast))), math.Min(float64(e.Dims-1), math.Ceil(dim(e.betaSlow)))
}

// turns reports whether pair i of a text token turns: in M-RoPE the last
// section has position 0 for text.
func (e *Rope) turns(i int) bool {
	if len(e.Sections) < 4 {
		return true
	}
	t, h, w := e.Sections[0], e.Sections[1], e.Sections[2]
	total := t + h + w + e.Sections[3]
	if total == 0 {
		return true
	}
	j := i % total
	if e.Pairing != "imrope" {
		return j < t+h+w
	}
	return slices.Contains([]bool{j%3 == 0 && j < 3*t, j%3 == 1 && j < 3*h, j%3 == 2 && j < 3*w}, true)
}

// ValidBase reports whether a number can be a base: above 1, and a float32.
func ValidBase(v float64) bool { return v > 1 && v <= math.MaxFloat32 }
