package probe

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestIsOfBatch: few numbers for each picture are no places where other inputs say by their axes that the first is the batch; beside one sequence of
// data alone, or where places have the axis, they may be.
func TestIsOfBatch(t *testing.T) {
	input := func(name string, dims ...any) *onnx.ValueInfo {
		v := &onnx.ValueInfo{Name: name, Type: onnx.Float}
		for _, d := range dims {
			switch d := d.(type) {
			case int:
				v.Dims = append(v.Dims, onnx.Dim{Value: int64(d)})
			case string:
				v.Dims = append(v.Dims, onnx.Dim{Value: -1, Param: d})
			}
		}
		return v
	}
	sizes, latents := input("sizes", "batch", 2), input("latents", "batch", 4, 8, 8)
	for name, c := range map[string]struct {
		beside []*onnx.ValueInfo
		of     *onnx.ValueInfo
		want   bool
	}{
		"beside a time":        {[]*onnx.ValueInfo{latents, input("timestep", "batch")}, sizes, true},
		"beside a text":        {[]*onnx.ValueInfo{latents, input("text", "batch", 7, 32)}, sizes, true},
		"beside data alone":    {[]*onnx.ValueInfo{latents}, sizes, false},
		"beside rows":          {[]*onnx.ValueInfo{input("rows", "batch", 32), input("time", "batch")}, sizes, false},
		"of places":            {[]*onnx.ValueInfo{latents, input("timestep", "batch"), input("tokens", 1, "batch", 32)}, sizes, false},
		"without a name":       {[]*onnx.ValueInfo{latents, input("timestep", "batch")}, input("sizes", -1, 2), false},
		"as many as a caption": {[]*onnx.ValueInfo{latents, input("timestep", "batch")}, input("caption", "batch", 77), false},
	} {
		f := &onnx.File{Graph: &onnx.Graph{Inputs: append(c.beside, c.of)}}
		if got := isOfBatch(f, c.of); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
