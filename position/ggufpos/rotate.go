package ggufpos

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/schemes"
)

// rotate computes M·cos and M·sin of each pair for one position, as ggml's
// rope operator does (facts/GGUF-FACTS §b, "What the engine computes"), in
// float64. length is that of the context, which chooses LongRoPE's factors.
func (e *engine) rotate(pos, length int, cos, sin []float64) {
	divisors := e.freqs
	if e.long != nil || e.short != nil {
		if divisors = e.short; length > e.original {
			divisors = e.long
		}
	}
	low, high := e.ramp()
	for i := 0; i < e.dims/2 && i < len(cos); i++ {
		angle := 0.0
		if e.turns(i) {
			angle = e.angle(i, float64(pos), divisors, low, high)
		}
		cos[i], sin[i] = e.amplitude*math.Cos(angle), e.amplitude*math.Sin(angle)
	}
}

// angle is the turn of pair i at a position.
func (e *engine) angle(i int, pos float64, divisors []float64, low, high float64) float64 {
	theta := pos * math.Pow(e.effectiveBase(), -2*float64(i)/float64(e.dims))
	if i < len(divisors) {
		theta /= divisors[i]
	}
	interpolated := theta / e.factor
	if !e.yarn {
		return interpolated
	}
	ramp := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
	return interpolated*(1-ramp) + theta*ramp
}

// effectiveBase is the base after hunyuan's NTK factor.
func (e *engine) effectiveBase() float64 {
	if e.alpha > 0 && e.headDim > 2 {
		return e.base * math.Pow(e.alpha, float64(e.headDim)/float64(e.headDim-2))
	}
	return e.base
}

// keyBase is the base that the key must state for a rotation: hunyuan's NTK factor
// is applied to it unless that is the rotation's own scaling.
func (e *engine) keyBase(r schemes.Rotary) float64 {
	// A base that is no number is not even equal to itself.
	if r.Scaling.Kind().IsBase() || math.Float64bits(e.effectiveBase()) == math.Float64bits(e.base) || !validBase(e.base) {
		return r.Base
	}
	if r.Base == e.effectiveBase() {
		return e.base
	}
	return r.Base * e.base / e.effectiveBase()
}

// ramp is where YaRN's ramp starts and ends, in pairs.
func (e *engine) ramp() (low, high float64) {
	if !e.yarn {
		return 0, 0
	}
	dim := func(turns float64) float64 {
		return float64(e.dims) * math.Log(float64(e.original)/(turns*2*math.Pi)) / (2 * math.Log(e.effectiveBase()))
	}
	return math.Max(0, math.Floor(dim(e.betaFast))), math.Min(float64(e.dims-1), math.Ceil(dim(e.betaSlow)))
}

// turns reports whether pair i of a text token turns: in M-RoPE the last
// section has position 0 for text.
func (e *engine) turns(i int) bool {
	if len(e.sections) < 4 {
		return true
	}
	t, h, w := e.sections[0], e.sections[1], e.sections[2]
	total := t + h + w + e.sections[3]
	if total == 0 {
		return true
	}
	j := i % total
	if e.pairing != "imrope" {
		return j < t+h+w
	}
	return slices.Contains([]bool{j%3 == 0 && j < 3*t, j%3 == 1 && j < 3*h, j%3 == 2 && j < 3*w}, true)
}
