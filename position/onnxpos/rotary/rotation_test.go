package rotary

import (
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestDoubling tells how columns repeat, whatever the signs of the sines of a pair.
func TestDoubling(t *testing.T) {
	for _, c := range []struct {
		name        string
		row         []float64
		half, pairs bool
	}{
		{"two halves", []float64{0.1, 0.2, 0.1, 0.2}, true, false},
		{"two halves, the first with the other sign", []float64{-0.1, -0.2, 0.1, 0.2}, true, false},
		{"pairs", []float64{0.1, 0.1, 0.2, 0.2}, false, true},
		{"pairs, the first of each with the other sign", []float64{-0.1, 0.1, -0.2, 0.2}, false, true},
		{"no column twice", []float64{0.1, 0.2, 0.3, 0.4}, false, false},
	} {
		v := eval.FloatValue(onnx.Float, []int{2, 4}, append([]float64{0, 0, 0, 0}, c.row...))
		if d := doublingOf(v); d.half != c.half || d.pairs != c.pairs {
			t.Errorf("%s: halves %v, pairs %v", c.name, d.half, d.pairs)
		}
	}
}

// TestMultiples reads frequencies off positions that do not count up by one.
func TestMultiples(t *testing.T) {
	want := []float64{1, 0.1, 0.01}
	angles := func(positions ...float64) (rows [][]float64) {
		for _, p := range positions {
			row := make([]float64, len(want))
			for c, f := range want {
				row[c] = float64(float32(p * f))
			}
			rows = append(rows, row)
		}
		return rows
	}
	for _, c := range []struct {
		name string
		rows [][]float64
		ok   bool
	}{
		{"memories ahead of tokens", angles(0, 0, 0, 10001, 10002, 10003), true},
		{"tokens ahead of memories", angles(10000, 10001, 10002, 0, 0), true},
		{"backwards", angles(7, 6, 5, 4), true},
		{"all at one position", angles(3, 3, 3), false},
		{"angles of their own", [][]float64{{0, 0, 0}, {1, 0.1, 0.01}, {2, 0.5, 0.02}}, false},
		{"no whole steps", angles(0, 1, 2.5), false},
	} {
		f, ok := multiples(c.rows)
		if ok != c.ok {
			t.Errorf("%s: %v %t", c.name, f, ok)
			continue
		}
		for i, x := range f {
			if math.Abs(math.Abs(x)/want[i]-1) > 1e-6 {
				t.Errorf("%s: %v", c.name, f)
			}
		}
	}
}

// TestAxesIn reads the frequencies of each axis off angles of places with several coordinates: those of a picture of two rows behind
// three tokens of text, whichever way columns stand twice.
func TestAxesIn(t *testing.T) {
	places := [][]float64{{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {3, 0, 1}, {3, 0, 2}, {3, 1, 0}, {3, 1, 1}, {3, 1, 2}}
	want := [][]float64{{1, 0.01}, {1, 0.1, 0.01}, {1, 0.1, 0.01}}
	var once, halves, pairs [][]float64
	for _, place := range places {
		var row, twice []float64
		for axis, frequencies := range want {
			for _, f := range frequencies {
				row = append(row, place[axis]*f)
				twice = append(twice, place[axis]*f, place[axis]*f)
			}
		}
		once, halves, pairs = append(once, row), append(halves, slices.Concat(row, row)), append(pairs, twice)
	}
	for name, lines := range map[string][][]float64{"once": once, "halves": halves, "pairs": pairs} {
		got := axesIn(lines)
		if !slices.EqualFunc(got, want, func(a, b []float64) bool { return len(a) == len(b) && maxOff(a, b) < 1e-12 }) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := axesIn([][]float64{{0, 0}, {1, 0.3}, {2, 0.1}, {2.5, 0.7}}); got != nil {
		t.Errorf("no multiples: %v", got)
	}
}

func TestAmplitudeOf(t *testing.T) {
	of := func(cos, sin float64) float64 {
		return amplitudeOf(eval.FloatValue(onnx.Float, []int{1}, []float64{cos}), eval.FloatValue(onnx.Float, []int{1}, []float64{sin}))
	}
	for _, c := range []struct{ position, amplitude float64 }{{0, 1}, {5, 1}, {5, 1.25}, {0, 0.5}} {
		if got := of(c.amplitude*math.Cos(c.position), c.amplitude*math.Sin(c.position)); math.Abs(got-c.amplitude) > 1e-12 {
			t.Errorf("position %g: %g, want %g", c.position, got, c.amplitude)
		}
	}
}
