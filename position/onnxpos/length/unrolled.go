package length

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// leastUnrolled is the least length at which nodes for each position are told
// from a few that pick some of them.
const leastUnrolled = 4

// unrolled finds a recurrence that was written out for a fixed length: a Split
// into single positions, or a Gather or Slice for each of them. Such a graph
// may run at another length and leaves out what lies beyond.
func unrolled(m *site.Graph) *onnx.Node {
	length := m.FixedLength()
	if length < leastUnrolled {
		return nil
	}
	for _, s := range m.Eval.Scopes() {
		picked := map[string]map[int64]bool{}
		for _, n := range s.Graph.Nodes {
			data := s.Value(n.Input(0))
			if n.Op == "Split" && len(n.Outputs) == length && splitsPositions(n, data, length) {
				return n
			}
			at, ok := picks(s, n, data, length)
			if !ok {
				continue
			}
			if picked[n.Input(0)] == nil {
				picked[n.Input(0)] = map[int64]bool{}
			}
			if picked[n.Input(0)][at] = true; len(picked[n.Input(0)]) == length {
				return n
			}
		}
	}
	return nil
}

// splitsPositions reports whether a Split goes along an axis of the given
// length that is not that of the columns.
func splitsPositions(n *onnx.Node, data *eval.Value, length int) bool {
	axis := int(n.Int("axis", 0))
	if axis < 0 {
		axis += len(data.Shape)
	}
	return data.Ranked && axis >= 0 && axis < len(data.Shape)-1 && data.Shape[axis] == length
}

// picks is the one position that a node takes out of an axis of the given
// length.
func picks(s *eval.Scope, n *onnx.Node, data *eval.Value, length int) (at int64, ok bool) {
	if !data.Ranked || data.Known() {
		return 0, false
	}
	axis := 0
	switch n.Op {
	case "Gather":
		axis = int(n.Int("axis", 0))
		x, scalar := s.Value(n.Input(1)).Scalar()
		at, ok = int64(x), scalar && s.Tensor(n.Input(1)) != nil
	case "Slice":
		starts, ends, axes := trace.ListOf(s, n, "starts", 1), trace.ListOf(s, n, "ends", 2), trace.ListOf(s, n, "axes", 3)
		if len(starts) != 1 || len(ends) != 1 || len(axes) > 1 || ends[0] != starts[0]+1 {
			return 0, false
		}
		if len(axes) == 1 {
			axis = int(axes[0])
		}
		at, ok = starts[0], true
	}
	if axis < 0 {
		axis += len(data.Shape)
	}
	return at, ok && axis >= 0 && axis < len(data.Shape) && data.Shape[axis] == length
}
