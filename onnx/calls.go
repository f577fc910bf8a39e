package onnx

import "slices"

// asOperators has calls of functions that are operators made those, in functions, of which each stands behind those that it calls, and in the graph.
func (f *File) asOperators(functions []*Function) {
	if len(functions) == 0 {
		return
	}
	calls := func(g *Graph) {
		for _, n := range g.Nodes {
			f.asOperator(n)
		}
	}
	for _, fn := range functions {
		fn.Graph.walk(calls)
	}
	f.Graph.walk(calls)
}

// asOperator makes a call of a function that is an operator under another name that operator: exporters write a function for each (torch_lib of
// onnxscript: aten_add), and what looks for operators finds none in them. It stands where the call stands, with the call's name, inputs and
// outputs; its attributes are those of the function's body, and are not written (Editor).
func (f *File) asOperator(n *Node) {
	fn := f.Function(n)
	if fn == nil || len(fn.Outputs) == 0 || len(n.Inputs) != len(fn.Inputs) || len(n.Outputs) != len(fn.Outputs) || len(fn.Graph.Nodes) > maxOperatorBody {
		return
	}
	c := call{node: n, function: fn, values: map[string]operand{}}
	for i, name := range fn.Inputs {
		c.values[name] = operand{input: i}
	}
	for _, inner := range fn.Graph.Nodes {
		if !c.reads(inner) {
			return
		}
	}
	if o, passes := c.values[fn.Outputs[0]]; passes && c.operator == nil && !o.known && len(fn.Inputs) == 1 && len(fn.Outputs) == 1 {
		n.Op, n.Domain, n.Attributes, n.calls = "Identity", "", nil, true
		return
	}
	if c.operator == nil || !slices.Equal(c.operator.Outputs, fn.Outputs) || fn.Opsets[c.operator.Domain] != f.Opsets[c.operator.Domain] || f.Function(c.operator) != nil {
		return
	}
	attributes, ok := c.attributes()
	if !ok {
		return
	}
	n.Op, n.Domain, n.Attributes, n.calls = c.operator.Op, c.operator.Domain, attributes, true
}

// asConcat has the two nodes that put tensors together by way of a sequence be the Concat that they are, as torch_lib writes torch.cat
// (SequenceConstruct, and ConcatFromSequence in the function aten_cat): it stands where the sequence is made. Neither is removed.
func (f *File) asConcat(g *Graph) {
	var joins []*Node
	for _, n := range g.Nodes {
		if n.Op == "ConcatFromSequence" && n.Domain == "" && n.Int("new_axis", 0) == 0 && !n.refers() && len(n.makes) == 1 && n.makes[0] >= 0 && len(n.inputs) == 1 && n.inputs[0].value >= 0 {
			joins = append(joins, n)
		}
	}
	if len(joins) == 0 {
		return
	}
	read := make([]int, len(g.wiring.values))
	for _, n := range g.Nodes {
		g.reads(n, func(value int32) { read[value]++ })
	}
	for _, name := range f.gives(g) {
		if number, ok := g.wiring.Number(name); ok {
			read[number]++
		}
	}
	for _, n := range joins {
		list, made := n.inputs[0].value, n.makes[0]
		of := g.wiring.values[list].producer
		if of == nil || of.Op != "SequenceConstruct" || of.Domain != "" || read[list] > 1 || len(of.makes) != 1 {
			continue
		}
		of.Op, of.Attributes, of.calls, of.joins = "Concat", n.Attributes, true, n
		n.Op, n.Domain, n.Attributes, n.calls, n.joins = "Identity", "", nil, true, of
		of.makes, n.makes = n.makes, of.makes
		of.Outputs, n.Outputs = n.Outputs, of.Outputs
		g.wiring.values[made].producer, g.wiring.values[list].producer = of, n
		n.inputs[0].value, n.inputs[0].written, n.Inputs[0] = made, made, of.Outputs[0]
	}
}

// maxOperatorBody bounds the nodes of a function that may be an operator.
const maxOperatorBody = 12

// call is a call of a function that may be an operator.
type call struct {
	node     *Node
	function *Function
	values   map[string]operand // by names in the body
	operator *Node              // of the body
}

// operand is a value of a function's body: an input of the function, or one number.
type operand struct {
	input  int
	number float64
	known  bool // it is the number
}

// reads goes on with a node of the body, and reports whether the body may be an operator still: it passes a value on, makes a number, or is the operator.
func (c *call) reads(n *Node) bool {
	out := n.Output(0)
	a, given := c.values[n.Input(0)]
	b, also := c.values[n.Input(1)]
	is := func(o operand, known bool, x float64) bool { return known && o.known && o.number == x }
	switch {
	case n.Op == "Constant" && n.Domain == "" && len(n.Attributes) == 1:
		x, ok := c.number(n.Attributes[0])
		c.values[out] = operand{number: x, known: true}
		return ok
	case n.Op == "Identity" && given, (n.Op == "Cast" || n.Op == "CastLike") && given && a.known:
		c.values[out] = a
		return true
	case (n.Op == "Mul" || n.Op == "Div") && given && is(b, also, 1), (n.Op == "Add" || n.Op == "Sub") && given && is(b, also, 0):
		c.values[out] = a
		return true
	case n.Op == "Mul" && also && is(a, given, 1), n.Op == "Add" && also && is(a, given, 0):
		c.values[out] = b
		return true
	case c.operator != nil || len(n.Inputs) != len(c.node.Inputs):
		return false
	}
	for i, name := range n.Inputs {
		if o, ok := c.values[name]; !ok || o.known || o.input != i {
			return false
		}
	}
	c.operator = n
	return true
}

// number is the one number of an attribute of a Constant.
func (c *call) number(a *Attribute) (float64, bool) {
	name := a.Name
	if a = c.handed(a); a == nil || a.Ref != "" {
		return 0, false
	}
	switch name {
	case "value_float":
		return float64(a.F), true
	case "value_int":
		return float64(a.I), true
	}
	return a.Tensor.scalar()
}

// handed is an attribute, or what the call gives in its place; nil where it gives none.
func (c *call) handed(a *Attribute) *Attribute {
	if a.Ref == "" {
		return a
	}
	if given := c.node.Attribute(a.Ref); given != nil {
		return given
	}
	if i := slices.IndexFunc(c.function.Defaults, func(d *Attribute) bool { return d.Name == a.Ref }); i >= 0 {
		return c.function.Defaults[i]
	}
	return nil
}

// attributes are those of the operator; not ok where one holds a graph, or hangs on the function around the call.
func (c *call) attributes() (out []*Attribute, ok bool) {
	for _, a := range c.operator.Attributes {
		given := c.handed(a)
		switch {
		case a.Graph != nil || a.Graphs != nil || given != nil && given.Ref != "":
			return nil, false
		case given != nil && a.Ref != "":
			named := *given
			named.Name = a.Name
			out = append(out, &named)
		case given != nil:
			out = append(out, given)
		}
	}
	return out, true
}
