package eval

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Group is a set of operators that whoever walks a graph goes through, or stops at,
// alike: those of some rules for axes, so that an operator that comes into the table is
// in its groups at once. Groups are put together with |.
type Group uint64

// Operators that move elements.
const (
	// Elements leaves them as they are, perhaps of another type: Cast, QuantizeLinear.
	Elements Group = 1 << AxesSame
	// Layout is Elements, or gives them another order or shape: Transpose, Reshape, ReorderInput.
	Layout = Elements | 1<<AxesReshape | 1<<AxesTranspose | 1<<AxesReorder
	// Repetition has them several times: Expand, Tile.
	Repetition Group = 1 << AxesExpand
	// Lookups takes some of them by an index: Gather.
	Lookups Group = 1<<AxesGather | 1<<AxesGatherND | 1<<AxesPick | 1<<AxesGatherBlocks
	// LookupsInBlocks takes some of quantised ones: GatherBlockQuantized.
	LookupsInBlocks Group = 1 << AxesGatherBlocks
	// Runs takes a run of them: Slice.
	Runs Group = 1 << AxesSlice
	// Selection is Lookups, or takes a run of them: Slice, Split.
	Selection = Lookups | Parts
	// Parts takes runs of an axis.
	Parts Group = 1<<AxesSlice | 1<<AxesSplit
	// Ranking finds the places of the best: TopK, ArgMax.
	Ranking Group = 1<<AxesTopK | 1<<AxesRank
	// Scattering writes them into others: ScatterND.
	Scattering Group = 1 << AxesScatter
	// Joining is Scattering, or puts them behind one another: Concat.
	Joining = Scattering | 1<<AxesConcat
	// Padding puts constants around them.
	Padding Group = 1 << AxesPad
	// Triangle keeps those on one side of a diagonal.
	Triangle Group = 1 << AxesTriangle
	// Resampling moves them, or makes others of neighbours: Resize.
	Resampling Group = 1<<AxesMove | 1<<AxesSample
)

// Operators that compute element by element.
const (
	// Addition adds inputs, perhaps with a normalisation behind: Add, SkipLayerNormalization.
	Addition Group = 1<<AxesAdd | 1<<AxesSkipNormalize | 1<<AxesQuantizedAdd
	// Scaling multiplies inputs, or the like: Mul, Div, Pow.
	Scaling Group = 1 << AxesMultiply
	// Largest keeps the larger or smaller of inputs.
	Largest Group = 1 << AxesLargest
	// ByElement is a function of each element, or of one of each input.
	ByElement Group = 1<<AxesAlike | 1<<AxesAdd | 1<<AxesLargest | 1<<AxesMultiply
	// Quantized adds or multiplies inputs that have a scale and a zero point each: QLinearAdd, QLinearMul.
	Quantized Group = 1<<AxesQuantizedAdd | 1<<AxesQuantizedMultiply
	// Choice takes an element of one input or of another: Where.
	Choice Group = 1 << AxesChoose
	// Comparison is true or false of two inputs: Less, Equal.
	Comparison Group = 1 << AxesCompare
)

// Operators that compute along axes.
const (
	// Product sums products with another input: MatMul, Gemm, Einsum.
	Product Group = 1<<AxesProduct | 1<<AxesQuantizedProduct | 1<<AxesGemm | 1<<AxesLinear | 1<<AxesEinsum
	// Convolution sums neighbours with weights.
	Convolution Group = 1 << AxesConvolve
	// ByChannel scales each element of the second axis: InstanceNormalization.
	ByChannel Group = 1 << AxesByChannel
	// Pooling sums or compares neighbours.
	Pooling Group = 1 << AxesPool
	// Normalization scales by the statistics of the last axes.
	Normalization Group = 1<<AxesNormalize | 1<<AxesSkipNormalize
	// Average sums, or compares, along whole axes: ReduceMean, ReduceMax.
	Average Group = 1 << AxesReduce
	// Accumulation sums up along an axis: CumSum.
	Accumulation Group = 1 << AxesAccumulate
	// Recurrence goes through places one after the other: LSTM.
	Recurrence Group = 1 << AxesRecur
	// Softmax makes weights of scores: Softmax, BiasSoftmax.
	Softmax Group = 1<<AxesSoftmax | 1<<AxesBias
	// Attention takes queries, keys and values: the fused operators.
	Attention Group = 1<<AxesAttend | 1<<AxesAttendBlocks
	// Embedding adds rows by token and by position: EmbedLayerNormalization.
	Embedding Group = 1 << AxesEmbed
	// Sizes makes numbers of sizes, and of no content: Shape, Range, Constant.
	Sizes Group = 1 << AxesNew
)

// Is reports whether a node's operator belongs to a group.
func Is(n *onnx.Node, g Group) bool {
	row := Lookup(n.Domain, n.Op)
	return row != nil && row.In(g)
}

// Weighs reports whether a node makes weights of scores: a Softmax, or an Exp whose sum it is divided by, as one is written out.
func Weighs(n *onnx.Node) bool {
	if Is(n, Softmax) {
		return true
	}
	if n.Op != "Exp" || n.Graph == nil {
		return false
	}
	w := n.Graph.Wiring()
	few := func(value int) []*onnx.Node { r := w.Readers(value); return r[:min(len(r), maxWeighed)] }
	out, ok := w.Output(n, 0)
	return ok && slices.ContainsFunc(few(out), func(sum *onnx.Node) bool {
		total, ok := w.Output(sum, 0)
		return ok && sum.Op == "ReduceSum" && slices.ContainsFunc(few(total), func(d *onnx.Node) bool {
			of, ok := w.Input(d, 0)
			return d.Op == "Reciprocal" || d.Op == "Div" && ok && of == out
		})
	})
}

// maxWeighed bounds the readers of an Exp, and of a sum of it, that are looked at.
const maxWeighed = 16

// Operands are the names of the two values that a node computes with: those of quantised ones have their scales and zero points behind them.
func Operands(n *onnx.Node) [2]string {
	if Is(n, Quantized|1<<AxesQuantizedProduct) {
		return [2]string{n.Input(0), n.Input(3)}
	}
	return [2]string{n.Input(0), n.Input(1)}
}

// In reports whether the operator belongs to a group.
func (o *Operator) In(g Group) bool { return g&(1<<o.Axes) != 0 }
