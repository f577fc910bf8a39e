//go:build ignore

// Command generate writes letters.bin, the outlines of Go Regular: go generate ./picture/raster
//
// The type is that of golang.org/x/image/font/gofont/goregular (Bigelow & Holmes, with the licence of Go). Its 660 outlines
// are kept in a form that needs no reader of OpenType when the program runs: sfnt and its tables of old
// character sets would be 0.3 MB of the executable.
package main

import (
	"encoding/binary"
	"log"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

func main() {
	f, err := sfnt.Parse(goregular.TTF)
	if err != nil {
		log.Fatal(err)
	}
	var b sfnt.Buffer
	ppem := fixed.Int26_6(f.UnitsPerEm()) // so that 26.6 numbers are units of the type
	out := binary.AppendUvarint(nil, uint64(f.UnitsPerEm()))
	last := rune(0)
	for r := rune(' '); r < 0x10000; r++ {
		i, err := f.GlyphIndex(&b, r)
		if err != nil || i == 0 && r != 0xfffd {
			continue
		}
		width, err := f.GlyphAdvance(&b, i, ppem, font.HintingNone)
		if err != nil {
			log.Fatal(err)
		}
		segments, err := f.LoadGlyph(&b, i, ppem, nil)
		if err != nil {
			log.Fatal(err)
		}
		out = binary.AppendUvarint(out, uint64(r-last))
		out = binary.AppendUvarint(out, uint64(width))
		out = binary.AppendUvarint(out, uint64(len(segments)))
		last = r
		var x, y fixed.Int26_6
		for _, s := range segments {
			points := map[sfnt.SegmentOp]int{sfnt.SegmentOpMoveTo: 1, sfnt.SegmentOpLineTo: 1, sfnt.SegmentOpQuadTo: 2}[s.Op]
			if points == 0 {
				log.Fatalf("%q has cubic curves", r)
			}
			out = append(out, byte(s.Op))
			for _, p := range s.Args[:points] {
				out = binary.AppendVarint(binary.AppendVarint(out, int64(p.X-x)), int64(p.Y-y))
				x, y = p.X, p.Y
			}
		}
	}
	if err := os.WriteFile("letters.bin", out, 0o644); err != nil {
		log.Fatal(err)
	}
}
