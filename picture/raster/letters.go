package raster

import (
	_ "embed"
	"encoding/binary"
	"unicode/utf8"
)

//go:generate go run generate.go

// outlines are the letters of Go Regular, in the form that generate.go writes: units of
// an em; then for each letter the step from the one before it, its width, and how many
// pieces its outline has, each a kind (0 begins a ring, 1 is a line, 2 a quadratic curve)
// and steps from point to point.
//
//go:embed letters.bin
var outlines string

// letter is the outline of one character, in ems; y grows downwards.
type letter struct {
	width  float64
	pieces []piece
}

// piece begins a ring at to, or goes on to it, in a curve around by.
type piece struct {
	kind   byte
	by, to [2]float64
}

// Kinds of pieces.
const (
	pieceBegin = iota
	pieceLine
	pieceCurve
)

// letters reads the outlines of the characters that there are.
func letters() map[rune]letter {
	rest := []byte(outlines)
	next := func() float64 {
		v, n := binary.Varint(rest)
		rest = rest[n:]
		return float64(v)
	}
	count := func() uint64 {
		v, n := binary.Uvarint(rest)
		rest = rest[n:]
		return v
	}
	em := float64(count())
	out := map[rune]letter{}
	r := rune(0)
	for len(rest) > 0 {
		r += rune(count())
		l := letter{width: float64(count()) / em}
		var at [2]float64
		point := func() [2]float64 {
			at[0] += next() / em
			at[1] += next() / em
			return at
		}
		for range count() {
			p := piece{kind: rest[0]}
			rest = rest[1:]
			if p.kind == pieceCurve {
				p.by = point()
			}
			p.to = point()
			l.pieces = append(l.pieces, p)
		}
		out[r] = l
	}
	return out
}

// of is the outline of a character, or of the sign for those that there are not.
func of(all map[rune]letter, r rune) letter {
	if l, ok := all[r]; ok {
		return l
	}
	return all[utf8.RuneError]
}
