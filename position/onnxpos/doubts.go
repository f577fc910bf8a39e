package onnxpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// doubts refuses a change with which a graph of a fixed length runs, and yet
// cannot be what was meant (decision 0006).
func (c *lengthChange) doubts(e *eval.Evaluator) error {
	if err := c.rowsFollow(e); err != nil {
		return err
	}
	if err := c.UnknownBuckets(e); err != nil || c.Graph.FixedLength() == 0 || c.Image != [2]int{} || c.Frames > 0 {
		return err
	}
	if err := c.outputsFollow(e); err != nil {
		return err
	}
	old := c.Graph.Eval.Scopes()
	for i, s := range e.Scopes() {
		if i >= len(old) || old[i].Graph != s.Graph {
			break
		}
		for _, n := range s.Graph.Nodes {
			if at, ok := c.leftBehind(old[i], s, n); ok {
				return c.Refuse(n, fmt.Sprintf("it cuts the tokens at %d, and whether that follows the length is not in the file", at))
			}
		}
	}
	return nil
}

// outputsFollow refuses outputs that stay at the old length, lose their shape, or
// change where they did not hold it.
func (c *lengthChange) outputsFollow(e *eval.Evaluator) error {
	fixed := c.Graph.FixedLength()
	for _, o := range c.Graph.File.Graph.Outputs {
		before, after := c.Graph.Eval.Main.Value(o.Name), e.Main.Value(o.Name)
		if !before.Ranked {
			continue
		}
		why := ""
		switch {
		case !after.Ranked:
			why = "its shape cannot be foretold"
		case len(before.Shape) != len(after.Shape):
			why = fmt.Sprintf("%v became %v", before.Shape, after.Shape)
		case len(before.Shape) > 2 && before.Shape[1] == fixed && after.Shape[1] == fixed:
			why = fmt.Sprintf("it stays at %d tokens", fixed)
		default:
			for d := range before.Shape {
				if before.Shape[d] != after.Shape[d] && !c.Follows(before.Shape[d], after.Shape[d]) {
					why = fmt.Sprintf("%v became %v", before.Shape, after.Shape)
				}
			}
		}
		if why != "" {
			return &position.Refusal{Why: fmt.Sprintf("the output %q does not follow the length: %s", o.Name, why),
				Instead: "export the model again with a free sequence length, or for this length"}
		}
	}
	return nil
}

// leftBehind reports a place in the later half of the old length at which tokens
// are cut or picked as before, though there are more of them now.
func (c *lengthChange) leftBehind(old, s *eval.Scope, n *onnx.Node) (at int, found bool) {
	if n.Op != "Slice" && n.Op != "Gather" {
		return 0, false
	}
	was, is := old.Value(n.Input(0)), s.Value(n.Input(0))
	if is.Known() || len(was.Shape) != len(is.Shape) {
		return 0, false
	}
	fixed := c.Graph.FixedLength()
	grown := func(axis int) bool {
		if axis < 0 {
			axis += len(is.Shape)
		}
		return axis >= 0 && axis < len(is.Shape) && was.Shape[axis] == fixed && is.Shape[axis] == c.New
	}
	late := func(x int64) bool { return 2*x > int64(fixed) && x <= int64(fixed) }
	if n.Op == "Gather" {
		index, ok := s.Value(n.Input(1)).Scalar()
		return int(index), ok && grown(int(n.Int("axis", 0))) && index < float64(fixed) && late(int64(math.Max(index, 0)))
	}
	axes := trace.ListOf(s, n, "axes", 3)
	for _, limits := range [][]int64{trace.ListOf(s, n, "starts", 1), trace.ListOf(s, n, "ends", 2)} {
		for i, x := range limits {
			axis := i
			if i < len(axes) {
				axis = int(axes[i])
			}
			if late(x) && grown(axis) {
				return int(x), true
			}
		}
	}
	return 0, false
}

// relativeToLength reports whether waves of a fixed length n have positions that are
// parts of that length, or are counted from its middle: they do not go on.
func relativeToLength(wave schemes.Sinusoid, n int) bool {
	if n == 0 {
		return false
	}
	f := wave.Frequencies
	parts := wave.Base == 0 && len(f) > 0 && (length.PartOf(f[0], math.Pi, n) || length.PartOf(f[0], math.Pi, n-1) || length.PartOf(f[0], math.Pi, n+1))
	return parts || wave.Start < 0
}
