package gguf

import (
	"encoding/binary"
	"math"
)

// half converts an IEEE 754 binary16 to float64; every value is exact. It is put together from
// bits: matrices of billions of weights pass here.
func half(bits uint16) float64 {
	sign, exponent, fraction := uint64(bits>>15)<<63, uint64(bits>>10&0x1F), uint64(bits&0x3FF)
	switch exponent {
	case 0: // denormal: a multiple of the smallest
		return math.Copysign(float64(fraction)*0x1p-24, math.Float64frombits(sign))
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return math.Float64frombits(sign | 0x7FF<<52)
	}
	return math.Float64frombits(sign | (exponent+1023-15)<<52 | fraction<<42)
}

// toHalf rounds to binary16, to nearest, ties to even; too large becomes
// infinite.
func toHalf(v float64) uint16 {
	sign := uint16(math.Float64bits(v) >> 48 & 0x8000)
	a := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return sign | 0x7E00
	case a >= 65520: // half-way between the largest value and the next step
		return sign | 0x7C00
	case a < math.Ldexp(1, -14): // denormal, or rounds up into the normals
		return sign | uint16(math.RoundToEven(math.Ldexp(a, 24)))
	}
	fraction, exponent := math.Frexp(a) // a = fraction · 2^exponent, fraction in [½, 1)
	mantissa := uint16(math.RoundToEven(math.Ldexp(fraction, 11)))
	return sign | (uint16(exponent+13)<<10 + mantissa) // a carry moves the exponent, as it should
}

// toBrain rounds to bfloat16, to nearest, ties to even. float64 is rounded to
// float32 with sticky last bit first, so that there is no double rounding.
func toBrain(v float64) uint16 {
	f := float32(v)
	bits := math.Float32bits(f)
	if math.IsNaN(v) {
		return uint16(bits>>16) | 0x40
	}
	if back := float64(f); back != v && bits&1 == 0 && !math.IsInf(back, 0) {
		// Round to odd: move towards v, then make the last bit 1.
		if math.Abs(back) > math.Abs(v) {
			bits--
		}
		bits |= 1
	}
	return uint16((bits + 0x7FFF + bits>>16&1) >> 16)
}

func decodeF32(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(math.Float32frombits(o.Uint32(raw[4*i:])))
	}
}

func decodeF64(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = math.Float64frombits(o.Uint64(raw[8*i:]))
	}
}

func decodeF16(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = half(o.Uint16(raw[2*i:]))
	}
}

func decodeBF16(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(math.Float32frombits(uint32(o.Uint16(raw[2*i:])) << 16))
	}
}

func decodeI8(_ binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(int8(raw[i]))
	}
}

func decodeI16(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(int16(o.Uint16(raw[2*i:])))
	}
}

func decodeI32(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(int32(o.Uint32(raw[4*i:])))
	}
}

func decodeI64(o binary.ByteOrder, raw []byte, dst []float64) {
	for i := range dst {
		dst[i] = float64(int64(o.Uint64(raw[8*i:])))
	}
}
