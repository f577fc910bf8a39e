package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// rule labels the outputs of a node that depends on data. It notes meetings,
// what tells positions apart, and what it does not understand.
type rule func(*call) []*Value

// ruleOf returns the rule of a node's operator, nil for one that has none.
func ruleOf(n *onnx.Node) rule {
	switch n.Domain {
	case "":
		return standard[n.Op]
	case "com.microsoft", "com.microsoft.nchwc":
		if r := microsoft[n.Op]; r != nil {
			return r
		}
	}
	return nil
}

// standard are the operators of ai.onnx.
var standard = table(map[string]rule{
	"Where": elementwise, "Clip": first, "PRelu": elementwise, "CastLike": first, "Dropout": first,
	"Equal": compare, "Less": compare, "LessOrEqual": compare, "Greater": compare, "GreaterOrEqual": compare,
	"QuantizeLinear": first, "DequantizeLinear": first, "DynamicQuantizeLinear": first,
	"Shape": sizes, "Size": sizes,
	"Reshape": reshape, "Flatten": reshape, "Squeeze": reshape, "Unsqueeze": reshape,
	"Transpose": transpose, "Expand": expand, "Tile": expand, "Slice": slice, "Split": split, "Concat": concat,
	"Gather": gather, "GatherElements": pickElements, "OneHot": oneHot, "TopK": topK,
	"MatMul": product, "MatMulInteger": product, "Gemm": gemm, "Einsum": einsum,
	"LayerNormalization": scaled, "RMSNormalization": scaled, "SimplifiedLayerNormalization": scaled,
	"BatchNormalization": byChannel, "InstanceNormalization": byChannel, "GroupNormalization": byChannel,
	"Softmax": first, "LogSoftmax": first, "Hardmax": first, "LpNormalization": first, "MeanVarianceNormalization": first,
	"Conv": convolution, "ConvInteger": convolution, "ConvTranspose": convolution,
	"MaxPool": pooling, "AveragePool": pooling, "LpPool": pooling, "GlobalAveragePool": globalPool, "GlobalMaxPool": globalPool,
	"Pad": padding, "Resize": moved, "Upsample": moved, "DepthToSpace": moved, "SpaceToDepth": moved, "Col2Im": moved, "ReverseSequence": moved, "LRN": first,
	"LSTM": recurrent, "GRU": recurrent, "RNN": recurrent,
	"CumSum": cumulative, "Trilu": triangle, "Attention": attention(3),
	"RotaryEmbedding": rotates,
}, first, "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Cast", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu",
	"HardSigmoid", "HardSwish", "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu", "Shrink",
	"Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh", "ThresholdedRelu").
	with(elementwise, "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Div", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow", "Sub", "Sum", "Xor").
	with(reduce, "ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")

// microsoft are the operators that ONNX Runtime's optimizers and exporters write.
var microsoft = table(map[string]rule{
	"FusedMatMul": product, "FusedGemm": gemm, "MatMulIntegerToFloat": product, "DynamicQuantizeMatMul": product,
	"MatMulNBits": linear, "MatMulBnb4": linear, "MatMulFpQ4": linear, "GatherBlockQuantized": gather,
	"FusedConv": convolution, "Conv": convolution, "MaxPool": pooling, "AveragePool": pooling, "GlobalAveragePool": globalPool,
	"SkipLayerNormalization": skipNormalization, "SkipSimplifiedLayerNormalization": skipNormalization, "SimplifiedLayerNormalization": scaled, "LayerNormalization": scaled,
	"Attention": attention(5), "MultiHeadAttention": attention(5), "GroupQueryAttention": attention(10), "QAttention": attention(-1),
	"BiasAdd": elementwise, "BiasGelu": elementwise, "FastGelu": elementwise, "Gelu": first, "QuickGelu": first, "DequantizeLinear": first, "QuantizeLinear": first,
	"RotaryEmbedding": rotates,
}, nil)

type rules map[string]rule

func table(r map[string]rule, of rule, names ...string) rules {
	return rules(r).with(of, names...)
}

func (r rules) with(of rule, names ...string) rules {
	for _, name := range names {
		r[name] = of
	}
	return r
}

// first gives back the axes of the first input: each element for itself, or along
// an axis without regard to order.
func first(c *call) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	out[0] = c.of(0)
	for i := 1; i < len(out); i++ { // scales and zero points, masks of Dropout
		v := &Value{Depends: c.of(0).Depends, Axes: []Axis{}}
		if c.n.Output(i) != "" && len(c.shape(i)) == len(c.of(0).Axes) {
			v = c.of(0)
		}
		out[i] = v
	}
	return out
}

func elementwise(c *call) []*Value {
	var inputs []int
	for i := range c.in {
		inputs = append(inputs, i)
	}
	return c.combine(inputs...)
}

// compare tells tokens from a constant: padding, which is a mask.
func compare(c *call) []*Value {
	out := c.combine(0, 1)
	tokens := c.known(0).Type.IsInteger() && c.known(1).Type.IsInteger() && (c.of(0).Depends == Constant || c.of(1).Depends == Constant)
	if tokens && out[0].Depends == Content {
		out[0].Depends = Mask
	}
	return out
}

// sizes depend on no content.
func sizes(*call) []*Value { return nil }

// scaled normalises the last axes and multiplies by weights along them.
func scaled(c *call) []*Value {
	v := c.of(0)
	for i := 1; i < len(c.in); i++ {
		if c.of(i).Depends == Constant && c.n.Input(i) != "" {
			c.meet(i, v.Axes, len(v.Axes)-1)
		}
	}
	return normalised(c, v)
}

// normalised has the statistics of a normalisation behind its result.
func normalised(c *call, v *Value) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	out[0] = v
	for i := 1; i < len(out); i++ {
		if c.n.Output(i) == "" || len(c.shape(i)) != len(v.Axes) {
			continue
		}
		s := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
		for d, size := range c.shape(i) {
			if size == 1 {
				s.Axes[d] = nil
			}
		}
		out[i] = s
	}
	return out
}

// byChannel multiplies by weights along the second axis.
func byChannel(c *call) []*Value {
	v := c.of(0)
	for i := 1; i < len(c.in) && len(v.Axes) > 1; i++ {
		if c.of(i).Depends == Constant && v.Axes[1].has(Position) && c.n.Input(i) != "" && c.mayVary(c.known(i), 0) {
			c.meeting(i)
		}
	}
	return normalised(c, v)
}

// skipNormalization adds the first two inputs and normalises the sum.
func skipNormalization(c *call) []*Value {
	out := c.combine(0, 1)
	for i := 2; i < len(c.in); i++ {
		if c.of(i).Depends == Constant && c.n.Input(i) != "" {
			c.meet(i, out[0].Axes, len(out[0].Axes)-1)
		}
	}
	return normalised(c, out[0])
}

// pickElements is GatherElements: what is picked along positions, or by an index
// that differs from position to position, is not followed.
func pickElements(c *call) []*Value {
	data, index := c.of(0), c.of(1)
	axis := dimension(c.n.Int("axis", 0), len(c.known(0).Shape))
	if axis < 0 || data.Axes != nil && data.Axes[axis].has(Position) || index.Depends == Constant && data.Depends > Constant {
		c.doubt("what it picks from positions is not followed")
		return c.opaque()
	}
	out := &Value{Depends: max(data.Depends, index.Depends), Axes: slices.Clone(index.Axes)}
	return []*Value{out}
}

func oneHot(c *call) []*Value {
	shape := c.shape(0)
	axis := dimension(c.n.Int("axis", -1), len(shape))
	v := c.of(0)
	if axis < 0 || len(shape) != len(v.Axes)+1 {
		return c.opaque()
	}
	return []*Value{{Depends: v.Depends, Axes: slices.Insert(slices.Clone(v.Axes), axis, axisOf(Feature, shape[axis]))}}
}

// topK orders by content; what it says of places among positions tells them
// apart.
func topK(c *call) []*Value {
	v := c.of(0)
	axis := dimension(c.n.Int("axis", -1), len(v.Axes))
	if axis < 0 {
		return c.opaque()
	}
	if v.Axes[axis].has(Position) {
		c.order("ranks positions")
	}
	out := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
	out.Axes[axis] = axisOf(Feature, c.shape(0)[axis])
	return []*Value{out, out}
}

// convolution mixes neighbours along its spatial axes, but for patches that do
// not overlap: each of them becomes one position.
func convolution(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if c.of(0).Depends == Constant || len(x.Axes) < 3 || len(shape) != len(x.Axes) {
		return c.opaque()
	}
	if x.Axes[1].has(Position) {
		c.order("sums over positions with weights of their own")
	}
	return []*Value{c.windows(x, shape, c.n.Op != "ConvTranspose" && c.tiles(), axisOf(Feature, shape[1]))}
}

func pooling(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(x.Axes) < 3 || len(shape) != len(x.Axes) {
		return c.opaque()
	}
	return []*Value{c.windows(x, shape, false, x.Axes[1])}
}

// windows is what a convolution or pooling leaves.
func (c *call) windows(x *Value, shape []int, tiles bool, channels Axis) *Value {
	kernel := c.kernel()
	out := &Value{Depends: Content, Axes: []Axis{x.Axes[0], channels}}
	for d := 2; d < len(shape); d++ {
		role := Feature
		if x.Axes[d].has(Position) {
			role = Position
			if wide := d-2 >= len(kernel) || kernel[d-2] != 1; (wide || shape[d] != x.Axes[d].size()) && !tiles {
				c.order("looks at neighbours")
			}
		}
		out.Axes = append(out.Axes, axisOf(role, shape[d]))
	}
	return out
}

// kernel is the size of the window: an attribute, or that of the weights.
func (c *call) kernel() []int64 {
	if k := c.n.Ints("kernel_shape"); k != nil {
		return k
	}
	var out []int64
	if w := c.known(1); len(w.Shape) > 2 {
		for _, size := range w.Shape[2:] {
			out = append(out, int64(size))
		}
	}
	return out
}

// tiles reports whether windows neither overlap nor leave gaps.
func (c *call) tiles() bool {
	kernel, strides := c.kernel(), c.n.Ints("strides")
	one := func(x int64) bool { return x == 1 }
	zero := func(x int64) bool { return x == 0 }
	all := func(list []int64, ok func(int64) bool) bool {
		return !slices.ContainsFunc(list, func(x int64) bool { return !ok(x) })
	}
	return len(kernel) > 0 && slices.Equal(kernel, strides) && all(c.n.Ints("dilations"), one) && all(c.n.Ints("pads"), zero)
}

// globalPool averages over all positions.
func globalPool(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(x.Axes) < 2 || len(shape) != len(x.Axes) {
		return c.opaque()
	}
	out := &Value{Depends: x.Depends, Axes: make([]Axis, len(shape))}
	copy(out.Axes, x.Axes[:2])
	return []*Value{out}
}

// resized is an input of which some axes changed their size, by a way in which
// positions lose their places.
func (c *call) resized(why string) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(shape) != len(x.Axes) {
		return c.opaque()
	}
	out := &Value{Depends: x.Depends, Axes: slices.Clone(x.Axes)}
	for d := range shape {
		if x.Axes[d].size() != shape[d] {
			role := Feature
			if x.Axes[d].has(Position) {
				role = Position
			}
			out.Axes[d] = axisOf(role, shape[d])
		}
	}
	if why != "" {
		c.order(why)
	}
	return []*Value{out}
}

func moved(c *call) []*Value { return c.resized("moves positions") }

// padding moves positions where it adds to them, or takes as much at the other end.
func padding(c *call) []*Value {
	pads, ok := c.ints("pads", 1)
	v := c.of(0)
	axes, given := c.ints("axes", 3)
	why := ""
	if !ok {
		why = "moves positions"
	}
	for i, p := range pads {
		d := i % max(len(pads)/2, 1)
		if given && d < len(axes) {
			d = dimension(axes[d], len(v.Axes))
		}
		if p != 0 && d >= 0 && d < len(v.Axes) && v.Axes[d].has(Position) {
			why = "moves positions"
		}
	}
	return c.resized(why)
}

// recurrent goes through positions one after the other.
func recurrent(c *call) []*Value {
	c.order("goes through positions one after the other")
	out := make([]*Value, len(c.n.Outputs))
	x := c.of(0)
	for i := range out {
		if c.n.Output(i) == "" {
			continue
		}
		shape := c.shape(i)
		v := &Value{Depends: Content, Axes: make([]Axis, len(shape))}
		for d, size := range shape {
			v.Axes[d] = axisOf(Feature, size)
		}
		if i == 0 && len(shape) == 4 && len(x.Axes) == 3 { // sequence, direction, batch, features
			v.Axes[0], v.Axes[2] = x.Axes[0], x.Axes[1]
			if c.n.Int("layout", 0) == 1 {
				v.Axes[0], v.Axes[2] = x.Axes[0], axisOf(Feature, shape[2])
				v.Axes[1] = x.Axes[1]
			}
			for d, size := range shape {
				if v.Axes[d].size() != size {
					v.Axes[d] = axisOf(Position, size)
				}
			}
		}
		out[i] = v
	}
	return out
}

// cumulative adds up along an axis: of a mask or of tokens that makes positions,
// of which no more is known.
func cumulative(c *call) []*Value {
	v := c.of(0)
	axis, ok := c.known(1).Scalar()
	if d := dimension(int64(axis), len(v.Axes)); !ok || d < 0 || v.Axes[d].has(Position) {
		if v.Depends == Mask || c.known(0).Type.IsInteger() {
			c.doubt("it counts tokens")
		} else {
			c.order("adds up along positions")
		}
	}
	return []*Value{v}
}

// triangle masks what lies on one side of the diagonal.
func triangle(c *call) []*Value {
	c.l.Masked = true
	return []*Value{c.of(0)}
}

// rotates turns its input by positions.
func rotates(c *call) []*Value {
	c.meeting(1)
	return []*Value{c.of(0)}
}

// attention is a fused attention whose bias is the given input (−1: it has none).
func attention(bias int) rule {
	return func(c *call) []*Value {
		q, shape := c.of(0), c.shape(0)
		if c.n.Int("do_rotary", 0) == 1 {
			c.meeting(0)
		}
		if c.n.Int("is_causal", 0) == 1 || c.n.Int("unidirectional", 0) == 1 || c.n.Int("local_window_size", -1) > 0 || c.n.Op == "GroupQueryAttention" {
			c.l.Masked = true
		}
		if bias >= 0 && c.n.Input(bias) != "" {
			positions := axisOf(Position, 2)
			if c.of(bias).Depends == Constant {
				c.meet(bias, []Axis{nil, nil, positions, positions}, 3)
			}
		}
		if c.n.Op == "Attention" && c.n.Domain != "" && len(q.Axes) == 3 && q.Axes[2].has(Position) {
			c.order("sums over positions with weights of their own")
		}
		if len(shape) != len(q.Axes) || len(shape) < 3 {
			c.doubt("its axes could not be followed")
			return c.opaque()
		}
		out := &Value{Depends: Content, Axes: slices.Clone(q.Axes)}
		out.Axes[len(shape)-1] = axisOf(Feature, shape[len(shape)-1])
		return []*Value{out} // further outputs are caches, which nothing in the graph reads
	}
}
