// Package ink holds the colours of pictures: those of lines and words by what
// they are for, on light and on dark paper, and those of heat maps.
//
// Lines have the colours of Okabe and Ito ("Color Universal Design", 2008,
// https://jfly.uni-koeln.de/color/), which people with any common form of
// colour blindness tell apart; yellow is left to dark paper and black to light
// paper, where they can be seen.
package ink

import "image/color"

// Ink is what a colour is for.
type Ink int

// Inks. Series colours are Series + 0 … Series + SeriesCount − 1.
const (
	None   Ink = iota
	Paper      // the ground
	Text       // titles and numbers
	Muted      // labels of axes, notes
	Grid       // lines behind the data
	Shadow     // bands
	Rule       // lengths across the data
	Fault      // NaN, zeros
	Series     // the first series
)

// SeriesCount is how many series have a colour of their own.
const SeriesCount = 8

// rgb is a colour as 0xRRGGBB.
type rgb uint32

// Colours on light and on dark paper, by ink.
var (
	light = [...]rgb{None: 0, Paper: 0xffffff, Text: 0x1a1a1a, Muted: 0x595959, Grid: 0xe4e4e4, Shadow: 0xececec, Rule: 0x4d4d4d, Fault: 0xd55e00,
		Series: 0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x000000, 0x7f7f7f}
	dark = [...]rgb{None: 0, Paper: 0x16181c, Text: 0xf0f0f0, Muted: 0xb4b8be, Grid: 0x33373d, Shadow: 0x2a2e34, Rule: 0xc8ccd2, Fault: 0xff8a3d,
		Series: 0x56b4e9, 0xe69f00, 0x009e73, 0xcc79a7, 0xf0e442, 0xd55e00, 0xffffff, 0x9a9a9a}
)

// Hex is an ink as CSS writes it.
func Hex(i Ink, onDark bool) string {
	const digits = "0123456789abcdef"
	c := at(i, onDark)
	out := []byte("#000000")
	for k := range 6 {
		out[6-k] = digits[c>>(4*k)&15]
	}
	return string(out)
}

// Color is an ink as images have it.
func Color(i Ink, onDark bool) color.RGBA { return at(i, onDark).color() }

func at(i Ink, onDark bool) rgb {
	if i < 0 || int(i) >= len(light) {
		i = Text
	}
	if onDark {
		return dark[i]
	}
	return light[i]
}

func (c rgb) color() color.RGBA { return color.RGBA{uint8(c >> 16), uint8(c >> 8), uint8(c), 255} }
