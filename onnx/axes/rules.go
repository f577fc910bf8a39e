package axes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// rule labels the outputs of a node. It lays axes over each other, and notes
// meetings, what tells positions apart, and what it does not understand.
type rule func(*call) []*Value

// ruleOf returns the rule of a node's operator and its row in the table, nil for one
// that has none.
func ruleOf(n *onnx.Node) (rule, *eval.Operator) {
	row := eval.Lookup(n.Domain, n.Op)
	if row == nil {
		return nil, nil
	}
	return rules[row.Axes], row
}

// rules has the code of each of the table's rules.
var rules = [eval.AxisRules]rule{
	eval.AxesAlike: first, eval.AxesSame: first, eval.AxesRandom: random, eval.AxesSoftmax: first, eval.AxesAdd: elementwise(Added), eval.AxesLargest: elementwise(Added), eval.AxesMultiply: elementwise(Multiplied), eval.AxesBias: elementwise(Biased),
	eval.AxesQuantizedAdd: quantizedPair(Added), eval.AxesQuantizedMultiply: quantizedPair(Multiplied), eval.AxesChoose: where, eval.AxesCompare: compare,
	eval.AxesNew: sizes, eval.AxesOfKnown: onlyKnown, eval.AxesScatter: scatter,
	eval.AxesReshape: reshape, eval.AxesTranspose: transpose, eval.AxesExpand: expand, eval.AxesSlice: slice, eval.AxesSplit: split, eval.AxesSequence: sequence, eval.AxesElement: element, eval.AxesConcat: concat,
	eval.AxesGather: gather, eval.AxesGatherND: gatherND, eval.AxesGatherBlocks: gatherBlocks, eval.AxesPick: pickElements, eval.AxesOneHot: oneHot, eval.AxesTopK: topK,
	eval.AxesReduce: reduce, eval.AxesRank: rank,
	eval.AxesProduct: product, eval.AxesQuantizedProduct: quantizedProduct, eval.AxesGemm: gemm, eval.AxesLinear: linear, eval.AxesEinsum: einsum,
	eval.AxesNormalize: scaled, eval.AxesSkipNormalize: skipNormalization, eval.AxesByChannel: byChannel,
	eval.AxesConvolve: summed(channelsLast(convolution)), eval.AxesPool: channelsLast(pooling), eval.AxesGlobalPool: channelsLast(globalPool), eval.AxesPad: padding, eval.AxesMove: moved, eval.AxesSample: sampled, eval.AxesFourier: fourier,
	eval.AxesRecur: recurrent, eval.AxesState: stateful, eval.AxesAccumulate: cumulative, eval.AxesTriangle: triangle, eval.AxesRotate: rotates,
	eval.AxesReorder: reorder, eval.AxesQuantizedConcat: quantizedConcat, eval.AxesByToken: byToken, eval.AxesBySample: bySample, eval.AxesFrames: frames,
	eval.AxesAttend: attention, eval.AxesAttendBlocks: notFollowed, eval.AxesEmbed: embedding, eval.AxesDecode: decode,
}

// keepsWhole are the rules that leave axes as they are, or sum over all of one, whatever its size, and make nothing of the size.
var keepsWhole = [eval.AxisRules]bool{
	eval.AxesAlike: true, eval.AxesSame: true, eval.AxesSoftmax: true, eval.AxesAdd: true, eval.AxesLargest: true, eval.AxesMultiply: true, eval.AxesChoose: true, eval.AxesCompare: true,
	eval.AxesTranspose: true, eval.AxesReduce: true, eval.AxesProduct: true, eval.AxesGemm: true, eval.AxesLinear: true, eval.AxesNormalize: true, eval.AxesSkipNormalize: true,
	eval.AxesByChannel: true, eval.AxesGlobalPool: true, eval.AxesQuantizedAdd: true, eval.AxesQuantizedMultiply: true, eval.AxesQuantizedProduct: true,
}

func init() { rules[eval.AxesBranch] = (*call).branches } // which follows graphs, and so looks rules up

// operands is how many inputs of a node bring numbers; those behind them say which
// or how many, and are evaluated.
func operands(n *onnx.Node) int {
	if n.Domain != "" {
		return len(n.Inputs)
	}
	switch n.Op {
	case "Shape", "Size", "ConstantOfShape", "Range":
		return 0
	case "Reshape", "Squeeze", "Unsqueeze", "Expand", "Tile", "Slice", "Split", "Pad", "Resize", "CumSum", "TopK", "OneHot", "Trilu", "Clip",
		"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare":
		return 1
	}
	return len(n.Inputs)
}

// random is content of its own: what it is added to has no rows by place.
func random(c *call) []*Value {
	if len(c.n.Inputs) == 0 {
		return []*Value{c.l.constant(c.s.Output(c.n, 0), Content)}
	}
	return []*Value{{Axes: c.of(0).Axes, Depends: Content}}
}

// first gives back the axes of the first input: each element for itself, or along
// an axis without regard to order.
func first(c *call) []*Value {
	v := c.of(0)
	out := c.l.room.outputs.Many(len(c.n.Outputs))
	out[0] = v
	for i := 1; i < len(out); i++ { // scales and zero points, masks of Dropout
		if c.n.Output(i) == "" {
			continue
		}
		if len(c.shape(i)) == len(v.Axes) {
			out[i] = v
		} else {
			out[i] = c.l.constant(c.s.Value(c.n.Output(i)), v.Depends)
		}
	}
	return out
}

// sizes is a value that is made of sizes, whatever data have them.
func sizes(c *call) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	for i, name := range c.n.Outputs {
		if name != "" {
			out[i] = c.l.constant(c.s.Value(name), Constant)
		}
	}
	return out
}

// onlyKnown is an operator that is followed where what goes in is evaluated, and not
// where it is content.
func onlyKnown(c *call) []*Value {
	c.doubt("what it does with data is not followed")
	return c.unfollowed(Content)
}

// notFollowed is an operator whose axes nothing is known of.
func notFollowed(c *call) []*Value {
	c.doubt(fmt.Sprintf("operator %s is not followed", operatorName(c.n)))
	return c.opaque()
}

func elementwise(kind Kind) rule {
	return func(c *call) []*Value {
		for i := range c.in {
			c.all = append(c.all, i)
		}
		return c.combine(kind, c.all...)
	}
}

// quantizedPair is an element-wise operator on two quantised inputs, each with its
// scale and zero point.
func quantizedPair(kind Kind) rule {
	return func(c *call) []*Value {
		inner := *c
		inner.chose = []int{0, 3}
		return inner.combine(kind, 0, 1)
	}
}

func quantizedProduct(c *call) []*Value {
	inner := *c
	inner.chose = []int{0, 3}
	return product(&inner)
}

// where chooses: between data and a number, which is a mask, or between data and
// data.
func where(c *call) []*Value {
	if strings.HasPrefix(c.n.Op, "QLinear") && c.chose == nil { // each with a scale and a zero point
		inner := *c
		inner.chose = []int{0, 1, 4}
		return where(&inner)
	}
	out := c.combine(Multiplied, 0, 1, 2)
	if c.isData(1) && c.isData(2) && !c.isData(0) {
		for d, a := range out[0].Axes {
			if at := len(c.known(0).Shape) - len(out[0].Axes) + d; at >= 0 && c.known(0).Shape[at] > 1 && (!c.known(0).Known() || c.l.varies(c.known(0), at)) {
				c.orders(a, "chooses by position")
			}
		}
	}
	return out
}

// compare tells how many places there are by lengths; what it says of content run tells (tellsPadding).
func compare(c *call) []*Value {
	if c.limits(0, 1) || c.limits(1, 0) {
		out := c.lay([]int{0, 1})
		out.Depends = Mask
		return c.l.one(out)
	}
	return c.combine(Multiplied, 0, 1)
}

// limits reports whether places that are counted are held against numbers of the data that are the same for all of them: lengths of sequences,
// which say how many places there are.
func (c *call) limits(counted, data int) bool {
	places, limit := c.known(counted), c.known(data)
	if c.isData(counted) || !c.isData(data) || !places.Known() || places.Ints == nil || !limit.Type.IsInteger() || !limit.Ranked {
		return false
	}
	for d, size := range places.Shape {
		at := d - len(places.Shape) + len(limit.Shape)
		if size > 1 && at >= 0 && limit.Shape[at] > 1 {
			return false
		}
	}
	return places.Len() > 1
}

// scaled normalises the last axes and multiplies by weights along them.
func scaled(c *call) []*Value {
	v := c.of(0)
	from := c.n.Axis(-1, len(v.Axes))
	for d := max(from, 0); d < len(v.Axes); d++ {
		c.features(v.Axes[d])
	}
	for i := 1; i < len(c.in); i++ {
		c.meet(Multiplied, i, v.Axes, len(v.Axes)-1, false)
	}
	return normalised(c, v)
}

// features notes that an axis is normalised or scaled, as only features are.
func (c *call) features(a Axis) {
	if c.quiet {
		return
	}
	data := leaves(a)
	for _, f := range data {
		f.weighed = true
	}
	ofPatches(data)
}

// normalised has the statistics of a normalisation behind its result.
func normalised(c *call, v *Value) []*Value {
	out := make([]*Value, len(c.n.Outputs))
	for i := range out {
		switch {
		case c.n.Output(i) == "":
			continue
		case len(c.shape(i)) != len(v.Axes):
			out[i] = c.l.constant(c.s.Value(c.n.Output(i)), v.Depends)
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

// byChannel multiplies by weights along the second axis, or by what the data themselves give for each of its places: a LayerNormalization of
// rows that stand in for channels (Keras 2).
func byChannel(c *call) []*Value {
	v := c.of(0)
	ofData := false
	for i := 1; i < len(c.in) && len(v.Axes) > 1; i++ {
		switch {
		case len(c.known(i).Shape) != 1:
		case !c.isData(i):
			c.meeting(Multiplied, i, []dim{{data: v.Axes[1]}}, v.Axes, false)
		case len(c.of(i).Axes) != 1, !c.l.unite(c, v.Axes[1], c.of(i).Axes[0]):
			c.doubt("axes of different origin are laid over each other")
		default:
			ofData = true
		}
	}
	if len(v.Axes) > 1 && !c.quiet && !ofData {
		for _, f := range leaves(v.Axes[1]) {
			f.channel = true
		}
	}
	return normalised(c, v)
}

// skipNormalization adds the first two inputs and normalises the sum.
func skipNormalization(c *call) []*Value {
	skip := cmp.Or(c.row.Bias, 1)
	out := c.combine(Added, 0, skip)
	axes := out[0].Axes
	if len(axes) > 0 {
		c.features(axes[len(axes)-1])
	}
	for i := 1; i < len(c.in); i++ {
		if i != skip {
			c.meet(Multiplied, i, axes, len(axes)-1, false)
		}
	}
	return normalised(c, out[0])
}

// embedding adds a row of its table of positions to each token's.
func embedding(c *call) []*Value {
	ids, shape := c.of(0), c.shape(0)
	out := make([]*Value, len(c.n.Outputs))
	for i, name := range c.n.Outputs {
		if name != "" {
			out[i] = c.l.constant(c.s.Value(name), Content)
		}
	}
	if len(shape) == 3 && len(ids.Axes) == 2 {
		out[0].Axes = []Axis{ids.Axes[0], ids.Axes[1], c.l.fresh(shape[2])}
		if len(out) > 2 && out[2] != nil { // the sum ahead of the normalisation
			out[2].Axes = out[0].Axes
		}
		if !c.known(8).Uniform() { // position_ids: one row for all tells none apart
			c.meeting(Fused, 3, []dim{{data: ids.Axes[1]}}, out[0].Axes, false)
		}
		if _, _, counts := c.known(1).Counts(); counts && !c.isData(1) { // segment_ids
			c.meeting(Fused, 4, []dim{{data: ids.Axes[1]}}, out[0].Axes, false)
		}
	}
	return out
}

// gatherND picks by several indices at once.
func gatherND(c *call) []*Value {
	index, shape := c.of(1), c.shape(0)
	data, batch := c.of(0), int(c.n.Int("batch_dims", 0))
	c.picksByPlace(0, 1)
	out := c.l.constant(c.s.Value(c.n.Output(0)), max(data.Depends, index.Depends))
	n, picked := len(index.Axes)-1, 0
	if n < 0 || n > len(shape) || batch < 0 || batch > n {
		return c.opaque()
	}
	picked = batch + c.known(1).Shape[n]
	copy(out.Axes[batch:], index.Axes[batch:n])
	if !c.isData(0) || picked > len(data.Axes) || len(shape)-n != len(data.Axes)-picked {
		return []*Value{out}
	}
	var from Axis
	for _, a := range data.Axes[batch:picked] {
		from = append(from, leaves(a)...)
		c.orders(a, "picks some of the positions")
	}
	for d := range batch {
		if len(data.Axes[d]) > 0 && data.Axes[d].size() == index.Axes[d].size() {
			c.l.unite(c, data.Axes[d], index.Axes[d])
		}
	}
	if batch > 0 && !c.isData(1) { // as pickElements
		c.doubt("what it picks for each place is not followed")
	}
	copy(out.Axes[:batch], data.Axes[:batch])
	copy(out.Axes[n:], data.Axes[picked:])
	for d := batch; d < n; d++ { // what is picked of positions are positions
		if !c.isData(1) {
			out.Axes[d] = c.l.derive(shuffled, from[:min(len(from), maxFactors)], d, shape[d], 0)
		}
	}
	return []*Value{out}
}

// scatter writes into places of its first input: what is written lies there, and places
// are told apart.
func scatter(c *call) []*Value {
	v, updates := c.of(0), c.of(2)
	shape := c.shape(0)
	if len(shape) != len(v.Axes) {
		return onlyKnown(c)
	}
	out := &Value{Depends: max(v.Depends, updates.Depends, c.of(1).Depends), Axes: slices.Clone(v.Axes)}
	if index := c.of(1).Axes; c.n.Op == "ScatterElements" && c.isData(1) && !c.isData(0) && !c.isData(2) && len(index) == len(out.Axes) {
		for d := range out.Axes { // ones where tokens say, each for itself
			if d != onnx.Dimension(c.n.Int("axis", 0), len(shape)) && index[d].size() == shape[d] {
				out.Axes[d] = index[d]
			}
		}
		return []*Value{out}
	}
	for d := range out.Axes {
		at := d - len(out.Axes) + len(updates.Axes)
		switch {
		case at < 0 || !c.isData(2):
		case updates.Axes[at].size() != shape[d]:
			if !c.isData(0) { // some of the places are those of what is written: tokens behind one that begins a text
				out.Axes[d] = c.l.derive(shuffled, updates.Axes[at], d, shape[d], 0)
			}
		case c.isData(0):
			c.l.unite(c, out.Axes[d], updates.Axes[at])
		default:
			out.Axes[d] = updates.Axes[at]
		}
	}
	for _, a := range out.Axes {
		c.orders(a, "writes to places of its own")
	}
	if how := c.n.Attribute("reduction"); how != nil && string(how.S) != "none" && c.isData(0) && !c.isData(2) && c.given(2) && c.known(2).Len() > 1 {
		kind := Multiplied
		if string(how.S) == "add" {
			kind = Added
		}
		if c.ontoEach() {
			c.meet(kind, 2, out.Axes, len(out.Axes)-1, false)
		} else {
			c.doubt("puts numbers of its own to places of the data")
		}
	}
	return []*Value{out}
}

// ontoEach reports whether a Scatter takes the places of its first input one after another, each once.
func (c *call) ontoEach() bool {
	axis, first, counts := c.known(1).Counts()
	shape, updates := c.shape(0), c.known(2).Shape
	if c.n.Op == "ScatterND" {
		last := len(c.known(1).Shape) - 1
		return counts && axis == 0 && first == 0 && last == 1 && c.known(1).Shape[last] == 1 && slices.Equal(shape, updates)
	}
	return counts && first == 0 && axis == onnx.Dimension(c.n.Int("axis", 0), len(shape)) && slices.Equal(shape, updates)
}

// reorder brings channels from the second axis to the end, or from there.
func reorder(c *call) []*Value {
	v, last := c.of(0), c.n.Int("channels_last", 0) == 1
	if len(v.Axes) != 4 {
		return c.opaque()
	}
	out := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
	switch {
	case last && c.n.Op == "ReorderInput":
		out.Axes = []Axis{v.Axes[0], v.Axes[3], v.Axes[1], v.Axes[2]}
	case last:
		out.Axes = []Axis{v.Axes[0], v.Axes[2], v.Axes[3], v.Axes[1]}
	}
	for d, size := range c.shape(0) {
		if out.Axes[d].size() != size { // channels that fill the last block
			out.Axes[d] = c.weights(c.l.fresh(size))
		}
	}
	return []*Value{out}
}

// quantizedConcat is a Concat whose inputs have a scale and a zero point each.
func quantizedConcat(c *call) []*Value {
	inner := *c
	for i := 2; i < len(c.in); i += 3 {
		inner.chose = append(inner.chose, i)
	}
	return concat(&inner)
}

// byToken weighs the features of each place for itself: a mixture of experts.
func byToken(c *call) []*Value {
	v := c.of(0)
	if n := len(v.Axes); n > 0 {
		c.features(v.Axes[n-1])
	}
	return first(c)
}

// bySample is byToken with outputs of a width of their own.
func bySample(c *call) []*Value {
	v := c.of(0)
	byToken(c)
	out := make([]*Value, len(c.n.Outputs))
	for i := range out {
		axes := make([]Axis, len(c.shape(i)))
		for d, size := range c.shape(i) {
			if axes[d] = c.l.fresh(size); d < len(v.Axes)-1 {
				axes[d] = v.Axes[d]
			}
		}
		out[i] = &Value{Depends: v.Depends, Axes: axes}
	}
	return out
}

// frames cuts a signal into overlapping runs and makes features of each.
func frames(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(shape) != 4 || len(x.Axes) < 2 {
		return c.opaque()
	}
	c.orders(x.Axes[1], "looks at neighbours")
	c.sees(x.Axes[1])
	out := &Value{Depends: x.Depends, Axes: []Axis{x.Axes[0], c.l.derive(windowed, x.Axes[1], 0, shape[1], 0), c.weights(c.l.fresh(shape[2])), c.l.fresh(2)}}
	return []*Value{out}
}

// decode makes rows and columns of places of the bytes that go in.
func decode(c *call) []*Value {
	from, shape := c.of(0), c.shape(0)
	if len(shape) != 3 || len(from.Axes) != 1 {
		return c.opaque()
	}
	out := c.l.constant(c.s.Value(c.n.Output(0)), Content)
	for d := range 2 {
		out.Axes[d] = c.l.derive(shuffled, from.Axes[0], d, shape[d], 0)
	}
	return []*Value{out}
}

// gatherBlocks picks rows of a table that is stored in quantised blocks.
func gatherBlocks(c *call) []*Value {
	out := c.l.constant(c.s.Value(c.n.Output(0)), c.of(1).Depends)
	if index := c.of(1); c.n.Int("gather_axis", 0) == 0 && len(index.Axes) <= len(out.Axes) {
		copy(out.Axes, index.Axes)
	}
	return []*Value{out}
}

// pickElements is GatherElements: what is picked along positions, or by an index
// that differs from position to position, is not followed.
func pickElements(c *call) []*Value {
	data, index := c.of(0), c.of(1)
	axis := c.n.Axis(0, len(c.known(0).Shape))
	if axis < 0 || len(data.Axes) != len(index.Axes) {
		return c.opaque()
	}
	c.picksByPlace(0, 1)
	for d := range data.Axes {
		if d != axis && len(data.Axes[d]) > 0 && data.Axes[d].size() == index.Axes[d].size() {
			c.l.unite(c, data.Axes[d], index.Axes[d])
		}
	}
	if c.isData(0) {
		c.orders(data.Axes[axis], "picks some of the positions")
		if at := c.known(1); !c.isData(1) && !(at.Known() && at.Uniform()) { // one place, for all elements
			c.doubt("what it picks from positions is not followed")
		}
	}
	return []*Value{{Depends: max(data.Depends, index.Depends), Axes: slices.Clone(index.Axes)}}
}

func oneHot(c *call) []*Value {
	shape := c.shape(0)
	axis := c.n.Axis(-1, len(shape))
	v := c.of(0)
	if axis < 0 || len(shape) != len(v.Axes)+1 {
		return c.opaque()
	}
	return []*Value{{Depends: v.Depends, Axes: slices.Insert(slices.Clone(v.Axes), axis, c.l.fresh(shape[axis]))}}
}

// topK orders by content: numbers that meet the data by rank encode no positions. What it says of places among
// positions tells them apart.
func topK(c *call) []*Value {
	v := c.of(0)
	axis := c.n.Axis(-1, len(v.Axes))
	if axis < 0 {
		return c.opaque()
	}
	c.orders(v.Axes[axis], "ranks positions")
	out := &Value{Depends: v.Depends, Axes: slices.Clone(v.Axes)}
	out.Axes[axis] = c.l.derive(ranked, v.Axes[axis], 0, c.shape(0)[axis], 0)
	places := *out
	places.places = v.Axes[axis]
	return []*Value{out, &places}
}

// channelsLast follows an operator that takes channels ahead of rows and columns, or behind them where the node says so.
func channelsLast(plain rule) rule {
	return func(c *call) []*Value {
		x := c.of(0)
		rank := len(x.Axes)
		if !c.n.ChannelsLast() || rank < 3 || len(c.shape(0)) != rank {
			return plain(c)
		}
		inner := *c
		inner.last = true
		turned := *x
		turned.Axes = slices.Concat(x.Axes[:1], x.Axes[rank-1:], x.Axes[1:rank-1])
		inner.in = slices.Concat([]*Value{&turned}, c.in[1:])
		out := plain(&inner)
		for _, v := range out {
			v.Axes = slices.Concat(v.Axes[:1], v.Axes[2:], v.Axes[1:2])
		}
		return out[:min(len(out), 1)]
	}
}

// summed lays the input that a convolution adds over what it gives.
func summed(plain rule) rule {
	return func(c *call) []*Value {
		out := plain(c)
		if c.row.Bias == 0 || !c.given(c.row.Bias) {
			return out
		}
		inner := *c
		inner.in = slices.Concat(out[:1], c.in[1:])
		return inner.combine(Added, 0, c.row.Bias)
	}
}

// convolution mixes neighbours along its spatial axes, but for patches that do
// not overlap: each of them becomes one position.
func convolution(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(x.Axes) < 3 || len(shape) != len(x.Axes) {
		return c.opaque()
	}
	if !c.quiet {
		data := leaves(x.Axes[1])
		for _, f := range data {
			f.channel = true
		}
		ofPatches(data)
		c.orders(x.Axes[1], "sums over positions with weights of their own")
	}
	return []*Value{c.windows(x, shape, c.n.Op != "ConvTranspose" && c.tiles(), c.weights(c.l.fresh(shape[1])))}
}

func pooling(c *call) []*Value {
	x, shape := c.of(0), c.shape(0)
	if len(x.Axes) < 3 || len(shape) != len(x.Axes) {
		return c.opaque()
	}
	out := c.windows(x, shape, false, x.Axes[1])
	return []*Value{out, out}[:min(len(c.n.Outputs), 2)]
}

// windows is what a convolution or pooling leaves.
func (c *call) windows(x *Value, shape []int, tiles bool, channels Axis) *Value {
	kernel := c.kernel()
	out := &Value{Depends: x.Depends, Axes: []Axis{x.Axes[0], channels}}
	for d := 2; d < len(shape); d++ {
		wide := d-2 >= len(kernel) || kernel[d-2] != 1
		switch {
		case !wide && shape[d] == x.Axes[d].size():
			out.Axes = append(out.Axes, x.Axes[d])
		case tiles:
			if slices.ContainsFunc(leaves(x.Axes[d]), func(f Factor) bool { return c.l.isOfTokens(f.Atom) }) {
				c.orders(x.Axes[d], whyMerged)
			}
			out.Axes = append(out.Axes, c.l.derive(tiled, x.Axes[d], 0, shape[d], 0))
		default:
			c.orders(x.Axes[d], "looks at neighbours")
			c.sees(x.Axes[d])
			more := 0
			if d-2 < len(kernel) {
				more = int(kernel[d-2])
			}
			out.Axes = append(out.Axes, c.l.derive(windowed, x.Axes[d], 0, shape[d], more))
		}
	}
	return out
}

// kernel is the size of the window: an attribute, or that of the weights.
func (c *call) kernel() []int64 {
	if k := c.n.Ints("kernel_shape"); k != nil {
		return k
	}
	var out []int64
	if w := c.n.FilterShape(c.known(c.n.Filter()).Shape); len(w) > 2 {
		for _, size := range w[2:] {
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
			out.Axes[d] = c.l.derive(shuffled, x.Axes[d], 0, shape[d], 0)
			if why != "" {
				c.orders(x.Axes[d], why)
			}
		}
	}
	return []*Value{out}
}

func moved(c *call) []*Value {
	x := c.of(0)
	for _, a := range x.Axes {
		c.orders(a, "moves positions")
	}
	shape := c.shape(0)
	if len(x.Axes) == 0 || len(shape) <= len(x.Axes) {
		return c.resized("moves positions")
	}
	out := &Value{Depends: x.Depends}
	for d, size := range shape { // Col2Im: (batch, channels · pixels of a block, blocks) become (batch, channels, rows, columns)
		from := x.Axes[min(d, len(x.Axes)-1)]
		if from.size() != size {
			from = c.l.derive(shuffled, from, d, size, 0)
		}
		out.Axes = append(out.Axes, from)
	}
	return []*Value{out}
}

// fourier puts waves along an axis in the place of its numbers.
func fourier(c *call) []*Value {
	const why = "sums over positions with weights of their own"
	x := c.of(0)
	if d := eval.FourierAxis(c.n, c.l.e.File.Opsets[""], c.known(2), len(x.Axes)); d >= 0 && d < len(x.Axes) {
		c.orders(x.Axes[d], why)
		c.sees(x.Axes[d])
	}
	return c.resized(why)
}

// sampled has a place for each that the second input names: those are its own where data name them, as deformable
// attention does, or else moved.
func sampled(c *call) []*Value {
	x, at := c.of(0), c.of(1)
	if len(x.Axes) < 3 || len(at.Axes) != len(x.Axes) || !c.isData(1) {
		return moved(c)
	}
	for _, a := range x.Axes[2:] {
		c.orders(a, "samples at places that data name")
	}
	return []*Value{{Depends: Content, Axes: slices.Concat(x.Axes[:2], at.Axes[1:len(at.Axes)-1])}}
}

// padding moves positions where it adds to them, or takes as much at the other end.
func padding(c *call) []*Value {
	pads, ok := c.ints("pads", 1)
	v := c.of(0)
	if !ok {
		return moved(c)
	}
	axes, given := c.ints("axes", 3)
	out := c.resized("moves positions")
	for i, p := range pads {
		d := i % max(len(pads)/2, 1)
		if given && d < len(axes) {
			d = onnx.Dimension(axes[d], len(v.Axes))
		}
		if p != 0 && d >= 0 && d < len(v.Axes) {
			c.orders(v.Axes[d], "moves positions")
			if len(v.Axes[d]) > 1 { // one that a Reshape merged: what is cut out of it again stands elsewhere
				c.l.event(c, event{kind: crossing, other: v.Axes[d], why: "it moves positions across axes"})
			}
			if d < len(out[0].Axes) && v.Axes[d].size() == out[0].Axes[d].size() {
				out[0].Axes[d] = c.l.derive(shuffled, v.Axes[d], 0, v.Axes[d].size(), 0)
			}
		}
	}
	return out
}

// recurrent goes through positions one after the other.
func recurrent(c *call) []*Value {
	x := c.of(0)
	sequence := 0
	if c.n.Int("layout", 0) == 1 {
		sequence = 1
	}
	if sequence < len(x.Axes) {
		c.orders(x.Axes[sequence], "goes through positions one after the other")
	}
	if len(x.Axes) == 3 {
		c.features(x.Axes[2])
	}
	out := make([]*Value, len(c.n.Outputs))
	for i, name := range c.n.Outputs {
		if name == "" {
			continue
		}
		out[i] = c.l.constant(c.s.Value(name), x.Depends)
		if i == 0 && len(out[0].Axes) == 4 && len(x.Axes) == 3 { // sequence, direction, batch, features
			batch := 2
			if sequence == 1 { // batch, sequence, direction, features
				batch = 0
			}
			out[0].Axes[sequence], out[0].Axes[batch] = x.Axes[sequence], x.Axes[1-sequence]
		}
	}
	return out
}

// stateful goes through the places of an axis of the first input one after the other, each of which it sees
// with what came before.
func stateful(c *call) []*Value {
	x := c.of(0)
	along := onnx.Dimension(int64(c.row.Along), len(x.Axes))
	if c.n.Int("channels_last", 0) == 1 {
		along = 1
	}
	if along < 0 || along >= len(x.Axes) || len(c.shape(0)) != len(x.Axes) {
		c.doubt("its axes could not be followed")
		return c.opaque()
	}
	c.orders(x.Axes[along], "goes through positions one after the other")
	c.sees(x.Axes[along])
	out := first(c)
	same := *x
	if c.shape(0)[len(x.Axes)-1] != x.Axes[len(x.Axes)-1].size() { // heads of other widths
		same.Axes = append(slices.Clone(x.Axes[:len(x.Axes)-1]), c.l.fresh(c.shape(0)[len(x.Axes)-1]))
	}
	out[0] = &same
	for i := 1; i < len(out); i++ {
		if name := c.n.Output(i); name != "" {
			out[i] = c.l.constant(c.s.Value(name), x.Depends)
		}
	}
	return out
}

// cumulative adds up along an axis.
func cumulative(c *call) []*Value {
	v := c.of(0)
	axis, ok := c.known(1).Scalar()
	d := onnx.Dimension(int64(axis), len(v.Axes))
	if !ok || d < 0 {
		c.doubt("the axis along which it adds up is not known")
		return c.opaque()
	}
	c.orders(v.Axes[d], "adds up along positions")
	if v.product {
		c.doubt("it counts positions by scores")
	} else if v.Depends == Content && !c.known(0).Known() && c.isOfTruths() {
		c.doubt("it counts positions by what the model is given, which is not known")
	}
	return first(c)
}

// isOfTruths reports whether the first input is whole numbers, or such as an operator just made of truths: what is counted.
func (c *call) isOfTruths() bool {
	if n, s := c.s.Find(c.n.Input(0)); n != nil && eval.Is(n, eval.Elements) && s.Input(n, 0).Type.IsInteger() {
		return true
	}
	return c.known(0).Type.IsInteger()
}

// triangle masks what lies on one side of the diagonal.
func triangle(c *call) []*Value {
	if !c.quiet {
		c.l.Masked = true
	}
	return first(c)
}

// rotates turns its input by positions.
func rotates(c *call) []*Value {
	for _, a := range c.of(0).Axes {
		c.meeting(Fused, 1, []dim{{known: -1, data: a}}, nil, false)
	}
	return first(c)
}

// unbiased notes a doubt where a fused attention without a place for a bias is given known
// matrices all the same.
func (c *call) unbiased() {
	for i := 3; i < len(c.in); i++ {
		v := c.known(i)
		if n := len(v.Shape); !c.isData(i) && n > 2 && v.Shape[n-1] > 1 && v.Shape[n-2] > 1 && !c.l.isMask(v) {
			c.doubt(fmt.Sprintf("what its input %d adds is not followed", i))
		}
	}
}

// attention is a fused attention.
func attention(c *call) []*Value {
	bias := c.row.Bias
	q, shape := c.of(0), c.shape(0)
	if len(shape) != len(q.Axes) || len(shape) < 3 {
		c.doubt("its axes could not be followed")
		return c.opaque()
	}
	if c.n.Int("do_rotary", 0) == 1 {
		for _, a := range q.Axes {
			c.meeting(Fused, 0, []dim{{known: -1, data: a}}, nil, false)
		}
	}
	if c.n.Int("is_causal", 0) == 1 || c.n.Int("unidirectional", 0) == 1 || c.n.Int("local_window_size", -1) > 0 || c.n.Op == "GroupQueryAttention" {
		c.l.Masked = true
	}
	c.demandHeads()
	sequence := 1
	if len(shape) == 4 {
		sequence = 2
	}
	keys := q.Axes[sequence]
	if k := c.of(1); len(k.Axes) == len(q.Axes) && !(c.n.Op == "Attention" && c.n.Domain != "") {
		keys = k.Axes[sequence]
	}
	c.compares(q.Axes[sequence], keys)
	if bias >= 0 && c.given(bias) && !c.isData(bias) {
		c.meet(Biased, bias, []Axis{nil, nil, q.Axes[sequence], keys}, 3, true)
	}
	if bias < 0 {
		c.unbiased()
	}
	last := len(shape) - 1
	if c.n.Op == "Attention" && c.n.Domain != "" { // weights are inside
		c.sums(q.Axes[last], 1, 0)
	}
	out := &Value{Depends: Content, Axes: slices.Clone(q.Axes)}
	out.Axes[last] = c.l.fresh(shape[last])
	results := []*Value{out}
	for i := 1; i < len(c.n.Outputs); i++ {
		var v *Value
		if c.n.Output(i) != "" {
			v = c.l.constant(c.s.Value(c.n.Output(i)), Content)
		}
		results = append(results, v)
	}
	return results
}
