package schemes

import (
	"math"
	"strings"
	"testing"
)

func TestWindowIndex(t *testing.T) {
	goldenCases(t, "vision_relative.json", func(t *testing.T, g golden) {
		if !strings.HasSuffix(g.Scheme, "relative_position_index") {
			t.Skip("skipped by name: Swin v2's coordinates go through weights, which graphs compute")
		}
		window := g.list("window")
		class := strings.HasPrefix(g.Scheme, "beit")
		h, w := int(window[0]), int(window[1])
		index := WindowIndex(h, w, class)
		if len(index) != g.Shape[0] || WindowRows(h, w, class) != int(g.number("table_rows")) {
			t.Fatalf("%d places and %d rows", len(index), WindowRows(h, w, class))
		}
		g.each(func(at []int, want float64) {
			if got := index[at[0]][at[1]]; got != int(want) {
				t.Fatalf("%v: row %d, want %v", at, got, want)
			}
		})
	})
}

// Diffusion models embed their time steps by the same sinusoids.
func TestTimesteps(t *testing.T) {
	goldenCases(t, "timestep.json", func(t *testing.T, g golden) {
		s := Sinusoid{Base: g.number("max_period"), Dim: int(g.number("embedding_dim")), Layout: LayoutSinCos, Denominator: DenominatorHalf}
		if g.Params["flip_sin_to_cos"] == true {
			s.Layout = LayoutCosSin
		}
		if g.number("downscale_freq_shift") == 1 {
			s.Denominator = DenominatorHalfMinusOne
		}
		steps, row := g.list("timesteps"), make([]float64, s.Dim)
		off := worst{what: "difference of the angle, relative"}
		g.each(func(at []int, want float64) {
			position := steps[at[0]] * g.number("scale")
			s.Row(int(position), row)
			// The library's angles are float32 products: off by a step of theirs.
			off.see(math.Abs(row[at[1]]-want) / max(1, position))
		})
		off.within(t, 1e-6)
	})
}
