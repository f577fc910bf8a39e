package ink

import (
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"image"
	"image/color"
	"math"

	"github.com/modelpatch/modelpatch/picture/figure"
)

// Levels is how many shades a heat map has; the entry behind them in its
// palette stands for NaN.
const Levels = 15

// Shades are the colours of a heat map: from blue over white to vermillion
// (Okabe and Ito) where numbers have two sides, from white to blue where they
// have one, and grey for NaN.
func Shades(sequential bool) color.Palette {
	const blue, white, vermillion, grey = rgb(0x0072b2), rgb(0xf7f7f7), rgb(0xd55e00), rgb(0x8c8c8c)
	out := make(color.Palette, 0, Levels+1)
	for i := range Levels {
		t := float64(i) / (Levels - 1)
		switch {
		case sequential:
			out = append(out, between(white, blue, t))
		case t < 0.5:
			out = append(out, between(blue, white, 2*t))
		default:
			out = append(out, between(white, vermillion, 2*t-1))
		}
	}
	return append(out, grey.color())
}

func between(a, b rgb, t float64) color.RGBA {
	p, q := a.color(), b.color()
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + t*(float64(y)-float64(x)))) }
	return color.RGBA{mix(p.R, q.R), mix(p.G, q.G), mix(p.B, q.B), 255}
}

// levelOf is the shade of a number, Levels for NaN.
func levelOf(h *figure.Heat, v float64) int {
	if math.IsNaN(v) {
		return Levels
	}
	low := -h.Limit
	if h.Sequential {
		low = h.Floor
	}
	t := (v - low) / (h.Limit - low)
	if math.IsNaN(t) {
		t = 0.5
	}
	return int(math.Round(min(max(t, 0), 1) * (Levels - 1)))
}

// Image is a heat map, a pixel a cell.
func Image(h *figure.Heat) *image.Paletted {
	m := image.NewPaletted(image.Rect(0, 0, h.Columns, h.Rows), Shades(h.Sequential))
	for i := range min(len(h.Values), len(m.Pix)) {
		m.Pix[i] = uint8(levelOf(h, h.Values[i]))
	}
	return m
}

// PNG is a heat map as a PNG of 16 colours whose rows are stored and not
// compressed, so that the same numbers give the same bytes with every release
// of Go (W3C Portable Network Graphics, 3rd edition; RFC 1950 and 1951).
func PNG(h *figure.Heat) []byte {
	const storedMost = 1<<16 - 1
	palette := Shades(h.Sequential)
	stride := (h.Columns + 1) / 2
	rows := make([]byte, 0, h.Rows*(stride+1))
	for y := range h.Rows {
		rows = append(rows, 0) // no filter
		line := make([]byte, stride)
		for x := range h.Columns {
			level := byte(Levels)
			if i := y*h.Columns + x; i < len(h.Values) {
				level = byte(levelOf(h, h.Values[i]))
			}
			line[x/2] |= level << (4 * (1 - x%2))
		}
		rows = append(rows, line...)
	}
	data := []byte{0x78, 0x01}
	for left := rows; ; {
		n := min(len(left), storedMost)
		final := byte(0)
		if n == len(left) {
			final = 1
		}
		data = append(data, final, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
		data = append(data, left[:n]...)
		if left = left[n:]; final == 1 {
			break
		}
	}
	data = binary.BigEndian.AppendUint32(data, adler32.Checksum(rows))

	return File(h.Columns, h.Rows, colours16, palette, data)
}

// Kinds of PNG files: bits of a channel, and what a pixel is (Portable Network Graphics,
// 3rd edition, table 11.1).
var (
	TrueColour = [2]byte{8, 2}
	colours16  = [2]byte{4, 3}
)

// File is a PNG file of rows that are compressed already.
func File(width, height int, kind [2]byte, palette color.Palette, rows []byte) []byte {
	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	head = append(head, kind[0], kind[1], 0, 0, 0) // deflate, filters, not interlaced
	var colours []byte
	for _, c := range palette {
		r := c.(color.RGBA)
		colours = append(colours, r.R, r.G, r.B)
	}
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct {
		name string
		data []byte
	}{{"IHDR", head}, {"PLTE", colours}, {"IDAT", rows}, {"IEND", nil}} {
		if c.name == "PLTE" && palette == nil {
			continue
		}
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		body := append([]byte(c.name), c.data...)
		out = append(out, body...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	}
	return out
}
