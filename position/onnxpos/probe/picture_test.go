package probe

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// given is an input of numbers with these sizes, −1 where one is free.
func given(name string, dims ...int64) *onnx.ValueInfo {
	in := &onnx.ValueInfo{Name: name, Type: onnx.Float, Ranked: true}
	for _, d := range dims {
		in.Dims = append(in.Dims, onnx.Dim{Value: d})
	}
	return in
}

func TestAxesOfPictures(t *testing.T) {
	for _, c := range []struct {
		dims                            []int64
		height, width, channels, frames int
	}{
		{[]int64{1, 3, 224, 224}, 2, 3, 1, -1},
		{[]int64{1, 224, 224, 3}, 1, 2, 3, -1},
		{[]int64{1, 16, 3, 224, 224}, 3, 4, 2, 1}, // frames first (VideoMAE)
		{[]int64{1, 3, 16, 224, 224}, 3, 4, 1, 2}, // channels first (Conv3d)
		{[]int64{1, 3, 3, 224, 224}, 3, 4, 1, 2},  // either may be colours
		{[]int64{1, 4, 3, 8, 8}, 3, 4, 2, 1},      // and here three are; the first convolution knows better
		{[]int64{1, 16, 224, 224, 3}, 2, 3, 4, 1}, // channels last
		{[]int64{-1, -1, 3, -1, -1}, 3, 4, 2, 1},  // free frames
		{[]int64{-1, 16, -1, -1, -1}, 3, 4, 1, 2}, // latents of sixteen channels
		{[]int64{-1, 16, 9, 60, 90}, 3, 4, 1, 2},  // neither is
	} {
		in := given("x", c.dims...)
		height, width := PictureSides(in)
		if height != c.height || width != c.width || channelAxis(in) != c.channels || frameAxis(in) != c.frames {
			t.Errorf("%v: rows %d, columns %d, channels %d, frames %d", c.dims, height, width, channelAxis(in), frameAxis(in))
		}
	}
}

// named gives the axes of an input names.
func named(in *onnx.ValueInfo, names ...string) *onnx.ValueInfo {
	for i, name := range names {
		in.Dims[i].Param = name
	}
	return in
}

func TestIsPicture(t *testing.T) {
	for _, c := range []struct {
		in   *onnx.ValueInfo
		want bool
	}{
		{given("pixel_values", 1, 3, 32, 32), true},
		{given("pixel_values", 1, 8, 3, 32, 32), true},
		{given("past_key_values.0.key", 1, 2, 4, 8), false},
		{given("att_cache", 2, 1, 2, 4, 8), false},
		{given("features", 1, 32, 16), false},
		{named(given("edges", -1, -1, -1, 8), "batch", "node", "node"), false}, // between nodes
		{named(given("maps", -1, 8, -1, -1), "batch", "", "height", "width"), true},
		{given("bands", -1, -1, 10, 32), false},                                       // as many channels as one likes, and no more pixels
		{named(given("pixel_values", -1, -1, 32, 48), "batch", "num_channels"), true}, // the name says which they are
	} {
		if got := isPicture(c.in); got != c.want {
			t.Errorf("%s of %d axes: %t", c.in.Name, len(c.in.Dims), got)
		}
	}
}

// Axes of one name have one size, also where their inputs' names alone would give them two.
func TestShapesOfOneName(t *testing.T) {
	given := []*onnx.ValueInfo{
		named(given("input_ids", -1, -1), "batch", "length"),
		named(given("past_key_values.0.key", -1, 2, -1, 8), "batch", "", "past"),
		named(given("rows", -1, 8), "past"),
	}
	got := Sizes{Batch: 2, Length: 5, past: 3}.shapes(given, isMask)
	if got[0][0] != got[1][0] || got[1][2] != got[2][0] {
		t.Errorf("axes of one name have sizes %v", got)
	}
	if got[0][1] != 5 || got[1][1] != 2 || got[1][3] != 8 {
		t.Errorf("other sizes changed: %v", got)
	}
}
