package onnxpos

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/places"
)

// doubts refuses a change with which a graph of a fixed length runs, and yet
// cannot be what was meant (decision 0006).
func doubts(c *length.Change, e *eval.Evaluator) error {
	if err := rowsFollow(c, e); err != nil {
		return err
	}
	if err := c.UnknownBuckets(e); err != nil || c.Graph.FixedLength() == 0 || c.Image != [2]int{} || c.Frames > 0 {
		return err
	}
	if err := outputsFollow(c, e); err != nil {
		return err
	}
	old := c.Graph.Eval.Scopes()
	for i, s := range e.Scopes() {
		if i >= len(old) || old[i].Graph != s.Graph {
			break
		}
		for _, n := range s.Graph.Nodes {
			if at, ok := places.CutsAt(old[i], s, n, [2]int{}, c.Told); ok {
				return c.Refuse(n, fmt.Sprintf("it cuts the tokens at %d, and whether that follows the length is not in the file", at))
			}
		}
	}
	return nil
}

// outputsFollow refuses outputs that stay at the old length, lose their shape, or
// change where they did not hold it.
func outputsFollow(c *length.Change, e *eval.Evaluator) error {
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
