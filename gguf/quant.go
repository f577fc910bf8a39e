package gguf

import (
	"encoding/binary"
)

// The simple quantised types: blocks of 32 values with one scale, and for the
// _1 types a minimum. The low nibbles hold the first half of a block.
//
// Decoders of all types give the float32 numbers that ggml and gguf-py compute,
// bit for bit: products of a scale and a small whole number are exact, and the
// one sum or product that is not is rounded by single.

const block = 32

// single rounds to float32.
func single(v float64) float64 { return float64(float32(v)) }

func decodeQ80(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[34:], dst[block:] {
		d := half(o.Uint16(raw))
		for i := range block {
			dst[i] = d * float64(int8(raw[2+i]))
		}
	}
}

// decodeQ81 reads Q8_1, whose second half-float is a sum that products use.
func decodeQ81(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[36:], dst[block:] {
		d := half(o.Uint16(raw))
		for i := range block {
			dst[i] = d * float64(int8(raw[4+i]))
		}
	}
}

func decodeQ40(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[18:], dst[block:] {
		d := half(o.Uint16(raw))
		for i, b := range raw[2:18] {
			dst[i] = d * float64(int(b&15)-8)
			dst[i+16] = d * float64(int(b>>4)-8)
		}
	}
}

func decodeQ41(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[20:], dst[block:] {
		d, m := half(o.Uint16(raw)), half(o.Uint16(raw[2:]))
		for i, b := range raw[4:20] {
			dst[i] = single(d*float64(b&15) + m)
			dst[i+16] = single(d*float64(b>>4) + m)
		}
	}
}

func decodeQ50(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[22:], dst[block:] {
		d, high := half(o.Uint16(raw)), o.Uint32(raw[2:])
		for i, b := range raw[6:22] {
			dst[i] = d * float64(int(fifth(b&15, high, i))-16)
			dst[i+16] = d * float64(int(fifth(b>>4, high, i+16))-16)
		}
	}
}

func decodeQ51(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[24:], dst[block:] {
		d, m, high := half(o.Uint16(raw)), half(o.Uint16(raw[2:])), o.Uint32(raw[4:])
		for i, b := range raw[8:24] {
			dst[i] = single(d*float64(fifth(b&15, high, i)) + m)
			dst[i+16] = single(d*float64(fifth(b>>4, high, i+16)) + m)
		}
	}
}

// fifth adds bit i of high to a nibble as its fifth bit.
func fifth(nibble byte, high uint32, i int) byte {
	return nibble | byte(high>>i&1)<<4
}
