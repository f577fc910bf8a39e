package fit

import (
	"math"
	"testing"
)

// TestOnCircles tells sines and cosines of any angles from rows that were trained.
func TestOnCircles(t *testing.T) {
	wave := func(r, c int) float64 { // Fourier features of three axes, and the coordinates beside them
		at := []float64{float64(r / 6), float64(r / 2 % 3), float64(r % 2)}[c/9]
		switch k := c % 9; {
		case k == 8:
			return at
		case k < 4:
			return math.Sin(at * 0.37 * float64(1+k*k))
		default:
			return math.Cos(at * 0.37 * float64(1+(k-4)*(k-4)))
		}
	}
	for _, c := range []struct {
		name string
		at   func(r, c int) float64
		want bool
	}{
		{"waves of three axes", func(r, c int) float64 { return wave(r, c) }, true},
		{"float32", func(r, c int) float64 { return float64(float32(wave(r, c))) }, true},
		{"padded with zeros", func(r, c int) float64 {
			if c > 22 {
				return 0
			}
			return wave(r, c)
		}, true},
		{"trained", func(r, c int) float64 { return math.Sin(float64(r*r*31+c*c*17+r*c*7)) * 0.7 }, false},
		{"signs", func(r, c int) float64 { return math.Copysign(0.5, math.Sin(float64(r*r*31+c*c*17+r*c*7))) }, false},
		{"zeros", func(int, int) float64 { return 0 }, false},
		{"half of the columns", func(r, c int) float64 {
			if c%2 == 0 {
				return wave(r, c)
			}
			return math.Sin(float64(r*r*31 + c*c*17 + r*c*7))
		}, false},
	} {
		if got := OnCircles(Func(12, 27, c.at), Float32); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
