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
	model, err := graph(c)
	if err != nil {
		return nil, err
	}
	backend := gorgonnx.NewGraph()
	m := onnxgo.NewModel(backend)
	if err := m.UnmarshalBinary(model); err != nil {
		return nil, fmt.Errorf("onnx-go: reading the graph: %w", err)
	}
	if err := m.SetInput(0, tensor.New(tensor.WithShape(shapeOf(c.Query)...), tensor.WithBacking(flat(c.Query)))); err != nil {
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
	width := len(c.Value[0])
	if !ok || len(values) != len(c.Query)*width {
		return nil, fmt.Errorf("onnx-go: the output is %v of %T", results[0].Shape(), results[0].Data())
	}
	for at := 0; at < len(values); at += width {
		out = append(out, values[at:at+width])
	}
	return out, nil
}

// graph writes a case as an ONNX model of rank 2 with input "x", the queries, and output
// "out". Cosines and sines of angles are computed in it; masks and ALiBi are made here.
func graph(c verify.Case) ([]byte, error) {
	if len(c.Query) == 0 || len(c.Key) == 0 || len(c.Query[0]) == 0 || len(c.Value) != len(c.Key) || len(c.Value[0]) == 0 {
		return nil, fmt.Errorf("an empty case")
	}
	keys, values := c.Key, c.Value
	if len(c.Sink) > 0 { // a key of zeros, whose score the bias alone makes, and a value of zeros
		keys = append(keys[:len(keys):len(keys)], make([]float64, len(c.Key[0])))
		values = append(values[:len(values):len(values)], make([]float64, len(c.Value[0])))
	}
	b := &builder{queries: len(c.Query), keys: len(keys), dim: len(c.Query[0])}
	q, k := "x", b.matrix("k", keys)
	if c.Angles != nil || c.Cos != nil {
		b.turn(c)
		q, k = b.rotate("q", q, c, b.queries), b.rotate("k", k, c, b.keys)
	}
	b.node("Transpose", []string{k}, "kt", onnx.NewAttribute{Name: "perm", Value: []int64{1, 0}})
	b.node("MatMul", []string{q, "kt"}, "products")
	b.node("Mul", []string{"products", b.all("scale", c.Scale)}, "scaled")
	scores := "scaled"
	if c.Softcap > 0 {
		b.node("Mul", []string{scores, b.all("shrink", 1/c.Softcap)}, "shrunk")
		b.node("Tanh", []string{"shrunk"}, "bent")
		b.node("Mul", []string{"bent", b.all("cap", c.Softcap)}, "capped")
		scores = "capped"
	}
	b.node("Add", []string{scores, b.constant("bias", b.queries, b.keys, func(q, k int) float64 { return bias(c, q, k) })}, "scores")
	b.node("Softmax", []string{"scores"}, "weights", onnx.NewAttribute{Name: "axis", Value: int64(1)})
	b.node("MatMul", []string{"weights", b.matrix("v", values)}, "out")
	b.model.Opset = 11
	b.model.Inputs = append([]onnx.NewValue{{Name: "x", Type: onnx.Double, Dims: []int64{int64(b.queries), int64(b.dim)}}}, b.model.Inputs...)
	b.model.Outputs = []onnx.NewValue{{Name: "out", Type: onnx.Double, Dims: []int64{int64(b.queries), int64(len(c.Value[0]))}}}
	return b.model.Build(), nil
}

// bias is what is added to the score of a query and a key.
func bias(c verify.Case, q, k int) float64 {
	if k >= len(c.Key) {
		return c.Sink[0]
	}
	if c.Causal && k > q {
		return math.Inf(-1)
	}
	x := -c.Slope * math.Abs(float64(q-k))
	if c.Bias != nil {
		x += c.Bias[q][k]
	}
	return x
}

type builder struct {
	model              onnx.NewModel
	queries, keys, dim int
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

// matrix adds rows as a constant.
func (b *builder) matrix(name string, rows [][]float64) string {
	return b.constant(name, len(rows), len(rows[0]), func(r, c int) float64 { return rows[r][c] })
}

// all adds a constant of the shape of the scores that is one number.
func (b *builder) all(name string, x float64) string {
	return b.constant(name, b.queries, b.keys, func(int, int) float64 { return x })
}

// pairOf is the pair that an element belongs to, its partner and the sign with which the
// partner is turned into it; −1 for an element that is not turned.
func pairOf(c verify.Case, i int) (pair, partner int, sign float64) {
	n := c.Dim / 2
	switch i -= c.First; {
	case i < 0 || i >= c.Dim:
		return -1, i, 0
	case c.Interleaved && i%2 == 0:
		return i / 2, c.First + i + 1, -1
	case c.Interleaved:
		return i / 2, c.First + i - 1, 1
	case i < n:
		return i, c.First + i + n, -1
	}
	return i - n, c.First + i - n, 1
}

// turn adds the matrix R of x·cos + (x·R)·sin: it swaps the elements of each pair and
// negates one.
func (b *builder) turn(c verify.Case) {
	b.constant("turn", b.dim, b.dim, func(r, i int) float64 { // column i takes sign·x[partner]
		if pair, partner, sign := pairOf(c, i); pair >= 0 && partner == r {
			return sign
		}
		return 0
	})
}

// rotate turns rows, of queries or of keys, by their positions.
func (b *builder) rotate(name, x string, c verify.Case, rows int) string {
	cos, sin := b.waves(name, c, rows)
	b.node("Mul", []string{x, cos}, name+"_by_cos")
	b.node("MatMul", []string{x, "turn"}, name+"_turned")
	b.node("Mul", []string{name + "_turned", sin}, name+"_by_sin")
	b.node("Add", []string{name + "_by_cos", name + "_by_sin"}, name+"_rotated")
	return name + "_rotated"
}

// waves are the cosines and sines of each element: computed of angles, or as given.
// Elements that are not turned have 1 and 0.
func (b *builder) waves(name string, c verify.Case, rows int) (cos, sin string) {
	at := func(table [][]float64, otherwise float64) func(r, i int) float64 {
		return func(r, i int) float64 {
			if pair, _, _ := pairOf(c, i); pair >= 0 && r < len(table) {
				return table[r][pair]
			}
			return otherwise
		}
	}
	if c.Angles == nil {
		return b.constant(name+"_cos", rows, b.dim, at(c.Cos, 1)), b.constant(name+"_sin", rows, b.dim, at(c.Sin, 0))
	}
	angles := b.constant(name+"_angles", rows, b.dim, at(c.Angles, 0))
	factor := b.constant(name+"_amplitude", rows, b.dim, func(_, i int) float64 {
		if pair, _, _ := pairOf(c, i); pair >= 0 {
			return c.Amplitude
		}
		return 1
	})
	for _, wave := range []string{"Cos", "Sin"} {
		b.node(wave, []string{angles}, name+wave)
		b.node("Mul", []string{name + wave, factor}, name+wave+"_times")
	}
	return name + "Cos_times", name + "Sin_times"
}

func shapeOf(m [][]float64) []int { return []int{len(m), len(m[0])} }

func flat(m [][]float64) []float64 {
	var out []float64
	for _, row := range m {
		out = append(out, row...)
	}
	return out
}
