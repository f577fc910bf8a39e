package fit

import "math"

// Precision is the type in which numbers were stored, in the report's words.
type Precision string

// The precisions that tables come in. Int8 are 256 steps across the table's
// range, signed or not, as quantisers make them: its errors are absolute, in
// units of the amplitude.
const (
	Float64  Precision = "float64"
	Float32  Precision = "float32"
	Float16  Precision = "float16"
	BFloat16 Precision = "bfloat16"
	Int8     Precision = "int8"
)

// Step is the largest relative error of rounding to this precision, of Int8
// relative to the amplitude; an unknown precision is taken as float32.
func (p Precision) Step() float64 {
	switch p {
	case Float64:
		return 1.0 / (1 << 53)
	case Float16:
		return 1.0 / (1 << 11)
	case BFloat16:
		return 1.0 / (1 << 8)
	case Int8:
		return 1.0 / 255
	}
	return 1.0 / (1 << 24)
}

// Round is x as stored in this precision, rounded once, ties to even (IEEE 754
// roundTiesToEven; by way of float32 a number just above a tie would fall on
// it). Int8 does not round: that wants the table's own scale.
func (p Precision) Round(x float64) float64 {
	switch p {
	case Float64, Int8:
		return x
	case Float16:
		return roundBits(x, 11, -14)
	case BFloat16:
		return roundBits(x, 8, -126)
	}
	return float64(float32(x))
}

// Precisions are those in which numbers may have been stored before they came to be in one: that one, and of floating point coarser ones of
// which all of them are. What converters fold was rounded before.
func Precisions(p Precision, of ...Matrix) []Precision {
	out := []Precision{p}
	if p != Float32 && p != Float64 {
		return out
	}
	for _, coarse := range []Precision{Float16, BFloat16} {
		if isRounded(coarse, of) {
			out = append(out, coarse)
		}
	}
	return out
}

// isRounded reports whether all numbers are of a coarser precision, and one at the least says so: whole ones, and those of few bits, are of any.
// That one of 32 bits ends so by chance is 1 in 2¹³.
func isRounded(p Precision, of []Matrix) bool {
	told := false
	for _, m := range of {
		for r := range m.Rows() {
			for c := range m.Cols() {
				x := m.At(r, c)
				if p.Round(x) != x {
					return false
				}
				told = told || x != math.Trunc(x) && roundBits(x, fewBits, -126) != x
			}
		}
	}
	return told
}

// fewBits are the significant bits of numbers that a person may have chosen.
const fewBits = 4

// roundBits rounds to a significand of the given bits, fewer below the least
// normal exponent. Overflow is no concern: tables hold small numbers.
func roundBits(x float64, bits, least int) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	e = max(e-1, least)
	unit := math.Ldexp(1, e-bits+1)
	return math.RoundToEven(x/unit) * unit
}
