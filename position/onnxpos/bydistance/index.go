package bydistance

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// OpsetMinInts is the first opset of ai.onnx in which Min and Max take whole numbers of
// 64 bits.
const OpsetMinInts = 12

// maxIndexNodes bounds the nodes behind an index that are looked at.
const maxIndexNodes = 200

// Index builds the nodes from relative positions to rows of a table.
type Index struct {
	In    *site.Graph
	Graph *onnx.Graph // where the nodes will stand
	At    string      // the value so far
	Nodes []onnx.NewNode
	Why   string
}

// Name is a free name for a node's output.
func (l *Index) Name(what string) string { return l.In.FreshName("modelpatch/" + what) }

// Constant adds a number to the graph and returns its name.
func (l *Index) Constant(name string, v int64) string {
	raw, _ := onnx.EncodeInts(onnx.Int64, []int64{v}, nil)
	return l.In.AddInitializer(l.Graph, name, onnx.Int64, nil, raw, l.Why)
}

// Negate turns the sign of the value so far.
func (l *Index) Negate() {
	out := l.Name("relative")
	l.Nodes = append(l.Nodes, onnx.NewNode{Op: "Neg", Inputs: []string{l.At}, Outputs: []string{out}})
	l.At = out
}

// Step appends a node of two inputs.
func (l *Index) Step(op, with string) {
	out := l.Name("relative")
	l.Nodes = append(l.Nodes, onnx.NewNode{Op: op, Inputs: []string{l.At, with}, Outputs: []string{out}})
	l.At = out
}

// RelativePositions finds the value behind an index that is key − query for each pair;
// ahead is false where it is query − key. It has the shape of the index.
func RelativePositions(s *eval.Scope, index string) (name string, ahead bool) {
	shape := s.Value(index).Shape
	queue, seen := []string{index}, map[string]bool{index: true}
	for i := 0; i < len(queue) && i < maxIndexNodes; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s {
			continue
		}
		v := s.Value(queue[i])
		if n.Op == "Sub" && slices.Equal(v.Shape, shape) && v.Type == onnx.Int64 {
			if sign := stepsOf(v); sign != 0 {
				return queue[i], sign > 0
			}
		}
		for _, in := range trace.DataInputs(n) {
			if !seen[in] {
				seen[in] = true
				queue = append(queue, in)
			}
		}
	}
	return "", false
}

// stepsOf is 1 where a matrix grows by one from key to key and falls by one from query to
// query, with a zero; −1 the other way round; 0 for anything else.
func stepsOf(v *eval.Value) int {
	k := len(v.Shape)
	if !v.Known() || v.Ints == nil || k < 2 || v.Shape[k-1] < 2 || v.Len() != v.Shape[k-1]*v.Shape[k-2] {
		return 0
	}
	keys := v.Shape[k-1]
	sign := v.Ints[1] - v.Ints[0]
	if sign != 1 && sign != -1 {
		return 0
	}
	for i, x := range v.Ints {
		if x != v.Ints[0]+sign*int64(i%keys)-sign*int64(i/keys) {
			return 0
		}
	}
	if v.Ints[0] != -sign*int64(keys-v.Shape[k-2]) {
		return 0 // the last query is not the last key
	}
	return int(sign)
}

// GatherAxis is the axis of a table along which a Gather takes rows.
func GatherAxis(gather *onnx.Node, table *onnx.Tensor) int {
	axis := int(gather.Int("axis", 0))
	if axis < 0 {
		axis += len(table.Dims)
	}
	return min(max(axis, 0), len(table.Dims)-1)
}
