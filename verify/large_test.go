package verify_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// attended is the path of a model of one attention whose state, or its queries and keys, nodes make of te, the tokens' vectors of 8 numbers, and p, their positions. fused has scores as ONNX
// Runtime's optimiser writes them.
func attended(t *testing.T, fused bool, queries string, tables []onnx.NewTensor, nodes ...onnx.NewNode) string {
	t.Helper()
	node := func(op, out string, in ...string) onnx.NewNode {
		return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
	}
	ints := func(name string, dims []int64, v ...int64) onnx.NewTensor {
		raw, _ := onnx.EncodeInts(onnx.Int64, v, nil)
		return onnx.NewTensor{Name: name, Type: onnx.Int64, Dims: dims, Raw: raw}
	}
	m := onnx.NewModel{Opset: 17,
		Inputs:       []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{1, -1}}},
		Outputs:      []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, -1, 8}}},
		Initializers: append(tables, table("wte", 32, func(r, c int) float64 { return math.Sin(float64(r*r*7 + c)) }), table("W", 8, func(r, c int) float64 { return math.Cos(float64(r*8*c + r)) }), ints("zero", nil, 0), ints("one", nil, 1), ints("four", []int64{1}, 4), ints("eight", []int64{1}, 8), ints("first", []int64{1}, 0), ints("last", []int64{1}, 2)),
		Nodes:        []onnx.NewNode{node("Shape", "shape", "ids"), node("Gather", "n", "shape", "one"), node("Range", "p", "zero", "n", "one"), node("Gather", "te", "wte", "ids")}}
	if m.Nodes = append(m.Nodes, nodes...); fused {
		m.Nodes = append(m.Nodes, onnx.NewNode{Op: "FusedMatMul", Domain: "com.microsoft", Inputs: []string{queries, queries}, Outputs: []string{"scores"}, Attributes: []onnx.NewAttribute{{Name: "transB", Value: int64(1)}, {Name: "alpha", Value: float32(0.375)}}})
	} else {
		m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Transpose", Inputs: []string{queries}, Outputs: []string{"turned"}, Attributes: []onnx.NewAttribute{{Name: "perm", Value: []int64{0, 2, 1}}}}, node("MatMul", "scores", queries, "turned"))
	}
	m.Nodes = append(m.Nodes, node("Softmax", "weights", "scores"), node("MatMul", "seen", "weights", queries), node("MatMul", "h", "seen", "W"))
	path := filepath.Join(t.TempDir(), "attended.onnx")
	if err := os.WriteFile(path, m.Build(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// table is an initializer of rows of 8 numbers.
func table(name string, rows int, at func(row, column int) float64) onnx.NewTensor {
	x := make([]float64, rows*8)
	for i := range x {
		x[i] = at(i/8, i%8)
	}
	raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	return onnx.NewTensor{Name: name, Type: onnx.Float, Dims: []int64{int64(rows), 8}, Raw: raw}
}

// planned makes a change and compares the new file with the plan, with the change made again.
func planned(t *testing.T, path string, do verb) report.Verify {
	t.Helper()
	target, plan := changed(t, path, do)
	if target == "" {
		t.Fatal("the change was refused")
	}
	return verify.Compare(open(t, path), open(t, target), verify.Options{Plan: plan, Again: open(t, target)})
}

// TestLargeTableDisabled: a table that is too large to be compared with that of the change made again belongs to an encoding in the old file alone.
func TestLargeTableDisabled(t *testing.T) {
	path := attended(t, false, "x", []onnx.NewTensor{table("wpe", 4096, func(r, c int) float64 { return math.Sin(float64(r*r + c)) })},
		onnx.NewNode{Op: "Gather", Inputs: []string{"wpe", "p"}, Outputs: []string{"pe"}}, onnx.NewNode{Op: "Add", Inputs: []string{"te", "pe"}, Outputs: []string{"x"}})
	if v := planned(t, path, biased(position.ALiBiOptions{Replace: true})); v.Verdict != report.VerdictChangedAsPlanned {
		t.Errorf("%s: %s", v.Verdict, failure(v))
	}
}

// TestRowsOfNoFormula: cosines and sines that no formula gives are held against those of the old file alone.
func TestRowsOfNoFormula(t *testing.T) {
	angle := func(r, c int) float64 {
		if r == 0 {
			return 0
		}
		return float64(r+3) * math.Pow(100, -float64(c%4)/4)
	}
	node := func(op, out string, in ...string) onnx.NewNode {
		return onnx.NewNode{Op: op, Inputs: in, Outputs: []string{out}}
	}
	joined := node("Concat", "moved", "negative", "low")
	joined.Attributes = []onnx.NewAttribute{{Name: "axis", Value: int64(2)}}
	path := attended(t, false, "x", []onnx.NewTensor{table("cos", 40, func(r, c int) float64 { return math.Cos(angle(r, c)) }), table("sin", 40, func(r, c int) float64 { return math.Sin(angle(r, c)) })},
		node("MatMul", "q", "te", "W"), node("Gather", "c", "cos", "p"), node("Gather", "s", "sin", "p"), node("Slice", "low", "q", "first", "four", "last"), node("Slice", "high", "q", "four", "eight", "last"), node("Neg", "negative", "high"), joined,
		node("Mul", "by cos", "q", "c"), node("Mul", "by sin", "moved", "s"), node("Add", "x", "by cos", "by sin"))
	if v := planned(t, path, biased(position.ALiBiOptions{})); v.Verdict != report.VerdictChangedAsPlanned {
		t.Errorf("%s: %s", v.Verdict, failure(v))
	}
}

// TestWindowOfScaledScores: scores that a product scales itself are the same in both files.
func TestWindowOfScaledScores(t *testing.T) {
	path := attended(t, true, "x", []onnx.NewTensor{table("wpe", 40, func(r, c int) float64 { return math.Sin(float64(r*r + c)) })},
		onnx.NewNode{Op: "Gather", Inputs: []string{"wpe", "p"}, Outputs: []string{"pe"}}, onnx.NewNode{Op: "Add", Inputs: []string{"te", "pe"}, Outputs: []string{"x"}})
	if v := planned(t, path, windowed(4, 0)); v.Verdict != report.VerdictChangedAsPlanned {
		t.Errorf("%s: %s", v.Verdict, failure(v))
	}
}
