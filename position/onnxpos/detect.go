package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// detector walks a probed graph and collects the places where numbers that
// depend on position meet the model's state.
type detector struct {
	m         *Model
	e         *eval.Evaluator
	length    int
	tables    []*addition
	sides     [3][]*addition // of an image's columns (1) and rows (2)
	rotations []*rotation
	biases    []*bias
	queries   map[*onnx.Tensor]bool // learned rows that are state, not positions
	maps      map[mapSize][]*onnx.Node
	sizes     []mapSize
	lengths   []int       // sizes of the inputs' axes
	ahead     map[int]int // rows of a table → tokens ahead of an image's patches
	summed    struct{ asked, does bool }
	unread    *onnx.Node // the first where a constant meets the state that is too large to be looked at
}

// detect finds the sites of the model.
func (m *Model) detect() {
	d := &detector{m: m, e: m.probe, length: m.sizes.length, queries: map[*onnx.Tensor]bool{}}
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			d.enlarge(s, n)
			d.visit(s, n)
		}
	}
	d.metBiases()
	m.addTables(d)
	m.addRotations(d)
	m.addBiases(d)
	m.addOthers(d)
	m.inspectBeyond()
}

// enlarge looks at large constants where they meet the model's state element by
// element: there they are no weights.
func (d *detector) enlarge(s *eval.Scope, n *onnx.Node) {
	switch n.Op {
	case "Add", "Sub", "Mul", "Sum", "Concat", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization":
	default:
		return
	}
	if !slices.ContainsFunc(n.Inputs, func(name string) bool { return name != "" && s.Value(name).Unknowable() }) {
		return
	}
	for _, name := range n.Inputs {
		if name != "" {
			d.read(s, n, name)
		}
	}
}

// read looks at a constant that meets the state at a node, however large, and notes
// where one is too large.
func (d *detector) read(s *eval.Scope, n *onnx.Node, name string) {
	if s.Enlarge(name).Large() && d.unread == nil {
		d.unread = n
	}
}

func (d *detector) visit(s *eval.Scope, n *onnx.Node) {
	if n.Domain == "com.microsoft" {
		d.visitFused(s, n)
		return
	}
	switch n.Op {
	case "Add":
		d.addition(s, n, n.Input(0), n.Input(1))
		d.addition(s, n, n.Input(1), n.Input(0))
		d.rotation(s, n)
	case "Sub":
		d.rotation(s, n)
	case "Concat":
		d.joined(s, n)
	case "Sum":
		some := min(len(n.Inputs), maxSummed)
		for i := range some {
			for j := range some {
				if i != j {
					d.addition(s, n, n.Input(i), n.Input(j))
				}
			}
		}
	case "RotaryEmbedding":
		d.fusedRotation(s, n, n.Input(1), n.Input(2), n.Input(3))
	case "Attention":
		d.attentionBias(s, n, n.Input(3))
	}
}

// maxSummed bounds the inputs of a Sum that are looked at in pairs.
const maxSummed = 16

func (d *detector) visitFused(s *eval.Scope, n *onnx.Node) {
	switch n.Op {
	case "EmbedLayerNormalization", "QEmbedLayerNormalization":
		d.embedLayerNormalization(s, n)
	case "SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "BiasAdd":
		d.addition(s, n, n.Input(0), n.Input(1))
		d.addition(s, n, n.Input(1), n.Input(0))
	case "RotaryEmbedding":
		d.fusedRotation(s, n, n.Input(2), n.Input(3), n.Input(1))
	case "GroupQueryAttention":
		if n.Int("do_rotary", 0) == 1 {
			d.fusedRotation(s, n, n.Input(7), n.Input(8), n.Input(9))
		}
		d.attentionBias(s, n, n.Input(10))
	case "SparseAttention":
		if n.Int("do_rotary", 0) == 1 {
			d.fusedRotation(s, n, n.Input(9), n.Input(10), "")
		}
	case "PagedAttention":
		if n.Int("do_rotary", 0) == 1 {
			d.fusedRotation(s, n, n.Input(8), n.Input(9), "")
		}
	case "MultiHeadAttention", "Attention":
		d.attentionBias(s, n, n.Input(5))
	}
}

// isScores reports whether a value goes into a Softmax before any other
// computation: then it is attention scores.
func isScores(s *eval.Scope, name string) bool {
	number, ok := s.Graph.Wiring().Number(name)
	return ok && towardsSoftmax(s)[number] <= maxTowards
}

// towardsSoftmax is, for every value of a scope's graph, how many operators stand
// between it and the nearest Softmax, more than maxTowards where there are more or
// there is none. It goes back from all of them at once.
func towardsSoftmax(s *eval.Scope) []uint8 {
	return eval.Once(s, "towards", "", func() []uint8 {
		w := s.Graph.Wiring()
		out := make([]uint8, w.Len())
		for v := range out {
			out[v] = maxTowards + 1
		}
		var levels [maxTowards + 1][]int
		reach := func(n *onnx.Node, distance uint8) {
			for i := range n.Inputs {
				if v, ok := w.Input(n, i); ok && distance < out[v] {
					out[v] = distance
					levels[distance] = append(levels[distance], v)
				}
			}
		}
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if (n.Op == "Softmax" || n.Op == "BiasSoftmax") && !n.Passes() {
				reach(n, 0)
			}
		}
		for distance := range uint8(maxTowards + 1) {
			for i := 0; i < len(levels[distance]); i++ { // grows by nodes that do not count
				v := levels[distance][i]
				n := w.Producer(v)
				if n == nil || out[v] != distance || !betweenScores[n.Op] || n.Passes() || w.Place(v) != 0 {
					continue
				}
				s.Spend(len(n.Inputs))
				next := distance
				if n.Op != "QuantizeLinear" && n.Op != "DequantizeLinear" { // every other node of a quantised graph
					next++
				}
				if next <= maxTowards {
					reach(n, next)
				}
			}
		}
		return out
	})
}

// betweenScores are the operators that may stand between scores and their Softmax.
var betweenScores = map[string]bool{"Add": true, "Sub": true, "Mul": true, "Div": true, "Where": true, "Reshape": true, "Cast": true, "Max": true, "Min": true,
	"Clip": true, "Unsqueeze": true, "Squeeze": true, "Transpose": true, "Identity": true, "Tanh": true, "Sum": true, "QuantizeLinear": true, "DequantizeLinear": true}

// maxTowards is the most operators between scores and their Softmax.
const maxTowards = 14

// positionAxis is the axis of a known value along which positions run: not
// the last, with a size of its own, and different from row to row.
func positionAxis(v *eval.Value) int {
	for axis := 0; axis < len(v.Shape)-1; axis++ {
		if v.Shape[axis] > 1 && v.Varies(axis) {
			return axis
		}
	}
	return -1
}

// rowsOf reads a known value as rows along an axis: the last axis are the
// columns, other axes are taken at 0.
func rowsOf(v *eval.Value, axis int) [][]float64 {
	columns := v.Shape[len(v.Shape)-1]
	stride := 1
	for _, d := range v.Shape[axis+1:] {
		stride *= d
	}
	rows := make([][]float64, v.Shape[axis])
	for r := range rows {
		rows[r] = make([]float64, columns)
		for c := range columns {
			rows[r][c] = v.Number(r*stride + c)
		}
	}
	return rows
}
