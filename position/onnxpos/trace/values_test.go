package trace

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestRowsOf reads rows along an axis, whichever axes of one place stand behind.
func TestRowsOf(t *testing.T) {
	for _, c := range []struct {
		shape []int
		axis  int
		want  [][]float64
	}{
		{[]int{2, 3}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{1, 2, 1, 3}, 1, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{2, 3, 1}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}}, // columns by positions, turned before they are transposed
		{[]int{2, 3, 1, 1}, 0, [][]float64{{0, 1, 2}, {3, 4, 5}}},
		{[]int{3, 1}, 0, [][]float64{{0}, {1}, {2}}},
		{[]int{2, 3, 1}, 1, [][]float64{{0}, {1}, {2}}},
	} {
		numbers := make([]float64, 6)
		for i := range numbers {
			numbers[i] = float64(i)
		}
		n := 1
		for _, d := range c.shape {
			n *= d
		}
		got := RowsOf(eval.FloatValue(onnx.Float, c.shape, numbers[:n]), c.axis)
		if !slices.EqualFunc(got, c.want, slices.Equal) {
			t.Errorf("%v along %d: %v, want %v", c.shape, c.axis, got, c.want)
		}
	}
}

// TestLogDivisors: what divides a logarithm comes first, in the type in which it was rounded, though the graph computes in another.
func TestLogDivisors(t *testing.T) {
	node := func(op, out string, in ...string) onnx.NewNode {
		return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
	}
	halves, err := onnx.EncodeFloats(onnx.Float16, []float64{math.Log(16)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	wholes, err := onnx.EncodeFloats(onnx.Float, []float64{8, 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cast := node("Cast", "by", "ln")
	cast.Attributes = []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Float)}}
	m := onnx.NewModel{Opset: 17, Initializers: []onnx.NewTensor{{Name: "ln", Type: onnx.Float16, Raw: halves}, {Name: "x", Type: onnx.Float, Dims: []int64{2}, Raw: wholes}},
		Nodes: []onnx.NewNode{cast, node("Log", "l", "x"), node("Div", "y", "l", "by"), node("Mul", "z", "y", "x")}, Outputs: []onnx.NewValue{{Name: "z", Type: onnx.Float, Dims: []int64{2}}}}
	raw := m.Build()
	f, err := onnx.NewFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		t.Fatal(err)
	}
	e := eval.New(f, nil)
	e.Run()
	divisors, of := LogDivisors(e.Main, "z")
	if len(divisors) != 1 || math.Abs(divisors[0]-math.Log(16)) > 1e-3 || of != onnx.Float16 {
		t.Errorf("%v, %v", divisors, of)
	}
}
