package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Turns says how a Loop or a Scan hands values to its body (ONNX operators Loop and Scan).
type Turns struct {
	Body *onnx.Graph
	// First is the node's input that goes into the body's input Formal, and so on: values
	// that are handed from turn to turn, Carried of them, and then those of which each turn
	// gets a slice.
	First, Formal, Carried int
	// Counter is the body's input that counts the turns, "" where there is none.
	Counter string
	// Result is the body's first output that a turn hands to the next.
	Result int
}

// TurnsOf reads a Loop or a Scan; false for other nodes and for what is none.
func TurnsOf(n *onnx.Node) (t Turns, ok bool) {
	a := n.Attribute("body")
	if n.Domain != "" || a == nil || a.Graph == nil {
		return t, false
	}
	t.Body = a.Graph
	switch n.Op {
	case "Loop":
		t.First, t.Formal, t.Result, t.Carried = 2, 2, 1, len(n.Inputs)-2
		if len(t.Body.Inputs) > 0 {
			t.Counter = t.Body.Inputs[0].Name
		}
	case "Scan":
		t.Carried = len(n.Inputs) - int(n.Int("num_scan_inputs", 0))
	default:
		return t, false
	}
	return t, t.Carried >= 0 && t.Carried <= len(n.Inputs)-t.First && len(t.Body.Inputs) == t.Formal+len(n.Inputs)-t.First && len(t.Body.Outputs) == t.Result+len(n.Outputs) && t.Carried <= len(n.Outputs)
}

// Axis is the axis along which a Scan cuts the slices of input i of the node.
func (t *Turns) Axis(n *onnx.Node, i, rank int) (int, bool) {
	return axisOf(nth(n.Ints("scan_input_axes"), i-t.First-t.Carried), rank)
}

// OutputAxis is the axis along which output i of the node has a place for each turn.
func (t *Turns) OutputAxis(n *onnx.Node, i, rank int) (int, bool) {
	return axisOf(nth(n.Ints("scan_output_axes"), i-t.Carried), rank)
}

func nth(list []int64, i int) int64 {
	if i < len(list) {
		return list[i]
	}
	return 0
}

// same reports whether a turn hands on the value of formal input i as it got it.
func (t *Turns) same(i int) bool {
	name := t.Body.Outputs[t.Result+i].Name
	for range 1000 {
		if name == t.Body.Inputs[t.Formal+i].Name {
			return true
		}
		j := slices.IndexFunc(t.Body.Nodes, func(n *onnx.Node) bool { return n.Op == "Identity" && n.Domain == "" && n.Output(0) == name })
		if j < 0 {
			return false
		}
		name = t.Body.Nodes[j].Input(0)
	}
	return false
}

// repeat runs the body of a Loop or a Scan once, with what is the same in all of its turns:
// captured values, those that are handed on as they are, and the sizes of all others; and turn after turn where all numbers are known.
func repeat(c *call) ([]*Value, error) {
	t, ok := TurnsOf(c.node)
	if !ok {
		return nil, nil
	}
	child := c.scope.Child(c.node, t.Body)
	if child == nil {
		if child = c.turn(t); child == nil {
			return nil, nil
		}
	}
	turns := -1
	if c.node.Op == "Loop" {
		if m, known := c.need(0).Scalar(); known && m >= 0 && m <= maxAxis {
			turns = int(m)
		}
	} else if i := t.First + t.Carried; i < len(c.node.Inputs) {
		if axis, ok := t.Axis(c.node, i, len(c.need(i).Shape)); ok {
			turns = c.need(i).Shape[axis]
		}
	}
	if out := c.inTurns(t, turns); out != nil {
		return out, nil
	}
	out := make([]*Value, len(c.node.Outputs))
	for i := range out {
		got := child.held(t.Body.Outputs[t.Result+i].Name)
		switch in := c.need(t.First + i); {
		case i < t.Carried && t.same(i):
			out[i] = in
		case i < t.Carried && in.Ranked && got.Ranked && slices.Equal(in.Shape, got.Shape):
			out[i] = Shaped(in.Type, in.Shape...)
			out[i].Data = in.Data || got.Data
		case i >= t.Carried && got.Ranked && turns >= 0:
			if axis, ok := t.OutputAxis(c.node, i, len(got.Shape)+1); ok {
				out[i] = Shaped(got.Type, slices.Insert(slices.Clone(got.Shape), axis, turns)...)
				out[i].Data = got.Data
				break
			}
			fallthrough
		default:
			out[i] = &Value{Type: got.Type}
		}
	}
	return out, nil
}

// turn is the scope of a body, run.
func (c *call) turn(t Turns) *Scope {
	child := c.scope.inside(c.node, t.Body, c.scope)
	if child == nil {
		return nil
	}
	child.names, child.bound = map[string]string{}, map[string]*Value{}
	for i := range t.Formal {
		child.bound[t.Body.Inputs[i].Name] = Shaped(t.Body.Inputs[i].Type)
	}
	for i := t.First; i < len(c.node.Inputs); i++ {
		formal, in := t.Body.Inputs[t.Formal+i-t.First].Name, c.need(i)
		v := &Value{Type: in.Type}
		switch {
		case !in.Ranked:
		case i >= t.First+t.Carried:
			if axis, ok := t.Axis(c.node, i, len(in.Shape)); ok {
				v = Shaped(in.Type, slices.Delete(slices.Clone(in.Shape), axis, axis+1)...)
			}
		case t.same(i - t.First):
			v = in
			child.names[formal] = c.node.Input(i)
		default:
			v = Shaped(in.Type, in.Shape...)
		}
		if v != in {
			v.Data = in.Data
		}
		child.bound[formal] = v
	}
	for _, o := range t.Body.Outputs {
		child.Results = append(child.Results, o.Name)
	}
	child.run()
	return child
}
