package gguf

import (
	"encoding/binary"
	"math"
)

// The K types: super-blocks of 256 values whose parts have their own scales,
// themselves quantised. Layouts as in ggml; each decoder walks them as stored.

const super = 256

// scalesK unpacks scale and minimum number i of Q4_K and Q5_K: eight pairs of
// six bits in twelve bytes, the last four pairs with their high bits apart.
func scalesK(s []byte, i int) (scale, minimum float64) {
	if i < 4 {
		return float64(s[i] & 63), float64(s[i+4] & 63)
	}
	return float64(s[i+4]&15 | s[i-4]>>6<<4), float64(s[i+4]>>4 | s[i]>>6<<4)
}

func decodeQ4K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[144:], dst[super:] {
		d, dmin := half(o.Uint16(raw)), half(o.Uint16(raw[2:]))
		scales, q := raw[4:16], raw[16:144]
		for part := range 8 { // parts 2j and 2j+1: low and high nibbles of 32 bytes
			s, m := scalesK(scales, part)
			for i := range 32 {
				v := q[part/2*32+i] >> (part % 2 * 4) & 15
				dst[part*32+i] = single(d*s*float64(v) - dmin*m)
			}
		}
	}
}

func decodeQ5K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[176:], dst[super:] {
		d, dmin := half(o.Uint16(raw)), half(o.Uint16(raw[2:]))
		scales, high, q := raw[4:16], raw[16:48], raw[48:176]
		for part := range 8 {
			s, m := scalesK(scales, part)
			for i := range 32 {
				v := q[part/2*32+i]>>(part%2*4)&15 | high[i]>>part&1<<4
				dst[part*32+i] = single(d*s*float64(v) - dmin*m)
			}
		}
	}
}

func decodeQ6K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[210:], dst[super:] {
		low, high, scales, d := raw[:128], raw[128:192], raw[192:208], half(o.Uint16(raw[208:]))
		for i := range super {
			half128, r := i/128, i%128 // each half: 64 low bytes, 32 high bytes
			nibble := low[half128*64+r%64] >> (r / 64 * 4) & 15
			two := high[half128*32+r%32] >> (r / 32 * 2) & 3
			dst[i] = d * float64(int8(scales[i/16])) * float64(int(nibble|two<<4)-32)
		}
	}
}

func decodeQ2K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[84:], dst[super:] {
		scales, q := raw[:16], raw[16:80]
		d, dmin := half(o.Uint16(raw[80:])), half(o.Uint16(raw[82:]))
		for i := range super {
			s := scales[i/16]
			v := q[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3
			dst[i] = single(d*float64(s&15)*float64(v) - dmin*float64(s>>4))
		}
	}
}

func decodeQ3K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[110:], dst[super:] {
		mask, q, packed, d := raw[:32], raw[32:96], raw[96:108], half(o.Uint16(raw[108:]))
		for i := range super {
			k := i / 16 // sixteen scales of six bits: low nibbles in 8 bytes, high pairs in 4
			s := packed[k%8]>>(k/8*4)&15 | packed[8+k%4]>>(k/4*2)&3<<4
			v := int(q[i/128*32+i%32] >> (i % 128 / 32 * 2) & 3)
			if mask[i%32]>>(i/32)&1 == 0 {
				v -= 4
			}
			dst[i] = d * float64(int(s)-32) * float64(v)
		}
	}
}

// decodeQ8K reads Q8_K: a float32 scale, 256 values, and sums of sixteen that
// only products use.
func decodeQ8K(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[292:], dst[super:] {
		d := float64(math.Float32frombits(o.Uint32(raw)))
		for i := range super {
			dst[i] = single(d * float64(int8(raw[4+i])))
		}
	}
}
