package fit

import (
	"math"
	"math/rand"
	"testing"

	"github.com/modelpatch/modelpatch/schemes"
)

// TestLevels: sines of two and three grids behind one another, normalised to a full turn as DETR has them, in float32, each with a row of its own or none;
// and what is none of them.
func TestLevels(t *testing.T) {
	type lines [][]float64
	chance := rand.New(rand.NewSource(1))
	make32 := func(grids [][2]int, columns int, base, offset float64, halves bool) (m lines) {
		for _, g := range grids {
			row := make([]float64, columns)
			for c := range row {
				row[c] = offset * chance.NormFloat64()
			}
			for p := range g[0] * g[1] {
				line := make([]float64, columns)
				for c := range line {
					half := columns / 2
					place, size := p/g[1], g[0]
					if c >= half {
						place, size = p%g[1], g[1]
					}
					k, cosine := c%half/2, c%2 == 1
					if halves {
						k, cosine = c%half%(half/2), c%half >= half/2
					}
					angle := float64(place+1) / (float64(size) + 1e-6) * 2 * math.Pi / math.Pow(base, 2*float64(k)/float64(half))
					x := math.Sin(angle)
					if cosine {
						x = math.Cos(angle)
					}
					line[c] = float64(float32(x + row[c]))
				}
				m = append(m, line)
			}
		}
		return m
	}
	trained := make32([][2]int{{8, 8}, {4, 4}}, 32, 10000, 0, false)
	for _, row := range trained {
		for c := range row {
			row[c] = 0.02 * chance.NormFloat64()
		}
	}
	two, three := [][2]int{{8, 8}, {4, 4}}, [][2]int{{2, 2}, {4, 4}, {8, 8}}
	for name, c := range map[string]struct {
		m      lines
		grids  [][2]int
		base   float64
		layout string
	}{
		"two, each with a row":       {make32(two, 32, 10000, 0.7, false), two, 10000, schemes.LayoutInterleaved},
		"two without rows":           {make32(two, 32, 10000, 0, false), two, 10000, schemes.LayoutInterleaved},
		"three, the smallest first":  {make32(three, 32, 10000, 0.7, false), three, 10000, schemes.LayoutInterleaved},
		"wide, with another base":    {make32(two, 256, 20, 0.7, false), two, 20, schemes.LayoutInterleaved},
		"sines ahead of cosines":     {make32(two, 32, 10000, 0.7, true), two, 10000, schemes.LayoutSinCos},
		"trained":                    {trained, two, 0, ""},
		"of other grids":             {make32(two, 32, 10000, 0.7, false), [][2]int{{4, 16}, {4, 4}}, 0, ""},
		"one grid, which is another": {make32(two[:1], 32, 10000, 0.7, false), two[:1], 0, ""},
	} {
		r, ok := Levels(Func(len(c.m), len(c.m[0]), func(r, k int) float64 { return c.m[r][k] }), c.grids)
		if ok != (c.base > 0) || ok && (r.Sinusoid.Base != c.base || r.Sinusoid.Layout != c.layout || r.Sinusoid.Rows != len(c.m)) {
			t.Errorf("%s: %v %+v", name, ok, r.Sinusoid)
		}
	}
}
