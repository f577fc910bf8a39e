package origin

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestMoved: elements that are followed back through operators are those that trials tell; where an operator is not known, trials alone tell.
func TestMoved(t *testing.T) {
	ints := func(name string, v ...int64) onnx.NewTensor {
		return integers(name, onnx.Int64, []int64{int64(len(v))}, v...)
	}
	zeros := floats("zeros", []int64{2, 3, 1}, func(int) float64 { return 0 })
	for _, c := range []struct {
		name  string
		more  []onnx.NewTensor
		nodes []onnx.NewNode
		back  bool // whether they are followed back
	}{
		{"another order", nil, []onnx.NewNode{with(node("Transpose", "v", "x"), "perm", []int64{2, 0, 1})}, true},
		{"the usual other order", nil, []onnx.NewNode{node("Transpose", "v", "x")}, true},
		{"another shape", []onnx.NewTensor{ints("shape", 4, -1)}, []onnx.NewNode{node("Reshape", "v", "x", "shape")}, true},
		{"a run from the end", []onnx.NewTensor{ints("from", -3), ints("to", 1<<40), ints("axis", 2)}, []onnx.NewNode{node("Slice", "v", "x", "from", "to", "axis")}, true},
		{"every second, backwards", []onnx.NewTensor{ints("from", 3, 2), ints("to", -1<<40, 0), ints("axes", 2, 1), ints("steps", -2, -1)}, []onnx.NewNode{node("Slice", "v", "x", "from", "to", "axes", "steps")}, true},
		{"filled up", []onnx.NewTensor{ints("pads", 0, 1, 2, 0, 0, 1)}, []onnx.NewNode{node("Pad", "v", "x", "pads")}, true},
		{"cut by a Pad", []onnx.NewTensor{ints("pads", -1, 1), ints("axis", -1)}, []onnx.NewNode{node("Pad", "v", "x", "pads", "", "axis")}, true},
		{"behind others", []onnx.NewTensor{zeros}, []onnx.NewNode{with(node("Concat", "v", "zeros", "x"), "axis", int64(-1))}, true},
		{"scaled, and more added", []onnx.NewTensor{floats("s", []int64{4}, func(i int) float64 { return float64(i + 1) }), floats("b", nil, func(int) float64 { return 3 })},
			[]onnx.NewNode{node("Mul", "m", "s", "x"), node("Sub", "v", "m", "b")}, true},
		{"laid over more places", []onnx.NewTensor{ints("shape", 2, 2, 3, 4)}, []onnx.NewNode{node("Expand", "v", "x", "shape")}, true},
		{"laid out again", []onnx.NewTensor{ints("repeats", 1, 2, 3)}, []onnx.NewNode{node("Tile", "v", "x", "repeats")}, true},
		{"an index, from the end too", []onnx.NewTensor{integers("i", onnx.Int64, []int64{2, 2}, 2, -1, 0, 1)}, []onnx.NewNode{with(node("Gather", "v", "x", "i"), "axis", int64(1))}, true},
		{"an element for each of an index", []onnx.NewTensor{integers("i", onnx.Int64, []int64{2, 3, 2}, 0, -1, 1, 2, 3, 0, 1, 1, 2, 2, 0, 3)}, []onnx.NewNode{with(node("GatherElements", "v", "x", "i"), "axis", int64(2))}, true},
		{"several indices at once", []onnx.NewTensor{integers("i", onnx.Int64, []int64{2, 2, 2}, 0, 1, 2, -1, 1, 1, 0, 3)}, []onnx.NewNode{with(node("GatherND", "v", "x", "i"), "batch_dims", int64(1))}, true},
		{"one-hot vectors", []onnx.NewTensor{floats("hot", []int64{4, 2}, func(i int) float64 { return map[int]float64{3: 1, 4: 1}[i] })}, []onnx.NewNode{node("MatMul", "v", "x", "hot")}, false},
		{"a sum", nil, []onnx.NewNode{node("ReduceSum", "v", "x")}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := evaluated(t, append(c.more, ints("flat", 2, 3, 4)), append([]onnx.NewNode{node("Reshape", "x", "data", "flat")}, c.nodes...))
			all := counted(e.Main.Value("v").Len())
			got, ok := back(e.Main, "x", "v", slices.Clone(all))
			want := tried(e.Main, "x", "v", all)
			if ok != c.back || ok && !slices.Equal(got, want) {
				t.Errorf("followed back: %v, %v, tried: %v", got, ok, want)
			}
		})
	}
}
