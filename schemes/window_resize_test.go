package schemes

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// windowTolerance is what float32 sums of torch and the printed digits of window.json allow.
const windowTolerance = 5e-6

// TestResizeWindow holds resized tables against those that PyTorch and timm make
// (test/recipes/window_golden.py).
func TestResizeWindow(t *testing.T) {
	raw, err := os.ReadFile("testdata/window.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		From, To                            [2]int
		Table, Bilinear, Bicubic, Geometric [][]float64
	}
	if err := json.Unmarshal(raw, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for method, want := range map[string][][]float64{WindowBilinear: c.Bilinear, WindowBicubic: c.Bicubic, WindowGeometric: c.Geometric} {
			t.Run(fmt.Sprint(c.From, c.To, method), func(t *testing.T) {
				got, err := ResizeWindow(c.Table, c.From, c.To, method)
				if err != nil || len(got) != len(want) {
					t.Fatalf("%d rows, want %d: %v", len(got), len(want), err)
				}
				for i := range want {
					for h := range want[i] {
						if d := math.Abs(got[i][h] - want[i][h]); !(d <= windowTolerance) {
							t.Fatalf("row %d, head %d is %g, want %g", i, h, got[i][h], want[i][h])
						}
					}
				}
			})
		}
	}
}

// TestResizeWindowRefuses holds that what is no table of a window, or no size, is an error.
func TestResizeWindowRefuses(t *testing.T) {
	table := make([][]float64, 9)
	for i := range table {
		table[i] = []float64{1}
	}
	for _, c := range []struct {
		from, to [2]int
		method   string
	}{{[2]int{2, 2}, [2]int{0, 2}, WindowBilinear}, {[2]int{3, 2}, [2]int{4, 4}, WindowBilinear}, {[2]int{2, 2}, [2]int{3, 3}, "cubic"}, {[2]int{2, 2}, [2]int{1 << 14, 1 << 14}, WindowBilinear}} {
		if _, err := ResizeWindow(table, c.from, c.to, c.method); err == nil {
			t.Errorf("%v is no error", c)
		}
	}
	for _, method := range WindowMethods { // one place has one distance, and all new ones get its bias
		got, err := ResizeWindow([][]float64{{7}}, [2]int{1, 1}, [2]int{2, 3}, method)
		if err != nil || len(got) != 15 || math.Abs(got[0][0]-7) > 1e-12 || math.Abs(got[14][0]-7) > 1e-12 {
			t.Errorf("%s: %v, %v", method, got, err)
		}
	}
}
