package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
)

// counting evaluates a graph that begins with "big", integers of the largest number
// that is kept, and "x" of unknown content.
func counting(t *testing.T, nodes ...onnx.NewNode) *Evaluator {
	t.Helper()
	raw, _ := onnx.EncodeInts(onnx.Int64, []int64{maxContent}, nil)
	m := onnx.NewModel{Opset: 17, Initializers: []onnx.NewTensor{{Name: "n", Type: onnx.Int64, Dims: []int64{1}, Raw: raw}},
		Inputs:  []onnx.NewValue{{Name: "x", Type: onnx.Float, Dims: []int64{maxContent}}},
		Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{1}}},
		Nodes: append([]onnx.NewNode{{Op: "ConstantOfShape", Inputs: []string{"n"}, Outputs: []string{"floats"}},
			{Op: "Cast", Inputs: []string{"floats"}, Outputs: []string{"big"}, Attributes: []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Int64)}}}}, nodes...)}
	b := m.Build()
	f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	e := New(f, map[string]*Value{"x": Shaped(onnx.Float, maxContent)})
	e.Run()
	return e
}

func nodeOf(op, out string, in ...string) onnx.NewNode {
	return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
}

// TestWorkInsideNodes counts what nodes do that have few numbers to show for it.
func TestWorkInsideNodes(t *testing.T) {
	ints := func(n onnx.NewNode, name string, v []int64) onnx.NewNode {
		n.Attributes = append(n.Attributes, onnx.NewAttribute{Name: name, Value: v})
		return n
	}
	sum := counting(t, nodeOf("ReduceSum", "y", "big"))
	if base := counting(t); sum.work-base.work < maxContent {
		t.Errorf("a sum of %d numbers is %d of work", maxContent, sum.work-base.work)
	}
	repeated := ints(ints(ints(nodeOf("Slice", "y", "big"), "starts", []int64{1, 1, 1}), "ends", []int64{9, 9, 9}), "axes", []int64{0, 0, 0})
	if e := counting(t, repeated); len(e.Failures) != 1 {
		t.Error("a Slice along one axis three times runs")
	}
	var many []onnx.NewNode
	for i := range 3000 {
		many = append(many, nodeOf("Gather", fmt.Sprint("v", i), "big", "big"))
	}
	e := counting(t, many...)
	if e.resident > maxKept || e.work > maxWork+4*maxContent || e.Bounded() == "" {
		t.Errorf("%d numbers are kept of %d computed: %s", e.resident, e.work, e.Bounded())
	}
	if v := e.Main.Value("v2900"); v.Known() || !slices.Equal(v.Shape, []int{maxContent}) && v.Ranked {
		t.Errorf("the last value is %v", v)
	}
}

// TestSliceOfUnknown makes no list of the indices of what is not known.
func TestSliceOfUnknown(t *testing.T) {
	v := Shaped(onnx.Float, maxContent)
	var out *Value
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			out = v.slice(0, 1, maxContent, 1, maxContent)
		}
	}).AllocedBytesPerOp()
	if out.Shape[0] != maxContent-1 || allocated > 1<<12 {
		t.Errorf("%v, %d bytes", out.Shape, allocated)
	}
}

// TestRank gives up the shape of what has more dimensions than any tensor.
func TestRank(t *testing.T) {
	shape := slices.Repeat([]int{1}, maxRank+1)
	e := counting(t)
	again := New(e.File, map[string]*Value{"x": Shaped(onnx.Float, shape...)})
	if v := again.Main.Value("x"); v.Ranked || v.Type != onnx.Float {
		t.Errorf("a value of rank %d is %v", len(shape), v)
	}
}

// TestBudget ends what is asked of a graph by steps and by a context.
func TestBudget(t *testing.T) {
	spend := func(ctx context.Context, steps int) (spent *Spent) {
		defer func() { spent, _ = recover().(*Spent) }()
		e := counting(t)
		e.Budget = NewBudget(ctx, int64(steps))
		for range 1 << 16 {
			e.Main.Find("big")
		}
		return nil
	}
	if s := spend(t.Context(), 1<<17); s != nil {
		t.Errorf("within the budget: %v", s)
	}
	if s := spend(t.Context(), 100); s == nil || s.Err != nil || s.Steps != 100 {
		t.Errorf("beyond it: %v", s)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if s := spend(ended, 1<<17); s == nil || !errors.Is(s, context.Canceled) {
		t.Errorf("after the context: %v", s)
	}
}
