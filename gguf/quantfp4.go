package gguf

import (
	"encoding/binary"
	"math"
)

// The four-bit floats: nibbles are E2M1 numbers (OCP Microscaling Formats 1.0
// §5.3.3), the scale of a block is a small float of its own.

// levelsE2M1 are the E2M1 numbers doubled, so that they are whole; scales are
// halved in turn.
var levelsE2M1 = [16]float64{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}

// decodeMXFP4 reads blocks of 32 with a power of two as scale (E8M0).
func decodeMXFP4(_ binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[17:], dst[block:] {
		leveled(dst, raw[1:17], math.Ldexp(1, int(raw[0])-128), &levelsE2M1)
		for i, v := range dst[:block] {
			dst[i] = single(v) // the largest scales leave the range of float32
		}
	}
}

// scaleE4M3 reads an unsigned E4M3 number (bias 7) and halves it. The number
// for NaN counts as zero, and the highest bit is not looked at, as in ggml.
func scaleE4M3(bits byte) float64 {
	exponent, fraction := int(bits>>3&15), float64(bits&7)
	switch {
	case bits == 0x7F:
		return 0
	case exponent == 0:
		return math.Ldexp(fraction, -10)
	}
	return math.Ldexp(8+fraction, exponent-11)
}

// decodeNVFP4 reads blocks of 64: four scales, each for 16 values.
func decodeNVFP4(_ binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[36:], dst[64:] {
		for part := range 4 {
			leveled(dst[part*16:], raw[4+8*part:12+8*part], scaleE4M3(raw[part]), &levelsE2M1)
		}
	}
}
