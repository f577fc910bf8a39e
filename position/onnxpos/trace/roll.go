package trace

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// RollStart is where the later of two parts of a value begins that a Concat joins before the earlier, and that
// value; 0 for what is not that.
func RollStart(s *eval.Scope, n *onnx.Node) (start int, of string) {
	if len(n.Inputs) != 2 {
		return 0, ""
	}
	later, a := s.Find(n.Input(0))
	earlier, b := s.Find(n.Input(1))
	if later == nil || earlier == nil || a != s || b != s || later.Input(0) != earlier.Input(0) {
		return 0, ""
	}
	size, at := 0, 0
	switch shape := s.Input(later, 0).Shape; {
	case later == earlier && later.Op == "Split":
		axis := int(later.Int("axis", 0))
		if len(later.Outputs) != 2 || later.Output(0) != n.Input(1) || axis < 0 || axis >= len(shape) || len(s.Output(later, 0).Shape) != len(shape) {
			return 0, ""
		}
		size, at = shape[axis], s.Output(later, 0).Shape[axis]
	case later.Op == "Slice" && earlier.Op == "Slice":
		starts, ends, axes := ListOf(s, later, "starts", 1), ListOf(s, earlier, "ends", 2), ListOf(s, later, "axes", 3)
		if len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || starts[0] != ends[0] || axes[0] < 0 || int(axes[0]) >= len(shape) {
			return 0, ""
		}
		size, at = shape[axes[0]], int(starts[0])
		if at < 0 {
			at += size
		}
	}
	if at <= 0 || at >= size {
		return 0, ""
	}
	return at, later.Input(0)
}
