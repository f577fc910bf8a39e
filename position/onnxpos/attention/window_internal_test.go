package attention

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestEmptyMask has masks whose first axis is 0: no element, though the last two axes look like a matrix.
func TestEmptyMask(t *testing.T) {
	empty := eval.Shaped(onnx.Float, 0, 4, 4)
	full := eval.Shaped(onnx.Float, 4, 4)
	full.Floats = make([]float64, 16)
	if !empty.Known() || !full.Known() {
		t.Fatal("a value is not known")
	}
	if got := banded(empty); got.Positions != 0 {
		t.Errorf("banded: %v, want none", got)
	}
	for _, pair := range [][2]*eval.Value{{empty, full}, {full, empty}} {
		if got, _ := comparedDistance(pair[0], pair[1], "Less"); got != 0 {
			t.Errorf("comparedDistance: %d, want 0", got)
		}
	}
}

// TestMasks tells what hides later keys, and what a window: a query that is hidden from itself, or sees itself alone, makes neither.
func TestMasks(t *testing.T) {
	for name, c := range map[string]struct {
		sees   func(q, k int) bool
		later  bool
		window int
	}{
		"causal":             {func(q, k int) bool { return k <= q }, true, 0},
		"window of two":      {func(q, k int) bool { return k <= q && k > q-2 }, true, 2},
		"hidden from itself": {func(q, k int) bool { return k != q }, false, 0},
		"itself alone":       {func(q, k int) bool { return k == q }, false, 0},
		"keys behind all":    {func(q, k int) bool { return k < 3 }, false, 0},
		"earlier ones hide":  {func(q, k int) bool { return k >= q }, false, 0},
	} {
		added, truth := eval.Shaped(onnx.Float, 5, 5), eval.Shaped(onnx.Bool, 5, 5)
		added.Floats, truth.Ints = make([]float64, 25), make([]int64, 25)
		for i := range 25 {
			if c.sees(i/5, i%5) {
				truth.Ints[i] = 1
			} else {
				added.Floats[i] = -1e9
			}
		}
		for _, v := range []*eval.Value{added, truth} {
			if got := hidesLater(v); got != c.later {
				t.Errorf("%s, %v: hides later keys %v, want %v", name, v.Type, got, c.later)
			}
			if got := banded(v).Positions; got != c.window {
				t.Errorf("%s, %v: a window of %d, want %d", name, v.Type, got, c.window)
			}
		}
	}
}

// TestHeadsOfMask has a mask with a matrix for each head: its window is the widest, and none where a head sees all.
func TestHeadsOfMask(t *testing.T) {
	for _, c := range []struct {
		heads []int
		want  int
	}{{[]int{2, 2}, 2}, {[]int{2, 4}, 4}, {[]int{3, 2, 8}, 0}} {
		v := eval.Shaped(onnx.Bool, 1, len(c.heads), 8, 8)
		for _, window := range c.heads {
			for i := range 64 {
				q, k := i/8, i%8
				v.Ints = append(v.Ints, 0)
				if k <= q && k > q-window {
					v.Ints[len(v.Ints)-1] = 1
				}
			}
		}
		if got := bandOfHeads(v).Positions; got != c.want {
			t.Errorf("heads that see %v keys: a window of %d, want %d", c.heads, got, c.want)
		}
	}
}

// TestLowest: what hides a key can be stored in each type of scores.
func TestLowest(t *testing.T) {
	for _, kind := range []onnx.DataType{onnx.Float, onnx.Double, onnx.Float16, onnx.BFloat16} {
		if raw, err := onnx.EncodeFloats(kind, []float64{lowest(kind)}, nil); err != nil || len(raw) == 0 {
			t.Errorf("%v: %d bytes, %v", kind, len(raw), err)
		}
	}
}
