package matrix

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// roundoff bounds sums of some hundred products of normal numbers in another order.
const roundoff = 1e-12

func random(n int) []float64 {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

func apart(a, b []float64) float64 {
	worst := 0.0
	for i := range a {
		if d := math.Abs(a[i] - b[i]); !(d <= worst) { // or NaN
			worst = d
		}
	}
	return worst
}

// TestTiles holds that tiles in vectors are the plain one.
func TestTiles(t *testing.T) {
	const k, strideC = 37, ColumnsAtOnce + 3
	a, b := random(RowsAtOnce*k), random(k*ColumnsAtOnce)
	for name, multiply := range tiles() {
		x, y := make([]float64, RowsAtOnce*strideC), make([]float64, RowsAtOnce*strideC)
		for i := range x {
			x[i], y[i] = float64(i), float64(i)
		}
		multiply(x, strideC, a, k, b, k)
		plainTile(y, strideC, a, k, b, k)
		if d := apart(x, y); d > roundoff {
			t.Errorf("%s: apart by %g", name, d)
		}
		for r := range RowsAtOnce {
			for c := ColumnsAtOnce; c < strideC; c++ {
				if i := r*strideC + c; x[i] != float64(i) {
					t.Errorf("%s: column %d of row %d was written", name, c, r)
				}
			}
		}
	}
}

// TestRows holds products of all sizes around those of tiles and panels against the sums of their definition.
func TestRows(t *testing.T) {
	for _, size := range [][3]int{{0, 3, 3}, {1, 1, 1}, {7, 5, 15}, {8, 256, 16}, {9, 257, 17}, {48, 600, 64}, {3, 0, 2}, {5, 4, 0}} {
		rows, k, n := size[0], size[1], size[2]
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			flat, w := random(rows*k), random(n*k)
			x := make([][]float64, rows)
			for i := range x {
				x[i] = flat[i*k : (i+1)*k]
			}
			out := Rows(x, w, n)
			if len(out) != rows {
				t.Fatalf("%d rows", len(out))
			}
			for i := range out {
				want := make([]float64, n)
				for r := range n {
					for c := range k {
						want[r] += x[i][c] * w[r*k+c]
					}
				}
				if d := apart(out[i], want); len(out[i]) != n || !(d <= roundoff) {
					t.Errorf("row %d of %d elements: apart by %g", i, len(out[i]), d)
				}
			}
		})
	}
}

// TestRowsKeepNaN holds that what is no number stays in its row and column.
func TestRowsKeepNaN(t *testing.T) {
	x := [][]float64{{1, 2}, {math.NaN(), 1}, {3, 4}}
	out := Rows(x, []float64{1, 1, math.Inf(1), 0, 2, 2}, 3)
	for i, row := range out {
		for c, v := range row {
			switch {
			case i == 1 && !math.IsNaN(v):
				t.Errorf("[%d][%d] is %v", i, c, v)
			case i != 1 && c == 1 && !math.IsInf(v, 1), i != 1 && c != 1 && v != float64(1+c/2)*(x[i][0]+x[i][1]):
				t.Errorf("[%d][%d] is %v", i, c, v)
			}
		}
	}
}
