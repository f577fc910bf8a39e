package fit

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// axialTable makes the tables of a grid by the rule of a model family
// (facts/NUMERICS §5).
func axialTable(rule string, base float64, dim, height, width int) (cos, sin Matrix, layout string) {
	quarter := dim / 4
	inverse := func(i, q int) float64 { return math.Pow(base, -float64(i)/float64(q)) }
	angles := func(y, x int) []float64 {
		var out []float64
		for i := range quarter {
			out = append(out, float64(y)*inverse(i, quarter))
		}
		for i := range quarter {
			out = append(out, float64(x)*inverse(i, quarter))
		}
		switch rule {
		case "pixtral":
			for i := range quarter {
				out[i], out[quarter+i] = float64(y)*inverse(2*i, 2*quarter), float64(x)*inverse(2*i+1, 2*quarter)
			}
		case "dinov3":
			for i := range quarter {
				out[i] = 2 * math.Pi * (2*(float64(y)+0.5)/float64(height) - 1) * inverse(i, quarter)
				out[quarter+i] = 2 * math.Pi * (2*(float64(x)+0.5)/float64(width) - 1) * inverse(i, quarter)
			}
		}
		switch rule {
		case "eva02":
			var twice []float64
			for _, a := range out {
				twice = append(twice, a, a)
			}
			return twice
		case "gemma4":
			return slices.Concat(out[:quarter], out[:quarter], out[quarter:], out[quarter:])
		}
		return append(out, out...)
	}
	table := func(wave func(float64) float64) Matrix {
		var values []float64
		for y := range height {
			for x := range width {
				for _, a := range angles(y, x) {
					values = append(values, float64(float32(wave(float64(float32(a))))))
				}
			}
		}
		return Dense(height*width, dim, values)
	}
	layout = map[string]string{"eva02": schemes.LayoutInterleaved, "gemma4": ""}[rule]
	if rule != "eva02" && rule != "gemma4" {
		layout = schemes.LayoutHalf
	}
	return table(math.Cos), table(math.Sin), layout
}

func TestAxialRotaryCache(t *testing.T) {
	for _, rule := range []string{"qwen2-vl", "pixtral", "dinov3", "eva02", "gemma4"} {
		for _, base := range []float64{10000, 100, 10} {
			for _, size := range [][2]int{{4, 4}, {7, 7}, {16, 16}, {6, 10}} {
				for _, dim := range []int{8, 16, 64, 80} {
					cos, sin, layout := axialTable(rule, base, dim, size[0], size[1])
					name := fmt.Sprintf("%s, base %g, %d elements, %v", rule, base, dim, size)
					got, ok := AxialRotaryCache(cos, sin, Float32, size[:])
					want := schemes.Rotary{Base: base, Dim: dim, Layout: layout, Grid: size[:]}
					if !ok || got.Rotary.Base != want.Base || got.Rotary.Dim != want.Dim || got.Rotary.Layout != want.Layout || !slices.Equal(got.Rotary.Grid, want.Grid) {
						t.Errorf("%s: %v, %+v", name, ok, got)
					}
				}
			}
		}
	}
}

func TestNoAxialRotaryCache(t *testing.T) {
	cos, sin, _ := axialTable("qwen2-vl", 100, 16, 4, 4)
	for name, c := range map[string]struct {
		cos, sin      Matrix
		height, width int
	}{
		"another grid":   {cos, sin, 2, 8},
		"a large grid":   {cos, sin, 5, 5},
		"exchanged":      {sin, cos, 4, 4},
		"no circle":      {cos, cos, 4, 4},
		"one dimension":  {Func(16, 16, func(r, k int) float64 { return math.Cos(float64(r) * float64(k%8+1) / 9) }), Func(16, 16, func(r, k int) float64 { return math.Sin(float64(r) * float64(k%8+1) / 9) }), 4, 4},
		"one odd column": {Func(16, 16, func(r, k int) float64 { return math.Cos(math.Acos(cos.At(r, k)) * []float64{1, 1.5}[k%8/7]) }), sin, 4, 4},
	} {
		got, ok := AxialRotaryCache(c.cos, c.sin, Float32, []int{c.height, c.width})
		if name == "exchanged" { // columns follow one axis each, by no base
			ok = !ok || !got.Rotary.Scaling.IsCustom() || got.Rotary.Base != 0
		}
		if ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
