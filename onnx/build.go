package onnx

// NewModel describes a small model to be built from nothing, for tests and for
// handing a computation to another program.
type NewModel struct {
	Opset        int64
	Nodes        []NewNode
	Initializers []NewTensor
	Inputs       []NewValue
	Outputs      []NewValue
}

// NewTensor is a constant of a NewModel: Raw holds its elements little-endian; nil
// makes one that claims them and holds none.
type NewTensor struct {
	Name string
	Type DataType
	Dims []int64
	Raw  []byte
}

// NewValue is an input, output or inner value. A dimension that has a name in Params, by its place,
// is free.
type NewValue struct {
	Name   string
	Type   DataType
	Dims   []int64
	Params []string
}

// builtIR is the IR version that built models state: the oldest that has what
// they use, for the widest reach.
const builtIR = 7

// Build encodes the model as an ONNX file.
func (m NewModel) Build() []byte {
	b := appendInt(nil, 1, builtIR)
	b = appendText(b, 2, "modelpatch")
	b = appendMessage(b, 7, m.graph())
	return appendMessage(b, 8, appendInt(appendText(nil, 1, ""), 2, m.Opset))
}

// graph encodes the model's graph, which an attribute may hold as well.
func (m NewModel) graph() []byte {
	var g []byte
	for _, n := range m.Nodes {
		g = appendMessage(g, 1, n.encode(nodeTitle(n)))
	}
	g = appendText(g, 2, "modelpatch")
	for _, t := range m.Initializers {
		g = appendMessage(g, 5, encodeTensor(t.Name, t.Type, t.Dims, t.Raw))
	}
	for _, v := range m.Inputs {
		g = appendMessage(g, 11, v.encode())
	}
	for _, v := range m.Outputs {
		g = appendMessage(g, 12, v.encode())
	}
	return g
}

func nodeTitle(n NewNode) string {
	if len(n.Outputs) > 0 {
		return n.Op + " " + n.Outputs[0]
	}
	return n.Op
}

func (v NewValue) encode() []byte {
	var shape []byte
	for i, d := range v.Dims {
		dim := appendInt(nil, 1, d)
		if i < len(v.Params) && v.Params[i] != "" {
			dim = appendText(nil, 2, v.Params[i])
		}
		shape = appendMessage(shape, 1, dim)
	}
	tensor := appendMessage(appendInt(nil, 1, int64(v.Type)), 2, shape)
	return appendMessage(appendText(nil, 1, v.Name), 2, appendMessage(nil, 1, tensor))
}
