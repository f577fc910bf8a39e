package schemes

import (
	"math"
	"testing"
)

func TestResampleAlongTime(t *testing.T) {
	old := goldenTable{1 + 2*3*3, 4} // behind a class token
	r, err := ResampleRows(old, 1, Grid{2, 3, 3}, Grid{4, 3, 3}, Kernel{})
	if err != nil || r.Len() != 1+4*3*3 {
		t.Fatalf("%v rows, %v", r, err)
	}
	row, a, b := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	for at, weight := range []float64{0, 0.25, 0.75, 1} { // half-pixel places 2·(i + ½)/4 − ½, within the borders (torch.nn.functional.interpolate, trilinear)
		for place := range 9 {
			if err := r.Row(1+at*9+place, row); err != nil {
				t.Fatal(err)
			}
			_, _ = old.Row(1+place, a), old.Row(1+9+place, b)
			for c := range row {
				if want := (1-weight)*a[c] + weight*b[c]; math.Abs(row[c]-want) > resampleTolerance {
					t.Fatalf("time %d, place %d, column %d: %g, want %g", at, place, c, row[c], want)
				}
			}
		}
	}
	nearest, err := KernelNamed("nearest")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = ResampleRows(old, 1, Grid{2, 3, 3}, Grid{5, 3, 3}, nearest); err != nil {
		t.Fatal(err)
	}
	for at, from := range []int{0, 0, 0, 1, 1} { // ⌊i · 2/5⌋
		_, _ = r.Row(1+at*9, row), old.Row(1+from*9, a)
		if row[0] != a[0] {
			t.Errorf("time %d: %g, want %g", at, row[0], a[0])
		}
	}
}

func TestRegrid(t *testing.T) {
	for _, c := range []struct {
		wave    Sinusoid
		to      []int
		squeeze bool
		step    float64
		fails   bool
	}{
		{wave: Sinusoid{Grid: []int{4, 4}}, to: []int{6, 6}},
		{wave: Sinusoid{Grid: []int{4, 4}}, to: []int{8, 8}, squeeze: true, step: 0.5},
		{wave: Sinusoid{Grid: []int{4, 4}, Start: 2}, to: []int{6, 6}, fails: true},             // a crop
		{wave: Sinusoid{Grid: []int{4, 4}, Start: 0.5}, to: []int{6, 6}},                        // middles of patches
		{wave: Sinusoid{Grid: []int{4, 4}, Step: 0.4}, to: []int{6, 6}, step: 0.4, fails: true}, // spans what is not in the file
		{wave: Sinusoid{Grid: []int{2, 4, 4}}, to: []int{3, 6, 6}},                              // a volume
		{wave: Sinusoid{Grid: []int{2, 4, 4}, Step: 0.5}, to: []int{2, 6, 6}, step: 0.5, fails: true},
	} {
		got, err := c.wave.Regrid(c.to, c.squeeze)
		if (err != nil) != c.fails || err == nil && (got.Step != c.step || len(got.Grid) != len(c.to)) {
			t.Errorf("%+v to %v: %+v, %v", c.wave, c.to, got, err)
		}
	}
}

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		of   []int
		want Grid
		text string
	}{{[]int{3, 4}, Grid{1, 3, 4}, "3×4"}, {[]int{2, 3, 4}, Grid{2, 3, 4}, "2×3×4"}, {nil, Grid{}, "0×0"}} {
		if g := GridOf(c.of); g != c.want || g.String() != c.text {
			t.Errorf("%v: %v, %s", c.of, g, g)
		}
	}
}
