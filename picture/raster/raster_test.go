package raster

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/ink"
)

// TestPNG paints a line, a heat map and words, and looks for their colours.
func TestPNG(t *testing.T) {
	figures := []figure.Figure{{Title: "Title", Panels: []figure.Panel{
		{Title: "a line", X: figure.Axis{Label: "x"}, Y: figure.Axis{Label: "y"}, Series: []figure.Series{{Name: "a", X: []float64{0, 1, 2}, Y: []float64{0, 2, 1}}, {Name: "b", X: []float64{0, 2}, Y: []float64{2, 0}, Style: figure.Dashed}}},
		{Title: "cells", Heat: &figure.Heat{Columns: 2, Rows: 1, Values: []float64{-1, 1}, Limit: 1}},
	}}}
	for _, dark := range []bool{false, true} {
		content, err := PNG(figures, Options{Dark: dark})
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if m.Bounds().Dx() != 1520 {
			t.Errorf("%d pixels wide", m.Bounds().Dx())
		}
		count := map[color.RGBA]int{}
		for y := range m.Bounds().Dy() {
			for x := range m.Bounds().Dx() {
				count[color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)]++
			}
		}
		for _, c := range []struct {
			what string
			of   color.RGBA
			most int
		}{{"title", ink.Color(ink.Text, dark), 20_000}, {"first line", ink.Color(ink.Series, dark), 1 << 20}, {"second line", ink.Color(ink.Series+1, dark), 1 << 20}, {"cell", ink.Shades(false)[0].(color.RGBA), 1 << 22}} {
			if n := count[c.of]; n < 200 || n > c.most {
				t.Errorf("dark %v: %s: %d pixels", dark, c.what, n)
			}
		}
	}
}
