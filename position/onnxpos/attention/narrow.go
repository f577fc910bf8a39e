package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes"
)

// narrow gives a fused attention a window: by its own attribute where it has one, else as a bias.
func (b *sharedBias) narrow(s *eval.Scope, n *onnx.Node, w schemes.SlidingWindow, causal bool, heads int) error {
	local := n.Int("local_window_size", -1)
	if n.Op != "GroupQueryAttention" || w.Sinks > 0 {
		if n.Op == "GroupQueryAttention" && local > 0 {
			return &position.Refusal{Why: fmt.Sprintf("%s hides all keys beyond %d positions itself, the first ones too", n.Title(), local), Instead: "leave --sinks out"}
		}
		if why := closed(s, n); why != "" {
			return &position.Refusal{Why: why}
		}
		return b.addFused(s, n, b.hiding(w, causal), heads)
	}
	if local <= 0 || local > int64(w.Positions) {
		b.m.Editor.SetInt(n, "local_window_size", int64(w.Positions), fmt.Sprintf("attention within %s", w))
	}
	return nil
}

// hiding is a window as a bias: nothing where a query sees a key, the lowest number where it does not.
// A causal mask hides later keys already; without one the window ends on both sides.
func (b *sharedBias) hiding(w schemes.SlidingWindow, causal bool) addition {
	a := addition{what: "window", why: fmt.Sprintf("attention within %s", w)}
	a.build = func(before *onnx.Node, t onnx.DataType, apart distances, lead []int64) ([]onnx.NewNode, string) {
		number := func(part string, x float64) string {
			raw, _ := onnx.EncodeFloats(t, []float64{x}, nil)
			return b.m.Editor.AddInitializer(before.Graph.Outermost(), a.name(part), t, append(lead, 1, 1, 1), raw, a.why)
		}
		fresh := func(part string) string { return b.m.Editor.FreshName(a.name(part)) }
		seen, out := fresh("seen"), fresh("bias")
		var nodes []onnx.NewNode
		if causal {
			nodes = []onnx.NewNode{{Op: "Greater", Inputs: []string{apart.difference, b.scalar(before, a.name("begin"), -int64(w.Positions), a.why)}, Outputs: []string{seen}}}
		} else {
			distance := fresh("distance")
			nodes = []onnx.NewNode{
				{Op: "Abs", Inputs: []string{apart.difference}, Outputs: []string{distance}},
				{Op: "Less", Inputs: []string{distance, b.scalar(before, a.name("end"), int64(w.Positions), a.why)}, Outputs: []string{seen}},
			}
		}
		if w.Sinks > 0 {
			sink, either := fresh("sink"), fresh("seen")
			nodes = append(nodes,
				onnx.NewNode{Op: "Less", Inputs: []string{apart.key, b.scalar(before, a.name("sinks"), int64(w.Sinks), a.why)}, Outputs: []string{sink}},
				onnx.NewNode{Op: "Or", Inputs: []string{seen, sink}, Outputs: []string{either}})
			seen = either
		}
		return append(nodes, onnx.NewNode{Op: "Where", Inputs: []string{seen, number("shown", 0), number("hidden", lowest(t))}, Outputs: []string{out}}), out
	}
	return a
}
