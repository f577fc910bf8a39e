package gguf

import "encoding/binary"

// The types of one bit, of three levels and of four.

func decodeQ10(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[18:], dst[128:] {
		d := half(o.Uint16(raw))
		for i := range 128 {
			dst[i] = d * float64(int(raw[2+i/8]>>(i%8)&1)*2-1)
		}
	}
}

func decodeQ20(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[18:], dst[64:] {
		d := half(o.Uint16(raw))
		for i := range 64 {
			dst[i] = d * float64(int(raw[2+i/4]>>(i%4*2)&3)-1)
		}
	}
}

func decodeTQ20(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[66:], dst[super:] {
		d := half(o.Uint16(raw[64:]))
		for i := range super { // each 32 bytes hold four times 32 values
			dst[i] = d * float64(int(raw[i/128*32+i%32]>>(i%128/32*2)&3)-1)
		}
	}
}

// powers3 are the places of a number to base three, as TQ1_0 shifts them out.
var powers3 = [5]byte{1, 3, 9, 27, 81}

// trit is digit n of a byte of TQ1_0: the byte is the five-digit number times
// 256/243, so that the wanted digit is what overflows when it is tripled.
func trit(b byte, n int) float64 {
	return float64(int(uint16(b*powers3[n])*3>>8) - 1)
}

func decodeTQ10(o binary.ByteOrder, raw []byte, dst []float64) {
	for ; len(dst) > 0; raw, dst = raw[54:], dst[super:] {
		d := half(o.Uint16(raw[52:]))
		for i := range super { // 32 and 16 bytes of five digits, 4 bytes of four
			switch {
			case i < 160:
				dst[i] = d * trit(raw[i%32], i/32)
			case i < 240:
				dst[i] = d * trit(raw[32+(i-160)%16], (i-160)/16)
			default:
				dst[i] = d * trit(raw[48+(i-240)%4], (i-240)/4)
			}
		}
	}
}
