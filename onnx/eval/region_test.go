package eval

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestPlaces: what a value that is too large to be computed has between the first places is what the same graph gives for as few, what it has from one on
// is what the whole has there, and there is none where an operator stands between that does more than that.
func TestPlaces(t *testing.T) {
	const few, many = 64, 1024
	withInts := func(n onnx.NewNode, name string, v any) onnx.NewNode {
		n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
		return n
	}
	for _, test := range []struct {
		name  string
		nodes []onnx.NewNode // to y, of q and k, the difference of positions in a column and a row
		none  bool
	}{
		{"slopes", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), nodeOf("Abs", "a", "d"), nodeOf("Neg", "n", "a"), withInts(nodeOf("Cast", "f", "n"), "to", int64(onnx.Float)), nodeOf("Mul", "y", "slopes", "f")}, false},
		{"a choice", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), nodeOf("Less", "later", "d", "zero"), nodeOf("Neg", "n", "d"), nodeOf("Where", "y", "later", "n", "one")}, false},
		{"rows of a table", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), nodeOf("Abs", "a", "d"), nodeOf("Min", "i", "a", "seven"), nodeOf("Gather", "rows", "table", "i"), withInts(nodeOf("Transpose", "y", "rows"), "perm", []int64{2, 0, 1})}, false},
		{"laid out anew", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), nodeOf("Unsqueeze", "u", "d", "zeros"), nodeOf("Squeeze", "s", "u", "zeros"), withInts(nodeOf("Transpose", "t", "s"), "perm", []int64{1, 0}), nodeOf("Expand", "y", "t", "heads")}, false},
		{"a constant of all pairs", []onnx.NewNode{nodeOf("Add", "y", "pairs", "q")}, false},
		{"the last places", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), nodeOf("Slice", "y", "d", "ones", "all", "zeros")}, true},
		{"quantised", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), withInts(nodeOf("Cast", "i", "d"), "to", int64(onnx.Int32)), nodeOf("DequantizeLinear", "y", "i", "scale")}, true},
		{"places joined", []onnx.NewNode{nodeOf("Sub", "d", "k", "q"), withInts(nodeOf("Concat", "y", "d", "d"), "axis", int64(0))}, true},
	} {
		at := func(n int) *Scope {
			ints := func(name string, dims []int64, at func(i int) int64) onnx.NewTensor {
				x := make([]int64, onnx.Size(dims))
				for i := range x {
					x[i] = at(i)
				}
				raw, _ := onnx.EncodeInts(onnx.Int64, x, nil)
				return onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: dims, Raw: raw}
			}
			floats := func(name string, dims ...int64) onnx.NewTensor {
				x := make([]float64, onnx.Size(dims))
				for i := range x {
					x[i] = math.Sin(float64(i*i + 1))
				}
				raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
				return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: dims, Raw: raw}
			}
			is := func(v int64) func(int) int64 { return func(int) int64 { return v } }
			count := func(i int) int64 { return int64(i) }
			b := onnx.NewModel{Opset: 17, Nodes: test.nodes, Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float}}, Initializers: []onnx.NewTensor{
				ints("q", []int64{int64(n), 1}, count), ints("k", []int64{1, int64(n)}, count), ints("zero", nil, is(0)), ints("one", nil, is(1)), ints("seven", nil, is(7)),
				ints("zeros", []int64{1}, is(0)), ints("ones", []int64{1}, is(1)), ints("all", []int64{1}, is(math.MaxInt64)), ints("heads", []int64{3}, func(i int) int64 { return []int64{2, 1, 1}[i] }),
				ints("pairs", []int64{int64(n), int64(n)}, func(i int) int64 { return int64(i/n*1000 - i%n) }), floats("slopes", 4, 1, 1), floats("scale"), floats("table", 8, 4)}}.Build()
			f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			e := New(f, nil)
			e.Run()
			return e.Main
		}
		want, large := at(few).Value("y"), at(many)
		got := large.Places("y", 0, few)
		switch {
		case !want.Known() || large.Value("y").Known():
			t.Fatalf("%s: %v is known, and %v is", test.name, want.Known(), large.Value("y").Known())
		case (got == nil) != test.none:
			t.Errorf("%s: %v", test.name, got)
		case got != nil && (!slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Ints, want.Ints) || !slices.Equal(got.Floats, want.Floats)):
			t.Errorf("%s: the region of %v is not that of %d places", test.name, got.Shape, few)
		}
		if later := at(128).Places("y", 40, few); later != nil && !test.none {
			whole := at(128).Enlarge("y")
			k := len(whole.Shape)
			for i := range later.Len() {
				h, q, j := i/(later.Shape[k-2]*later.Shape[k-1]), i/later.Shape[k-1]%later.Shape[k-2], i%later.Shape[k-1]
				if got, want := later.Number(i), whole.Number((h*whole.Shape[k-2]+40+q)*whole.Shape[k-1]+j); got != want {
					t.Fatalf("%s: %v from place %d on, and the whole has %v", test.name, got, 40+q, want)
				}
			}
		}
		if again := large.FirstPlaces("y"); !test.none && again == nil {
			t.Errorf("%s: no places can be looked at", test.name)
		}
	}
}
