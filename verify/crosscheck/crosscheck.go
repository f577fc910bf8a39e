// Package crosscheck has foreign code compute reference attention: the case is
// written as an ONNX graph of matrices and run by github.com/owulveryck/onnx-go
// in float64. It shares no arithmetic with package verify.
//
// The graph keeps to what that library computes rightly (facts/ENGINES §5):
// two axes throughout, Softmax over the last axis, constants of full size, no
// output that another node reads.
package crosscheck

import (
	"encoding/binary"
	"fmt"
	"math"

	onnxgo "github.com/owulveryck/onnx-go"
	"github.com/owulveryck/onnx-go/backend/x/gorgonnx"
	"gorgonia.org/tensor"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/verify"
)

// Run computes a case: one row a position.
func Run(c verify.Case) (out [][]float64, err error) {
	defer func() { // the library panics on what it does not know
		if r := recover(); r != nil {
			err = fmt.Errorf("onnx-go: %v", r)
		}
	}()
	model, err := Graph(c)
	if err != nil {
		return nil, err
	}
	backend := gorgonnx.NewGraph()
	m := onnxgo.NewModel(backend)
	if err := m.UnmarshalBinary(model); err != nil {
		return nil, fmt.Errorf("onnx-go: reading the graph: %w", err)
	}
	if err := m.SetInput(0, tensor.New(tensor.WithShape(shapeOf(c.State)...), tensor.WithBacking(flat(c.State)))); err != nil {
		return nil, fmt.Errorf("onnx-go: input: %w", err)
	}
	if err := backend.Run(); err != nil {
		return nil, fmt.Errorf("onnx-go: %w", err)
	}
	results, err := m.GetOutputTensors()
	if err != nil || len(results) != 1 {
		return nil, fmt.Errorf("onnx-go: %d outputs: %w", len(results), err)
	}
	values, ok := results[0].Data().([]float64)
	width := 0
	if len(c.Value.Weights) > 0 {
		width = len(c.Value.Weights[0])
	}
	if !ok || len(values) != len(c.State)*width {
		return nil, fmt.Errorf("onnx-go: the output is %v of %T", results[0].Shape(), results[0].Data())
	}
	for at := 0; at < len(values); at += width {
		out = append(out, values[at:at+width])
	}
	return out, nil
}

// Graph writes a case as an ONNX model of rank 2 with input "x" and output
// "out".
func Graph(c verify.Case) ([]byte, error) {
	if len(c.State) == 0 || len(c.Query.Weights) == 0 || len(c.Query.Weights[0]) == 0 {
		return nil, fmt.Errorf("an empty case")
	}
	b := &builder{rows: len(c.State), dim: len(c.Query.Weights[0])}
	q, k, v := b.project("q", c.Query), b.project("k", c.Key), b.project("v", c.Value)
	if c.Cos != nil {
		b.rotation(c)
		q, k = b.rotate("q", q), b.rotate("k", k)
	}
	b.node("Transpose", []string{k}, "kt", onnx.NewAttribute{Name: "perm", Value: []int64{1, 0}})
	b.node("MatMul", []string{q, "kt"}, "products")
	b.node("Mul", []string{"products", b.constant("scale", b.rows, b.rows, func(int, int) float64 { return c.Scale })}, "scaled")
	b.node("Add", []string{"scaled", b.constant("bias", b.rows, b.rows, func(r, i int) float64 { return c.Bias[r][i] })}, "scores")
	b.node("Softmax", []string{"scores"}, "weights", onnx.NewAttribute{Name: "axis", Value: int64(1)})
	b.node("MatMul", []string{"weights", v}, "out")
	in, out := shapeOf(c.State), []int{b.rows, len(c.Value.Weights[0])}
	b.model.Opset = 11
	b.model.Inputs = append([]onnx.NewValue{{Name: "x", Type: onnx.Double, Dims: []int64{int64(in[0]), int64(in[1])}}}, b.model.Inputs...)
	b.model.Outputs = []onnx.NewValue{{Name: "out", Type: onnx.Double, Dims: []int64{int64(out[0]), int64(out[1])}}}
	return b.model.Build(), nil
}

type builder struct {
	model     onnx.NewModel
	rows, dim int
}

func (b *builder) node(op string, inputs []string, output string, attributes ...onnx.NewAttribute) {
	b.model.Nodes = append(b.model.Nodes, onnx.NewNode{Op: op, Inputs: inputs, Outputs: []string{output}, Attributes: attributes})
}

// constant adds a matrix of doubles.
func (b *builder) constant(name string, rows, columns int, at func(r, c int) float64) string {
	raw := make([]byte, 0, 8*rows*columns)
	for r := range rows {
		for c := range columns {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(at(r, c)))
		}
	}
	b.model.Initializers = append(b.model.Initializers, onnx.NewTensor{Name: name, Type: onnx.Double, Dims: []int64{int64(rows), int64(columns)}, Raw: raw})
	return name
}

// project adds x·W + b; the bias is repeated for every row.
func (b *builder) project(name string, l verify.Linear) string {
	w := b.constant(name+"_weights", len(l.Weights), len(l.Weights[0]), func(r, c int) float64 { return l.Weights[r][c] })
	b.node("MatMul", []string{"x", w}, name+"_product")
	if l.Bias == nil {
		return name + "_product"
	}
	bias := b.constant(name+"_bias", b.rows, len(l.Bias), func(_, c int) float64 { return l.Bias[c] })
	b.node("Add", []string{name + "_product", bias}, name)
	return name
}

// rotation adds the constants of x·cos + (x·R)·sin: R swaps the elements of each
// pair and negates one; elements beyond Dim have cos 1 and sin 0.
func (b *builder) rotation(c verify.Case) {
	n := c.Dim / 2
	pair := func(i int) (k, partner int, sign float64) {
		switch {
		case i >= c.Dim:
			return -1, i, 0
		case c.Interleaved && i%2 == 0:
			return i / 2, i + 1, -1
		case c.Interleaved:
			return i / 2, i - 1, 1
		case i < n:
			return i, i + n, -1
		}
		return i - n, i - n, 1
	}
	b.constant("turn", b.dim, b.dim, func(r, i int) float64 { // column i takes sign·x[partner]
		if _, partner, sign := pair(i); partner == r {
			return sign
		}
		return 0
	})
	b.constant("cos", b.rows, b.dim, func(r, i int) float64 {
		if k, _, _ := pair(i); k >= 0 {
			return c.Cos[r][k]
		}
		return 1
	})
	b.constant("sin", b.rows, b.dim, func(r, i int) float64 {
		if k, _, _ := pair(i); k >= 0 {
			return c.Sin[r][k]
		}
		return 0
	})
}

func (b *builder) rotate(name, x string) string {
	b.node("Mul", []string{x, "cos"}, name+"_cos")
	b.node("MatMul", []string{x, "turn"}, name+"_turned")
	b.node("Mul", []string{name + "_turned", "sin"}, name+"_sin")
	b.node("Add", []string{name + "_cos", name + "_sin"}, name+"_rotated")
	return name + "_rotated"
}

func shapeOf(m [][]float64) []int { return []int{len(m), len(m[0])} }

func flat(m [][]float64) []float64 {
	var out []float64
	for _, row := range m {
		out = append(out, row...)
	}
	return out
}
