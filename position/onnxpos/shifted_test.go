package onnxpos

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
)

// maskOfShift is what is added to the scores of each window of a picture that is rolled (Liu et al. 2021, §3.2):
// places that were no neighbours before do not see each other.
func maskOfShift(rows, columns, side, shift int) (out [][]float64) {
	region := func(i, n int) int {
		switch {
		case i < n-side:
			return 0
		case i < n-shift:
			return 1
		}
		return 2
	}
	for r := 0; r < rows; r += side {
		for c := 0; c < columns; c += side {
			var places [][2]int
			for i := range side * side {
				places = append(places, [2]int{region(r+i/side, rows), region(c+i%side, columns)})
			}
			var mask []float64
			for _, q := range places {
				for _, k := range places {
					x := 0.0
					if q != k {
						x = -100
					}
					mask = append(mask, x)
				}
			}
			out = append(out, mask)
		}
	}
	return out
}

// TestShiftedWindows: a picture of another size has the masks of its windows, in the stage that the file shifts and in the one
// that was a single window; what is filled up to whole windows is cut off.
func TestShiftedWindows(t *testing.T) {
	path := filepath.Join(own, "cases", "image-shifted.onnx")
	for _, c := range []struct {
		height, width int
		grids         [2][2]int // in which the two stages are cut, filled up to windows of 2×2
	}{{32, 32, [2][2]int{{8, 8}, {4, 4}}}, {24, 24, [2][2]int{{6, 6}, {4, 4}}}, {32, 48, [2][2]int{{8, 12}, {4, 6}}}} {
		m := opened(t, path)
		if _, err := position.ResizeGrid(m, position.GridOptions{Image: c.height, ImageWidth: c.width}); err != nil {
			t.Fatal(err)
		}
		after := result(t, m, path)
		if f := after.graph.Eval.Failures; len(f) > 0 {
			t.Fatalf("%d×%d: %s: %v", c.height, c.width, f[0].Node.Title(), f[0].Err)
		}
		tokens := c.height / 8 * (c.width / 8)
		if got := after.graph.Eval.Main.Value(after.graph.File.Graph.Outputs[0].Name).Shape; !slices.Equal(got, []int{1, tokens, 16}) {
			t.Errorf("%d×%d: an output of %v", c.height, c.width, got)
		}
		var shapes []string
		after.graph.File.Tensors(func(tensor *onnx.Tensor, _ *onnx.Graph) {
			stage := 0
			if strings.HasPrefix(tensor.Name, "modelpatch/shift_mask") {
				stage = 1
			} else if !strings.HasPrefix(tensor.Name, "modelpatch/window_mask") {
				return
			}
			shapes = append(shapes, fmt.Sprint(tensor.Dims))
			x, err := tensor.Floats(0, tensor.Len())
			if err != nil {
				t.Fatal(err)
			}
			want := maskOfShift(c.grids[stage][0], c.grids[stage][1], 2, 1)
			if len(x) != 16*len(want) {
				t.Fatalf("%s of %v, want %d windows", tensor.Name, tensor.Dims, len(want))
			}
			for w := range want {
				for i, mask := range want[w] {
					if got := x[16*w+i] - x[i]; got < mask-1e-3 || got > mask+1e-3 { // biases are the same in all windows
						t.Errorf("%d×%d: %s: window %d, pair %d: %g, want %g", c.height, c.width, tensor.Name, w, i, got, mask)
					}
				}
			}
		})
		if len(shapes) != 2 {
			t.Errorf("%d×%d: masks %v, want one of each stage", c.height, c.width, shapes)
		}
	}
}

// TestShiftedWindowsRefused: what the file does not say of windows is refused.
func TestShiftedWindowsRefused(t *testing.T) {
	path := filepath.Join(own, "cases", "image-shifted.onnx")
	for why, o := range map[string]position.GridOptions{
		"whether windows in one row or column are to be shifted": {Image: 16, ImageWidth: 32},
		"what of one window alone is shifted":                    {Image: 8, ImageWidth: 16},
		"no multiple of patches":                                 {Image: 18, ImageWidth: 18},
	} {
		_, err := position.ResizeGrid(opened(t, path), o)
		_, refused := errors.AsType[*position.Refusal](err)
		_, usage := errors.AsType[*position.UsageError](err)
		if !refused && !usage || !strings.Contains(err.Error(), why) {
			t.Errorf("%v: %v, want %q", o, err, why)
		}
	}
}

// TestBakeFromTwo: sines whose first position has the number 2 (fairseq) get rows up to that of the last.
func TestBakeFromTwo(t *testing.T) {
	change := func(m *onnx.NewModel) {
		free(m)
		m.Initializers = append(m.Initializers, integers("two", 2), integers("behind", -1), floats("inv_freq", []int64{2}, func(i int) float64 { return []float64{1, 1e-4}[i] }))
		m.Nodes = append(m.Nodes[:3:3], node("Add", "q", "p", "two"), withInts(node("Cast", "qf", "q"), "to", int64(onnx.Float)), node("Unsqueeze", "column", "qf", "behind"), node("Mul", "angle", "column", "inv_freq"),
			node("Sin", "s", "angle"), node("Cos", "c", "angle"), withInts(node("Concat", "pe", "s", "c"), "axis", int64(-1)), node("Gather", "te", "wte", "ids"), node("Add", "h", "te", "pe"))
	}
	m := built(t, change)
	if _, err := position.Bake(m, position.BakeOptions{Length: 12}); err != nil {
		t.Fatalf("%s: %v", found(m), err)
	}
	baked := result(t, m, saved(t, change))
	if n := baked.Sites()[0].Encoding().Capacity; n != 12 {
		t.Errorf("%s, %d positions, want 12", found(baked), n)
	}
}
