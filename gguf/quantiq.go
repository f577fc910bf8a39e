package gguf

import (
	_ "embed"
	"encoding/binary"
	"math/bits"
)

// The IQ types: super-blocks whose values stand in code books ("grids") of
// eight or four values, found by index, with signs and scales apart. Layouts as
// in ggml. Fields wider than a byte follow the file's byte order as the others
// do, but no tool writes IQ types in a big-endian file, so nothing there could
// be compared.

// gridBytes holds the code books, one after the other, as indices into their
// levels: two bits each, or three in a nibble. testdata/grids.py wrote it from
// the tables of gguf-py 0.19.0, which are those of ggml-common.h.
//
//go:embed grids.bin
var gridBytes string

// grid is a code book: entries of width values, each one of levels.
type grid struct {
	at, width int // offset into gridBytes; values of an entry
	bits      int // of an index into levels, as stored
	levels    []float64
}

var (
	levels2 = []float64{8, 25, 43}
	levels1 = []float64{-1, 0, 1}

	gridIQ2XXS = grid{0, 8, 2, levels2}                                     // 256 entries
	gridIQ2XS  = grid{512, 8, 2, levels2}                                   // 512
	gridIQ2S   = grid{1536, 8, 2, levels2}                                  // 1024
	gridIQ1S   = grid{3584, 8, 2, levels1}                                  // 2048, of IQ1_M as well
	gridIQ3XXS = grid{7680, 4, 4, []float64{4, 12, 20, 28, 36, 44, 52, 62}} // 256
	gridIQ3S   = grid{8192, 4, 4, []float64{1, 3, 5, 7, 9, 11, 13, 15}}     // 512
)

// value is value k of an entry.
func (g grid) value(entry, k int) float64 {
	i := (entry*g.width + k) * g.bits
	return g.levels[gridBytes[g.at+i/8]>>(i%8)&(1<<g.bits-1)]
}

// signed stores an entry times scale; bit k of signs makes value k negative.
func (g grid) signed(dst []float64, entry int, scale float64, signs byte) {
	for k := range g.width {
		v := scale * g.value(entry, k)
		if signs>>k&1 != 0 {
			v = -v
		}
		dst[k] = v
	}
}

// evenSigns adds the eighth sign to seven: the number of negative values is
// even, so it is not stored.
func evenSigns(seven uint32) byte {
	seven &= 127
	return byte(seven) | byte(bits.OnesCount32(seven)&1)<<7
}

// nibbleOf is nibble i of packed nibbles, low ones first.
func nibbleOf(packed []byte, i int) byte { return packed[i/2] >> (i % 2 * 4) & 15 }

func decodeIQ2XXS(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[66:], dst[super:] {
		d := half(o.Uint16(raw))
		for part := range 8 { // 32 values: four indices, four times seven signs, a scale
			indices, packed := raw[2+8*part:6+8*part], o.Uint32(raw[6+8*part:])
			scale := d * (0.5 + float64(packed>>28)) / 4
			for i, entry := range indices {
				gridIQ2XXS.signed(dst[part*32+i*8:], int(entry), scale, evenSigns(packed>>(7*i)))
			}
		}
	}
}

func decodeIQ2XS(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[74:], dst[super:] {
		d, scales := half(o.Uint16(raw)), raw[66:74]
		for i := range 32 { // nine bits of index, seven signs
			packed := o.Uint16(raw[2+2*i:])
			scale := d * (0.5 + float64(nibbleOf(scales, i/2))) / 4
			gridIQ2XS.signed(dst[i*8:], int(packed&511), scale, evenSigns(uint32(packed>>9)))
		}
	}
}

func decodeIQ2S(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[82:], dst[super:] {
		d, low, signs, high, scales := half(o.Uint16(raw)), raw[2:34], raw[34:66], raw[66:74], raw[74:82]
		for i := range 32 {
			entry := int(low[i]) | int(high[i/4]>>(i%4*2)&3)<<8
			scale := d * (0.5 + float64(nibbleOf(scales, i/2))) / 4
			gridIQ2S.signed(dst[i*8:], entry, scale, signs[i])
		}
	}
}

func decodeIQ3XXS(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[98:], dst[super:] {
		d, indices := half(o.Uint16(raw)), raw[2:66]
		for part := range 8 {
			packed := o.Uint32(raw[66+4*part:])
			scale := d * (0.5 + float64(packed>>28)) / 2
			for i := range 8 { // each seven stored signs serve two entries of four
				signs := evenSigns(packed>>(7*(i/2))) >> (i % 2 * 4)
				gridIQ3XXS.signed(dst[part*32+i*4:], int(indices[part*8+i]), scale, signs)
			}
		}
	}
}

func decodeIQ3S(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[110:], dst[super:] {
		d, low, high, signs, scales := half(o.Uint16(raw)), raw[2:66], raw[66:74], raw[74:106], raw[106:110]
		for i := range 64 {
			entry := int(low[i]) | int(high[i/8]>>(i%8)&1)<<8
			scale := d * float64(1+2*int(nibbleOf(scales, i/8)))
			gridIQ3S.signed(dst[i*4:], entry, scale, signs[i/2]>>(i%2*4))
		}
	}
}

// deltaIQ1 is added to or taken from every value of an IQ1 code book.
const deltaIQ1 = 0.125

// shifted stores an entry of the IQ1 code book, moved by delta, times scale.
func shifted(dst []float64, entry int, scale, delta float64) {
	for k := range gridIQ1S.width {
		dst[k] = scale * (gridIQ1S.value(entry, k) + delta)
	}
}

func decodeIQ1S(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[50:], dst[super:] {
		d, low := half(o.Uint16(raw)), raw[2:34]
		for i := range 32 { // four entries share 16 bits: 4·3 of index, 3 of scale, the delta's sign
			high := int(o.Uint16(raw[34+i/4*2:]))
			delta := deltaIQ1
			if high&0x8000 != 0 {
				delta = -delta
			}
			entry := int(low[i]) | high>>(i%4*3)&7<<8
			shifted(dst[i*8:], entry, d*float64(2*(high>>12&7)+1), delta)
		}
	}
}

func decodeIQ1M(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[56:], dst[super:] {
		low, high, scales := raw[:32], raw[32:48], raw[48:56]
		var packed uint16 // the scale's four nibbles are the top ones of four words
		for i := range 4 {
			packed |= o.Uint16(scales[2*i:]) >> 12 << (4 * i)
		}
		d := half(packed)
		for i := range 32 {
			scale := o.Uint16(scales[i/8*2:]) >> (i / 2 % 4 * 3) & 7
			more := int(nibbleOf(high, i))
			delta := deltaIQ1
			if more&8 != 0 {
				delta = -delta
			}
			shifted(dst[i*8:], int(low[i])|more&7<<8, d*float64(2*scale+1), delta)
		}
	}
}

// levels4 are the values of IQ4_NL and IQ4_XS (kvalues_iq4nl of ggml-common.h).
var levels4 = [16]float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}

// leveled stores 32 values from 16 bytes of nibbles, the first half in the low
// ones.
func leveled(dst []float64, packed []byte, scale float64, levels *[16]float64) {
	middle := len(packed)
	for i, b := range packed {
		dst[i], dst[i+middle] = scale*levels[b&15], scale*levels[b>>4]
	}
}

func decodeIQ4NL(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[18:], dst[block:] {
		leveled(dst, raw[2:18], half(o.Uint16(raw)), &levels4)
	}
}

func decodeIQ4XS(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[136:], dst[super:] {
		d, high, low := half(o.Uint16(raw)), o.Uint16(raw[2:]), raw[4:8]
		for part := range 8 {
			scale := int(nibbleOf(low, part)) | int(high>>(2*part)&3)<<4
			leveled(dst[part*32:], raw[8+16*part:24+16*part], d*float64(scale-32), &levels4)
		}
	}
}
