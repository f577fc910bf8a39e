package picture_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/picture"
	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/picture/layout"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// tableOf is a model of one learned table, whose row i is made of a seed.
func tableOf(l schemes.Learned, seed func(i int) float64) made {
	row := func(i int, dst []float64) {
		for k := range dst {
			dst[k] = math.Sin(seed(i)+float64(k)) * (1 + math.Cos(seed(i)))
		}
	}
	return made{sites: []position.Site{madeTable{encoding: position.Encoding{Scheme: l, Capacity: l.Rows, Beyond: report.BeyondError}, rows: l.Rows, dim: l.Dim, row: row}}}
}

// rotationOf is a model of one rotation.
func rotationOf(r schemes.Rotary) made {
	return made{sites: []position.Site{madeSite{encoding: position.Encoding{Scheme: r, Beyond: report.BeyondContinues}}}}
}

// gemma is a rotation of which pairs 4 to 15 stand still, by divisors of 1e30 as Gemma 4 has them.
func gemma() schemes.Rotary {
	frequencies := make([]float64, 16)
	for i := range frequencies {
		if frequencies[i] = math.Pow(1e6, -float64(i)/16); i >= 4 {
			frequencies[i] /= 1e30
		}
	}
	return schemes.Rotary{Base: 1e6, Dim: 32, Layout: schemes.LayoutHalf, Scaling: schemes.Scaling{Type: schemes.ScalingProportional, Rotated: 4, Frequencies: frequencies}}
}

func compared(t *testing.T, a, b position.Model) []figure.Figure {
	t.Helper()
	figures, err := picture.Compare(a, "a", b, "b", picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return figures
}

func alone(t *testing.T, m position.Model) figure.Figure {
	t.Helper()
	figures, err := picture.Of(m, "a", picture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return figures[0]
}

// TestAlikeSamples: rows that two tables have alike are drawn alike, however long each is.
func TestAlikeSamples(t *testing.T) {
	seed := func(i int) float64 { return float64(i) * float64(i) / 7 }
	for _, c := range [][2]int{{512, 2048}, {2048, 512}, {100, 700}, {20_000, 90_000}, {1, 5000}} {
		a, b := schemes.Learned{Rows: c[0], Dim: 4}, schemes.Learned{Rows: c[1], Dim: 4}
		f := compared(t, tableOf(a, seed), tableOf(b, seed))[0]
		norms := f.Panels[0]
		if norms.Title != "norm by row" || len(norms.Series) != 2 {
			t.Fatalf("%v: first panel %q", c, norms.Title)
		}
		if c[1] < c[0] {
			slices.Reverse(norms.Series)
		}
		short, long := norms.Series[0], norms.Series[1]
		for i, x := range short.X {
			if long.X[i] != x || long.Y[i] != short.Y[i] {
				t.Fatalf("%v: sample %d at row %g is %g, and %g at row %g of the longer table", c, i, x, short.Y[i], long.Y[i], long.X[i])
			}
		}
		if len(long.X) > figure.MaxColumns || len(long.X) <= len(short.X) || long.X[len(short.X)] != float64(min(c[0], c[1])) {
			t.Errorf("%v: %d samples, the new rows begin at %g", c, len(long.X), long.X[len(short.X)])
		}
	}
}

// TestStill says which pairs do not turn, in place of wavelengths of 1e30.
func TestStill(t *testing.T) {
	f := alone(t, rotationOf(gemma()))
	const says = "pairs 4–15 do not turn"
	if len(f.Panels) != 1 || len(f.Panels[0].Bands) != 1 || f.Panels[0].Bands[0].Name != says || !slices.Contains(f.Notes, says) {
		t.Errorf("%d panels, bands %+v, notes %q", len(f.Panels), f.Panels[0].Bands, f.Notes)
	}
	if _, high, _ := f.Panels[0].Range(); high > 1e8 {
		t.Errorf("the axis goes to %g", high)
	}
}

// TestInside: every word of every picture stands on the page, at both widths.
func TestInside(t *testing.T) {
	figures := []figure.Figure{alone(t, rotationOf(gemma())), alone(t, rotationOf(schemes.Rotary{Base: 1e30, Dim: 64, Layout: schemes.LayoutHalf, Scaling: schemes.Scaling{Type: schemes.ScalingLinear, Factor: 3e11}}))}
	figures = append(figures, figure.Figure{Panels: []figure.Panel{{Y: figure.Axis{Label: "ratio"}, Series: []figure.Series{{X: []float64{0, 1}, Y: []float64{0, 9.999999999e29}}}}}})
	for _, g := range goldens {
		figures = append(figures, drawn(t, g.files...)...)
	}
	for _, width := range []float64{layout.Width, layout.Narrow} {
		for _, f := range figures {
			for _, s := range layout.Of([]figure.Figure{f}, width).Shapes {
				if s.Form != layout.Words || s.Upright {
					continue
				}
				wide := 0.5 * s.Size * float64(len([]rune(s.Text))) // less than it is
				from := s.Points[0].X - map[layout.Anchor]float64{layout.Middle: wide / 2, layout.End: wide}[s.Anchor]
				if from < 0 || from+wide > width {
					t.Errorf("%s: %q stands at %g to %g of %g", f.Title, s.Text, from, from+wide, width)
				}
			}
		}
	}
}

// TestBiasEnds: ALiBi's picture says where the bias ends and what happens then, that nothing ends it, or that this is
// not known.
func TestBiasEnds(t *testing.T) {
	for _, c := range []struct {
		capacity int
		beyond   string
		want     string
		rules    int
	}{
		{40, report.BeyondError, "ends at 40 positions: longer input fails with an error", 1},
		{4000, report.BeyondWrong, "ends at 4000 positions: longer input gives silently wrong numbers", 1},
		{40, report.BeyondUnknown, "ends at 40 positions: what longer input does is not known", 1},
		{0, report.BeyondContinues, "no limit: at longer distances the line goes on", 0},
		{0, report.BeyondUnknown, "where the bias ends is not known", 0},
	} {
		s := schemes.ALiBi{Heads: 2, MaxBias: 8}
		f := alone(t, made{sites: []position.Site{madeBias{madeSite{encoding: position.Encoding{Scheme: s, Capacity: c.capacity, Beyond: c.beyond}}, s}}})
		by := f.Panels[1]
		if !slices.Contains(f.Notes, c.want) || len(by.Rules) != c.rules {
			t.Errorf("%+v: notes %q, rules %+v", c, f.Notes, by.Rules)
		}
		if c.rules > 0 && (by.Rules[0].Name != c.want || by.Rules[0].At != float64(c.capacity-1) || by.Series[0].X[len(by.Series[0].X)-1] != float64(c.capacity-1)) {
			t.Errorf("%+v: rule %+v, the line ends at %g", c, by.Rules[0], by.Series[0].X[len(by.Series[0].X)-1])
		}
	}
}

// TestScale: what is added to scores has one scale of colours in all maps.
func TestScale(t *testing.T) {
	for _, name := range []string{"onnx/cases/beit-relative.onnx", "onnx/swin-ts17-anon.onnx"} {
		limits := map[float64]int{}
		for _, f := range drawn(t, name) {
			for _, p := range f.Panels {
				if p.Heat != nil {
					limits[p.Heat.Limit]++
				}
			}
		}
		if len(limits) != 1 {
			t.Errorf("%s: scales %v", name, limits)
		}
	}
}

// TestPrefix marks rows of class tokens, where the table has them.
func TestPrefix(t *testing.T) {
	seed := func(i int) float64 { return float64(i) * 1.3 }
	for _, c := range []struct {
		l    schemes.Learned
		want string
	}{
		{schemes.Learned{Rows: 17, Dim: 4, Grid: []int{4, 4}, Prefix: 1}, "class token -0.5 0.5"},
		{schemes.Learned{Rows: 18, Dim: 4, Grid: []int{4, 4}, Prefix: 2}, "2 tokens before the patches -0.5 1.5"},
		{schemes.Learned{Rows: 16, Dim: 4, Grid: []int{4, 4}, Prefix: 1}, "class token: not in the rows that are drawn"},
	} {
		f := alone(t, tableOf(c.l, seed))
		got := strings.Join(f.Notes, " ")
		for _, p := range f.Panels[:2] {
			for _, b := range p.Bands {
				got = fmt.Sprint(b.Name, " ", b.From, b.To)
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.l, got, c.want)
		}
		if last := f.Panels[len(f.Panels)-1]; last.X.Label != "patch across" {
			t.Errorf("%+v: no map of patches: %q", c.l, last.Title)
		}
	}
}

// TestFlat: a chart of one number is a note, and so is one that repeats another.
func TestFlat(t *testing.T) {
	plain := schemes.Rotary{Base: 1e4, Dim: 16, Layout: schemes.LayoutHalf}
	linear := plain
	linear.Scaling = schemes.Scaling{Type: schemes.ScalingLinear, Factor: 8}
	f := alone(t, rotationOf(linear))
	if len(f.Panels) != 1 || !slices.Contains(f.Notes, "how much longer than without scaling: 8 throughout") {
		t.Errorf("%d panels, notes %q", len(f.Panels), f.Notes)
	}
	f = compared(t, rotationOf(plain), rotationOf(linear))[0]
	if len(f.Panels) != 1 || !f.Differs || !slices.Contains(f.Notes, "difference: wavelength of the second over that of the first: 8 throughout") {
		t.Errorf("%d panels, differs %v, notes %q", len(f.Panels), f.Differs, f.Notes)
	}
	both := made{sites: append(rotationOf(plain).sites, rotationOf(plain).sites...)}
	figures, err := picture.Of(both, "a", picture.Options{})
	if err != nil || len(figures) != 2 || !slices.Contains(figures[1].Notes, "wavelength of each pair: as in a: RoPE (1 of 2)") {
		t.Errorf("%+v %v", figures, err)
	}
}

// TestCompared: of two models what differs stands first, and no figure is taller than a screen or two.
func TestCompared(t *testing.T) {
	longer := filepath.Join(t.TempDir(), "longer.gguf")
	if _, err := modelpatch.Rescale(t.Context(), "../testdata/gguf/gemma3-dual.gguf", modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 5e6, Layers: position.LayersGlobal}, Write: modelpatch.WriteOptions{Output: longer}}); err != nil {
		t.Fatal(err)
	}
	after, err := modelpatch.Open(t.Context(), longer, modelpatch.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	figures := compared(t, model(t, "gguf/gemma3-dual.gguf"), after)
	if len(figures) != 2 || !figures[0].Differs || !figures[0].Panels[0].Difference || figures[1].Differs || len(figures[1].Panels) != 1 {
		t.Fatalf("%+v", figures)
	}
	seed := func(by float64) func(i int) float64 { return func(i int) float64 { return float64(i) * by } }
	sites := func(by float64) made {
		waves := schemes.Sinusoid{Base: 1e4 * by, Dim: 16, Rows: 64}
		return made{sites: slices.Concat(tableOf(schemes.Learned{Rows: 16 * 16, Dim: 8, Grid: []int{16, 16}}, seed(by)).sites, tableOf(schemes.Learned{Rows: 600, Dim: 8}, seed(by)).sites,
			[]position.Site{madeSite{encoding: position.Encoding{Scheme: waves}}})}
	}
	figures = compared(t, sites(1), sites(1.1))
	figures = append(figures, drawn(t, "gguf/llama-plain.gguf", "gguf/edit-yarn-full.gguf")...)
	figures = append(figures, drawn(t, "gguf/t5-32.gguf", "gguf/t5-32.gguf")...)
	const tallest = 1600
	for _, f := range figures {
		page := layout.Of([]figure.Figure{f}, 0)
		if page.Height > tallest || f.Differs && !f.Panels[0].Difference {
			t.Errorf("%s: %g pixels, begins with %q", f.Title, page.Height, f.Panels[0].Title)
		}
		for _, p := range f.Panels {
			if p.Y.Label == "times" {
				t.Errorf("%s: %s: an axis in times", f.Title, p.Title)
			}
		}
	}
}
