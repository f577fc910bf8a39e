package onnx

import "slices"

// What operators and declarations tell of a value's type and rank before
// anything is evaluated: enough to see that a Cast or a product with a list of
// one 1 changes nothing.

// maxRankWalk bounds how many nodes deep a value's rank is asked for: each asks
// all of its inputs.
const maxRankWalk = 6

// hasAxes reports whether a value is surely no scalar.
func (t *through) hasAxes(v int32, depth int) bool {
	value := t.w.values[v]
	if value.constant != nil {
		return len(value.constant.Dims) > 0
	}
	n := value.producer
	if n == nil {
		info := t.info(value.name)
		return info != nil && len(info.Dims) > 0
	}
	if n.Domain != "" || depth == 0 {
		return false
	}
	switch n.Op {
	case "Conv", "Gemm", "LayerNormalization", "RMSNormalization", "BatchNormalization", "InstanceNormalization", "GroupNormalization",
		"Softmax", "LogSoftmax", "Concat", "Unsqueeze", "Shape", "Slice", "Split", "Range", "NonZero", "CumSum", "Pad", "Trilu", "Flatten":
		return true
	case "Transpose":
		return len(n.Ints("perm")) > 0 || t.given(n, 0, depth)
	case "Reshape":
		shape, ok := t.w.Input(n, 1)
		if !ok {
			return false
		}
		c := t.constant(int32(shape))
		return c != nil && c.Len() > 0 || c == nil && t.hasAxes(int32(shape), depth-1)
	case "Add", "Sub", "Mul", "Div", "Pow", "Where", "Cast", "Sqrt", "Tanh", "Sigmoid", "Erf", "Relu", "Gelu", "Exp", "Log", "Neg", "Abs", "Cos", "Sin",
		"Dropout", "Identity", "Equal", "Less", "Greater", "And", "Or", "Not", "Min", "Max", "Reciprocal":
		return slices.ContainsFunc(n.inputs, func(in input) bool { return in.value >= 0 && t.hasAxes(in.value, depth-1) })
	case "MatMul":
		return t.isMatrix(n)
	}
	return false
}

// given reports whether input i of a node is there and surely no scalar.
func (t *through) given(n *Node, i, depth int) bool {
	v, ok := t.w.Input(n, i)
	return ok && t.hasAxes(int32(v), depth-1)
}

// isMatrix reports whether one operand of a MatMul is a constant of two axes or
// more: then the product has one at least.
func (t *through) isMatrix(n *Node) bool {
	return slices.ContainsFunc(n.inputs, func(in input) bool {
		c := (*Tensor)(nil)
		if in.value >= 0 {
			c = t.constant(in.value)
		}
		return c != nil && len(c.Dims) >= 2
	})
}

// maxTypeWalk bounds the nodes that are asked for a value's type.
const maxTypeWalk = 64

// typeOf is the element type of a value as far as operators tell, Undefined where
// they do not.
func (t *through) typeOf(v int32) DataType {
	for range maxTypeWalk {
		value := t.w.values[v]
		if c := t.constant(v); c != nil {
			return c.Type
		}
		n := value.producer
		if n == nil {
			return t.declared(value.name)
		}
		from := 0
		switch n.Op {
		case "Cast":
			return DataType(n.Int("to", 0))
		case "Shape", "Size", "NonZero", "ArgMax", "ArgMin":
			return Int64
		case "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Xor", "Not", "IsNaN", "IsInf":
			return Bool
		case "Where", "DequantizeLinear":
			from = 1
		case "Add", "Sub", "Mul", "Div", "Pow", "Sqrt", "Tanh", "Sigmoid", "Erf", "Relu", "Gelu", "Exp", "Log", "Neg", "Abs", "Cos", "Sin", "Reciprocal",
			"MatMul", "Gemm", "Conv", "Softmax", "LayerNormalization", "RMSNormalization", "Transpose", "Reshape", "Flatten", "Squeeze", "Unsqueeze",
			"Concat", "Slice", "Split", "Gather", "GatherElements", "GatherND", "Expand", "Tile", "Pad", "Identity", "Dropout", "Min", "Max", "Sum", "Mean",
			"ReduceMean", "ReduceSum", "ReduceMax", "Range", "CumSum", "Trilu", "Clip", "ScatterND", "ScatterElements":
		default:
			return t.declared(value.name)
		}
		if n.Domain != "" || len(n.inputs) <= from || n.inputs[from].value < 0 || n.inputs[from].value == v {
			return Undefined
		}
		v = n.inputs[from].value
	}
	return Undefined
}

// declared is the type that the graph states for a value.
func (t *through) declared(name string) DataType {
	if info := t.info(name); info != nil {
		return info.Type
	}
	return Undefined
}

// info is what the graph declares of an input or inner value, nil when nothing.
func (t *through) info(name string) *ValueInfo {
	if t.stated == nil {
		t.stated = map[string]*ValueInfo{}
		for _, list := range [][]*ValueInfo{t.graph.ValueInfos, t.graph.Inputs} {
			for _, v := range list {
				t.stated[v.Name] = v
			}
		}
	}
	return t.stated[name]
}
