package relative

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestWindowOf reads the window from which pairs of places share a row, whatever rows
// are called; a matrix where one pair more or less shares its row is no window.
func TestWindowOf(t *testing.T) {
	distances := func(n int) (index [][]int) { // clipped nowhere, from the farthest back on
		for q := range n {
			index = append(index, make([]int, n))
			for k := range n {
				index[q][k] = k - q + n - 1
			}
		}
		return index
	}
	reversed := func(index [][]int, rows int) (out [][]int) {
		for _, row := range index {
			out = append(out, slices.Clone(row))
			for i := range row {
				out[len(out)-1][i] = rows - 1 - row[i]
			}
		}
		return out
	}
	for _, c := range []struct {
		name  string
		index [][]int
		rows  int
		want  []int
	}{
		{"every offset", schemes.WindowIndex(3, 4, false), 35, []int{3, 4}},
		{"from the far end on", reversed(schemes.WindowIndex(3, 4, false), 35), 35, []int{3, 4}},
		{"with a place for the whole", schemes.WindowIndex(4, 3, true), 38, []int{4, 3}},
		{"whole first", reversed(schemes.WindowIndex(4, 3, true), 38), 38, []int{4, 3}},
		{"no sides", schemes.SymmetricWindowIndex(3, 3), 9, []int{3, 3}},
		{"no sides, from the far end on", reversed(schemes.SymmetricWindowIndex(2, 5), 10), 10, []int{2, 5}},
		{"a line", distances(6), 11, []int{1, 6}},
		{"another number of rows", schemes.WindowIndex(3, 4, false), 36, nil},
		{"each pair its own", [][]int{{0, 1}, {2, 3}}, 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := len(c.index)
			flat := slices.Concat(c.index...)
			value := func(list []int) *eval.Value {
				v := eval.IntValue(onnx.Int64, []int{n, n}, make([]int64, len(list)))
				for i, row := range list {
					v.Ints[i] = int64(row)
				}
				return v
			}
			if got := windowOf(value(flat), c.rows); !slices.Equal(got, c.want) {
				t.Errorf("window %v, want %v", got, c.want)
			}
			if c.want == nil {
				return
			}
			for _, at := range []int{1, n + 2, len(flat) - 2} { // a pair that takes another's row
				changed := slices.Clone(flat)
				changed[at] = (changed[at] + 1) % c.rows
				if got := windowOf(value(changed), c.rows); got != nil {
					t.Errorf("with another row at %d: window %v, want none", at, got)
				}
			}
		})
	}
}

// TestClipped reads the reach of a bias by distance that was folded into a matrix; a bias
// of which every distance has its own, or that depends on more, tells none.
func TestClipped(t *testing.T) {
	matrix := func(n int, at func(q, k int) float64) *bias {
		head := make([][]float64, n)
		for q := range head {
			head[q] = make([]float64, n)
			for k := range head[q] {
				head[q][k] = at(q, k)
			}
		}
		return &bias{heads: [][][]float64{head}}
	}
	by := func(reach int) func(q, k int) float64 {
		return func(q, k int) float64 { return math.Sin(float64(min(max(k-q, -reach), reach))) }
	}
	for _, c := range []struct {
		name        string
		bias        *bias
		rows, reach int
	}{
		{"clipped at 3", matrix(9, by(3)), 7, 3},
		{"clipped at 7", matrix(9, by(7)), 15, 7},
		{"not clipped", matrix(9, by(8)), 0, 0},
		{"by position", matrix(9, func(q, k int) float64 { return float64(q*q + k) }), 0, 0},
	} {
		if rows, reach, ok := c.bias.clipped(); rows != c.rows && ok || ok != (c.rows > 0) || ok && reach != c.reach {
			t.Errorf("%s: %d rows, reach %d, %v; want %d, %d", c.name, rows, reach, ok, c.rows, c.reach)
		}
	}
}

// TestSlopesOfSomeHeads: heads that all keys are alike to stand beside those of ALiBi; all of them alike are none.
func TestSlopesOfSomeHeads(t *testing.T) {
	head := func(slope float64) [][]float64 {
		m := make([][]float64, 4)
		for q := range m {
			m[q] = make([]float64, 4)
			for k := range m[q] {
				m[q][k] = -slope * math.Abs(float64(q-k))
			}
		}
		return m
	}
	for _, c := range []struct {
		slopes []float64
		ok     bool
	}{{[]float64{0.25, 0.0625}, true}, {[]float64{0.25, 0}, true}, {[]float64{0, 0.25}, true}, {[]float64{0, 0}, false}, {[]float64{0.25, -0.25}, false}} {
		b := &bias{}
		for _, s := range c.slopes {
			b.heads = append(b.heads, head(s))
		}
		got, ok := b.fitSlopes()
		if ok != c.ok || ok && !slices.EqualFunc(got, c.slopes, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v: %v, %v", c.slopes, got, ok)
		}
	}
}
