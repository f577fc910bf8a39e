package schemes

import "math"

// ScalingNTK is NTK-aware scaling: another base, which keeps the fastest
// frequency. It cannot be told from a plain base.
const ScalingNTK = "ntk"

var typeNTK = ScalingType{Name: ScalingNTK, Title: "NTK-aware scaling", Source: "bloc97 2023; facts/NUMERICS §4",
	Settable: true, Extends: true, NeedsFactor: true, OwnAmplitude: true, Complete: always,
	Base: func(r Rotary, _ int) float64 { return NTKBase(r.Base, r.Scaling.factor(), r.Dim) },
	ggml: func(Rotary, *ggmlSteps) {}}

// NTKBase is the base that stretches a rotary encoding by factor while its
// fastest frequency stays: base · factor^(dim/(dim−2)) ("NTK-aware" scaling,
// facts/NUMERICS §4). The slowest frequency becomes exactly 1/factor of itself.
func NTKBase(base, factor float64, dim int) float64 {
	d := float64(dim)
	return base * math.Pow(factor, d/(d-2))
}
