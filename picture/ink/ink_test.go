package ink

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/modelpatch/modelpatch/picture/figure"
)

// TestPNG reads heat maps back with image/png.
func TestPNG(t *testing.T) {
	for _, c := range []struct{ columns, rows int }{{1, 1}, {2, 1}, {3, 2}, {192, 128}, {193, 3}} {
		h := &figure.Heat{Columns: c.columns, Rows: c.rows, Limit: 1}
		for i := range c.columns * c.rows {
			h.Values = append(h.Values, math.Sin(float64(i)))
		}
		h.Values[0] = math.NaN()
		got, err := png.Decode(bytes.NewReader(PNG(h)))
		if err != nil {
			t.Fatal(err)
		}
		want := Image(h)
		if got.Bounds() != image.Rect(0, 0, c.columns, c.rows) {
			t.Fatalf("size %v", got.Bounds())
		}
		for y := range c.rows {
			for x := range c.columns {
				if color.RGBAModel.Convert(got.At(x, y)) != want.At(x, y) {
					t.Fatalf("pixel %d,%d of %d×%d", x, y, c.columns, c.rows)
				}
			}
		}
	}
}

func TestLevel(t *testing.T) {
	both, one := &figure.Heat{Limit: 2}, &figure.Heat{Limit: 2, Sequential: true, Floor: 1}
	for _, c := range []struct {
		h    *figure.Heat
		v    float64
		want int
	}{{both, -2, 0}, {both, -9, 0}, {both, 0, Levels / 2}, {both, 2, Levels - 1}, {both, math.Inf(1), Levels - 1}, {both, math.NaN(), Levels},
		{one, 1, 0}, {one, 1.5, Levels / 2}, {one, 2, Levels - 1}, {one, 0, 0}} {
		if got := levelOf(c.h, c.v); got != c.want {
			t.Errorf("%g: %d, want %d", c.v, got, c.want)
		}
	}
}

// TestContrast holds words against their paper: 4.5 by WCAG 2.2 (1.4.3), and lines
// against theirs: 3 (1.4.11), but for the two light colours of Okabe and Ito, which
// only later lines have.
func TestContrast(t *testing.T) {
	for _, dark := range []bool{false, true} {
		paper := Color(Paper, dark)
		for _, i := range []Ink{Text, Muted, Rule} {
			if c := contrast(Color(i, dark), paper); c < 4.5 {
				t.Errorf("ink %d, dark %v: contrast %.2f", i, dark, c)
			}
		}
		for i := Series; i < Series+3; i++ {
			if c := contrast(Color(i, dark), paper); c < 3 {
				t.Errorf("series %d, dark %v: contrast %.2f", i-Series, dark, c)
			}
		}
	}
}

// contrast is the ratio of WCAG 2.2.
func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		if s := float64(v) / 255; s > 0.04045 {
			return math.Pow((s+0.055)/1.055, 2.4)
		}
		return float64(v) / 255 / 12.92
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
