package eval

import (
	"math"
	"regexp"
	"strings"
	"sync"
)

// Operator is a row of the table of operators: what this package computes of it, and
// by which rule axes go through it (package onnx/axes). What has no row, or no rule,
// is not understood, and told so.
type Operator struct {
	Name  string
	Since int // the first version of its operator set
	// Axes is the rule by which axes go through, 0 for none.
	Axes AxisRule
	// Bias is the input that is added to the result, where Axes says so.
	Bias int
	// Along is the axis of positions of the first input, where Axes is AxesState; −1: the last.
	Along int
	// Turns says where the cosines and sines of a rotary embedding go in, nil where none do.
	Turns *Turning
	// Tokens is the rank of the token ids that it makes of texts, and of what it says of each; 0: it makes none.
	Tokens int
	// Generates tells that graphs in its attributes are models, which it runs again and again.
	Generates bool
	// NotModelled is what is not known of it, "" where nothing is missing that
	// encodings need.
	NotModelled string

	value  operator                   // its outputs, from what is known of its inputs
	unary  func(float64) float64      // or: element by element
	binary func(a, b float64) float64 // or: of two elements
}

// Turning is where an operator takes cosines and sines, and the indices of their rows:
// noInput where it counts them itself.
type Turning struct {
	Cosines, Sines, Positions int
	Attribute                 string // which must be 1, "" where it always turns
}

// AxisRule is the way in which axes go through an operator.
type AxisRule uint8

// Axis rules.
const (
	AxesAlike             AxisRule = iota + 1 // the axes of the first input, each element for itself or along an axis without regard to order
	AxesSame                                  // AxesAlike, and each element as it is, perhaps of another type
	AxesSoftmax                               // AxesAlike, as weights along an axis
	AxesAdd                                   // inputs laid over each other and added
	AxesLargest                               // the larger or smaller of inputs laid over each other
	AxesMultiply                              // inputs laid over each other and multiplied, or the like
	AxesBias                                  // a bias laid over scores
	AxesQuantizedAdd                          // AxesAdd of inputs 0 and 3, each with its scale and zero point
	AxesQuantizedMultiply                     // AxesMultiply of inputs 0 and 3
	AxesChoose                                // inputs 1 and 2 laid over each other and chosen from by input 0
	AxesCompare                               // inputs compared
	AxesScatter                               // AxesOfKnown: elements written into others
	AxesNew                                   // axes of its own, from sizes
	AxesOfKnown                               // followed only where nothing that goes in is data
	AxesReshape                               // elements in their order, axes cut anew
	AxesTranspose                             // axes in another order
	AxesExpand                                // axes repeated
	AxesSlice                                 // a run of places
	AxesSplit                                 // runs of places, one an output
	AxesSequence                              // runs of places, one an element of a sequence
	AxesElement                               // an element of a sequence
	AxesConcat                                // places behind one another
	AxesGather                                // places by an index
	AxesGatherND                              // places by several indices at once
	AxesGatherBlocks                          // rows of a table in quantised blocks
	AxesPick                                  // an element for each element of an index
	AxesOneHot                                // an axis more, for classes
	AxesTopK                                  // places in the order of content
	AxesReduce                                // axes summed or averaged away
	AxesRank                                  // the place of the largest or smallest along an axis
	AxesProduct                               // a product of matrices
	AxesQuantizedProduct                      // AxesProduct of inputs 0 and 3
	AxesGemm                                  // a product of matrices and input Bias added
	AxesLinear                                // a product with weights in a form of their own
	AxesEinsum                                // a product by the letters of an equation
	AxesNormalize                             // the last axes normalised and scaled
	AxesSkipNormalize                         // two inputs added, then AxesNormalize
	AxesByChannel                             // the second axis scaled
	AxesConvolve                              // neighbours summed over with weights, and input Bias added
	AxesPool                                  // neighbours summed over or compared
	AxesGlobalPool                            // all places averaged
	AxesPad                                   // places added at the ends
	AxesMove                                  // places moved
	AxesFourier                               // waves along an axis in place of its numbers
	AxesSample                                // between places of the first input, at those that the second one names
	AxesRandom                                // the axes of the first input or of an attribute, with numbers that are drawn: they say nothing of places
	AxesRecur                                 // one place after the other
	AxesState                                 // one place after the other along an axis of the first input, which says what it is
	AxesAccumulate                            // sums of all places before
	AxesTriangle                              // one side of the diagonal
	AxesRotate                                // pairs of elements turned by their place
	AxesAttend                                // attention, with input Bias added to its scores (−1: none)
	AxesAttendBlocks                          // attention in a form of its own, which is not followed
	AxesEmbed                                 // rows by token, with those of a table of positions added
	AxesReorder                               // channels brought to the end, or from there
	AxesQuantizedConcat                       // AxesConcat of every third input from 2 on
	AxesByToken                               // each place for itself, its features weighed
	AxesBySample                              // AxesByToken, with outputs of a width of their own
	AxesFrames                                // frames cut out of a signal
	AxesBranch                                // those of the branch that is taken
	AxesTurns                                 // those of a body that runs again and again
	AxesDecode                                // a picture of rows, columns and colours, from bytes

	// AxisRules is how many rules there are, and one.
	AxisRules
)

// noInput is an input that no operator has.
const noInput = 1 << 10

// Lookup finds the row of an operator, nil where there is none. The domain
// "ai.onnx" is written "". Of a domain that is not known, operators that quantise by their
// names are followed as if they did not round: see Assumed.
func Lookup(domain, name string) *Operator {
	table := standardTable
	switch domain {
	case "":
	case "com.microsoft", "com.microsoft.nchwc":
		table = microsoftTable
	case "com.microsoft.extensions", "ai.onnx.contrib":
		table = extensionTable
	case "ai.onnx.ml":
		table = learningTable
	default:
		if Assumed(domain, name) {
			return &foreignQuantiser
		}
		return nil
	}
	return table()[name]
}

// Assumed reports whether an operator of a domain that is not known is taken for one that quantises, or takes that back, by its name alone
// (ExtendedQuantizeLinear, BFPQuantizeDequantize, FakeQuantize, Quant): its numbers are followed as if they were not rounded. Names that say more
// (QuantLinear, QuantizedAttention) are of operators that compute something else as well.
func Assumed(domain, name string) bool {
	switch domain {
	case "", "com.microsoft", "com.microsoft.nchwc", "com.microsoft.extensions", "ai.onnx.contrib", "ai.onnx.ml":
		return false
	}
	return quantisers().MatchString(strings.ToLower(name))
}

// quantisers are the names of operators that quantise and do nothing else.
var quantisers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(trt_)?(fake|extended|dynamic|static|bipolar|bfp|mx|qc|int|float|int4|int8|fp4|fp8)*(quant|quantize(dequantize|linear|op)?|dequantize(linear)?)$`)
})

var foreignQuantiser = Operator{Name: "Quantize", Since: 1, value: unrounded, Axes: AxesSame, NotModelled: "rounding"}

var (
	standardTable  = byName(standardOperators[:])
	microsoftTable = byName(microsoftOperators[:])
	extensionTable = byName(extensionOperators[:])
	learningTable  = byName(learningOperators[:])
)

// byName finds operators by name in a table that is made when it is first asked: what reads no graph does not wait for it.
func byName(operators []Operator) func() map[string]*Operator {
	return sync.OnceValue(func() map[string]*Operator {
		table := make(map[string]*Operator, len(operators))
		for i := range operators {
			table[operators[i].Name] = &operators[i]
		}
		return table
	})
}

// run computes the outputs of a call; nil where nothing is known of them.
func (o *Operator) run(c *call) ([]*Value, error) {
	switch {
	case o.value != nil:
		return o.value(c)
	case o.binary != nil:
		return binary(c, o.Name, o.binary)
	case o.unary != nil:
		return unary(c, o.unary)
	}
	return nil, nil
}

// computes reports whether anything is known of the outputs.
func (o *Operator) computes() bool { return o.value != nil || o.binary != nil || o.unary != nil }

// moves reports whether outputs are elements of inputs, in other places.
func (o *Operator) moves() bool { return o.In(Layout | Repetition | Selection | Joining) }

// ofSizes is what computer asks.
func (o *Operator) ofSizes() bool { return o.In(Sizes) }

// sums is what computer asks.
func (o *Operator) sums() bool { return o.In(Layout | Average) }

// standardOperators are those of ai.onnx up to operator set 28
// (onnx.ai/onnx/operators), by name.
var standardOperators = [...]Operator{
	{Name: "Abs", Since: 1, unary: math.Abs, Axes: AxesAlike},
	{Name: "Acos", Since: 7, unary: math.Acos, Axes: AxesAlike},
	{Name: "Acosh", Since: 9, unary: math.Acosh, Axes: AxesAlike},
	{Name: "Add", Since: 1, binary: func(a, b float64) float64 { return a + b }, Axes: AxesAdd},
	{Name: "AffineGrid", Since: 20, NotModelled: "anything"},
	{Name: "And", Since: 1, binary: func(a, b float64) float64 { return truth(a != 0 && b != 0) }, Axes: AxesMultiply},
	{Name: "ArgMax", Since: 1, value: argument, Axes: AxesRank},
	{Name: "ArgMin", Since: 1, value: argument, Axes: AxesRank},
	{Name: "Asin", Since: 7, unary: math.Asin, Axes: AxesAlike},
	{Name: "Asinh", Since: 9, unary: math.Asinh, Axes: AxesAlike},
	{Name: "Atan", Since: 7, unary: math.Atan, Axes: AxesAlike},
	{Name: "Atanh", Since: 9, unary: math.Atanh, Axes: AxesAlike},
	{Name: "Attention", Since: 23, value: attention, Axes: AxesAttend, Bias: 3},
	{Name: "AveragePool", Since: 1, value: convolution, Axes: AxesPool},
	{Name: "BatchNormalization", Since: 1, value: normalizeChannels, Axes: AxesByChannel},
	{Name: "Bernoulli", Since: 15, value: sameAsFirst, Axes: AxesAlike},
	{Name: "BitCast", Since: 26, NotModelled: "anything"},
	{Name: "BitShift", Since: 11, value: bitShift, Axes: AxesMultiply},
	{Name: "BitwiseAnd", Since: 18, binary: func(a, b float64) float64 { return float64(int64(a) & int64(b)) }, Axes: AxesMultiply},
	{Name: "BitwiseNot", Since: 18, value: bitwiseNot, Axes: AxesAlike},
	{Name: "BitwiseOr", Since: 18, binary: func(a, b float64) float64 { return float64(int64(a) | int64(b)) }, Axes: AxesMultiply},
	{Name: "BitwiseXor", Since: 18, binary: func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) }, Axes: AxesMultiply},
	{Name: "BlackmanWindow", Since: 17, Axes: AxesNew, NotModelled: "numbers and shape"},
	{Name: "Cast", Since: 1, value: cast, Axes: AxesSame},
	{Name: "CastLike", Since: 15, value: castLike, Axes: AxesSame},
	{Name: "CausalConvWithState", Since: 27, value: causalConvolution, Axes: AxesState, Along: -1},
	{Name: "Ceil", Since: 1, unary: math.Ceil, Axes: AxesAlike},
	{Name: "Celu", Since: 12, value: activated, Axes: AxesAlike},
	{Name: "CenterCropPad", Since: 18, Axes: AxesMove, NotModelled: "numbers and shape"},
	{Name: "Clip", Since: 1, value: clip, Axes: AxesAlike},
	{Name: "Col2Im", Since: 18, value: col2Im, Axes: AxesMove},
	{Name: "Compress", Since: 9, value: compress, NotModelled: "the axes of data"},
	{Name: "Concat", Since: 1, value: concat, Axes: AxesConcat},
	{Name: "ConcatFromSequence", Since: 11, value: concatFromSequence, NotModelled: "the axes of data"},
	{Name: "Constant", Since: 1, value: constant, Axes: AxesNew},
	{Name: "ConstantOfShape", Since: 9, value: constantOfShape, Axes: AxesNew},
	{Name: "Conv", Since: 1, value: convolution, Axes: AxesConvolve},
	{Name: "ConvInteger", Since: 10, value: convolution, Axes: AxesConvolve},
	{Name: "ConvTranspose", Since: 1, value: deconvolution, Axes: AxesConvolve},
	{Name: "Cos", Since: 7, unary: math.Cos, Axes: AxesAlike},
	{Name: "Cosh", Since: 9, unary: math.Cosh, Axes: AxesAlike},
	{Name: "CumProd", Since: 26, value: sameAsFirst, Axes: AxesAccumulate},
	{Name: "CumSum", Since: 11, value: cumSum, Axes: AxesAccumulate},
	{Name: "DFT", Since: 17, value: fourier, Axes: AxesFourier},
	{Name: "DeformConv", Since: 19, value: convolution, Axes: AxesConvolve},
	{Name: "DepthToSpace", Since: 1, value: depthToSpace, Axes: AxesMove},
	{Name: "DequantizeLinear", Since: 10, value: dequantize, Axes: AxesSame},
	{Name: "Det", Since: 11, NotModelled: "anything"},
	{Name: "Div", Since: 1, binary: func(a, b float64) float64 { return a / b }, Axes: AxesMultiply},
	{Name: "Dropout", Since: 1, value: identity, Axes: AxesSame},
	{Name: "DynamicQuantizeLinear", Since: 11, value: dynamicQuantize, Axes: AxesSame},
	{Name: "Einsum", Since: 12, value: einsum, Axes: AxesEinsum},
	{Name: "Elu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Equal", Since: 1, binary: func(a, b float64) float64 { return truth(a == b) }, Axes: AxesCompare},
	{Name: "Erf", Since: 9, unary: math.Erf, Axes: AxesAlike},
	{Name: "Exp", Since: 1, unary: math.Exp, Axes: AxesAlike},
	{Name: "Expand", Since: 8, value: expand, Axes: AxesExpand},
	{Name: "EyeLike", Since: 9, value: eyeLike, Axes: AxesNew},
	{Name: "Flatten", Since: 1, value: flatten, Axes: AxesReshape},
	{Name: "Floor", Since: 1, unary: math.Floor, Axes: AxesAlike},
	{Name: "GRU", Since: 1, value: recurrent, Axes: AxesRecur},
	{Name: "Gather", Since: 1, value: gather, Axes: AxesGather},
	{Name: "GatherElements", Since: 11, value: gatherElements, Axes: AxesPick},
	{Name: "GatherND", Since: 11, value: gatherND, Axes: AxesGatherND},
	{Name: "Gelu", Since: 20, value: activated, Axes: AxesAlike},
	{Name: "Gemm", Since: 1, value: scaledProduct, Axes: AxesGemm, Bias: 2},
	{Name: "GlobalAveragePool", Since: 1, value: globalPool, Axes: AxesGlobalPool},
	{Name: "GlobalLpPool", Since: 1, value: globalPool, Axes: AxesGlobalPool},
	{Name: "GlobalMaxPool", Since: 1, value: globalPool, Axes: AxesGlobalPool},
	{Name: "Greater", Since: 1, binary: func(a, b float64) float64 { return truth(a > b) }, Axes: AxesCompare},
	{Name: "GreaterOrEqual", Since: 12, binary: func(a, b float64) float64 { return truth(a >= b) }, Axes: AxesCompare},
	{Name: "GridSample", Since: 16, value: gridSample, Axes: AxesSample},
	{Name: "GroupNormalization", Since: 18, value: sameAsFirst, Axes: AxesByChannel},
	{Name: "HammingWindow", Since: 17, Axes: AxesNew, NotModelled: "numbers and shape"},
	{Name: "HannWindow", Since: 17, Axes: AxesNew, NotModelled: "numbers and shape"},
	{Name: "HardSigmoid", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "HardSwish", Since: 14, value: activated, Axes: AxesAlike},
	{Name: "Hardmax", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "Identity", Since: 1, value: identity, Axes: AxesSame},
	{Name: "If", Since: 1, value: ifOp, Axes: AxesBranch},
	{Name: "ImageDecoder", Since: 20, value: decodeImage, Axes: AxesDecode, NotModelled: "the picture's size"},
	{Name: "InstanceNormalization", Since: 1, value: normalizeChannels, Axes: AxesByChannel},
	{Name: "IsInf", Since: 10, value: predicate, Axes: AxesAlike},
	{Name: "IsNaN", Since: 9, value: predicate, Axes: AxesAlike},
	{Name: "LRN", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "LSTM", Since: 1, value: recurrent, Axes: AxesRecur},
	{Name: "LayerNormalization", Since: 17, value: layerNormalization, Axes: AxesNormalize},
	{Name: "LeakyRelu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Less", Since: 1, binary: func(a, b float64) float64 { return truth(a < b) }, Axes: AxesCompare},
	{Name: "LessOrEqual", Since: 12, binary: func(a, b float64) float64 { return truth(a <= b) }, Axes: AxesCompare},
	{Name: "LinearAttention", Since: 27, value: linearAttention, Axes: AxesState, Along: 1},
	{Name: "Log", Since: 1, unary: math.Log, Axes: AxesAlike},
	{Name: "LogSoftmax", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "Loop", Since: 1, value: repeat, Axes: AxesTurns, NotModelled: "what its turns come to"},
	{Name: "LpNormalization", Since: 1, value: lpNormalization, Axes: AxesAlike},
	{Name: "LpPool", Since: 1, value: convolution, Axes: AxesPool},
	{Name: "MatMul", Since: 1, value: matMul, Axes: AxesProduct},
	{Name: "MatMulInteger", Since: 10, value: matMul, Axes: AxesProduct},
	{Name: "Max", Since: 1, value: variadic, Axes: AxesLargest},
	{Name: "MaxPool", Since: 1, value: convolution, Axes: AxesPool},
	{Name: "MaxRoiPool", Since: 1, NotModelled: "anything"},
	{Name: "MaxUnpool", Since: 9, NotModelled: "anything"},
	{Name: "Mean", Since: 1, value: variadic, Axes: AxesAdd},
	{Name: "MeanVarianceNormalization", Since: 9, value: sameAsFirst, Axes: AxesAlike},
	{Name: "MelWeightMatrix", Since: 17, Axes: AxesNew, NotModelled: "numbers and shape"},
	{Name: "Min", Since: 1, value: variadic, Axes: AxesLargest},
	{Name: "Mish", Since: 18, value: activated, Axes: AxesAlike},
	{Name: "Mod", Since: 10, binary: math.Mod, Axes: AxesMultiply},
	{Name: "Mul", Since: 1, binary: func(a, b float64) float64 { return a * b }, Axes: AxesMultiply},
	{Name: "Multinomial", Since: 7, NotModelled: "anything"},
	{Name: "Neg", Since: 1, unary: func(a float64) float64 { return -a }, Axes: AxesAlike},
	{Name: "NegativeLogLikelihoodLoss", Since: 12, NotModelled: "anything"},
	{Name: "NonMaxSuppression", Since: 10, NotModelled: "anything"},
	{Name: "NonZero", Since: 9, value: nonZero, Axes: AxesOfKnown},
	{Name: "Not", Since: 1, value: predicate, Axes: AxesAlike},
	{Name: "OneHot", Since: 9, value: oneHot, Axes: AxesOneHot},
	{Name: "Optional", Since: 15, NotModelled: "anything"},
	{Name: "OptionalGetElement", Since: 15, NotModelled: "anything"},
	{Name: "OptionalHasElement", Since: 15, NotModelled: "anything"},
	{Name: "Or", Since: 1, binary: func(a, b float64) float64 { return truth(a != 0 || b != 0) }, Axes: AxesMultiply},
	{Name: "PRelu", Since: 1, value: sameAsFirst, Axes: AxesMultiply},
	{Name: "Pad", Since: 1, value: pad, Axes: AxesPad},
	{Name: "Pow", Since: 1, binary: math.Pow, Axes: AxesMultiply},
	{Name: "QLinearConv", Since: 10, value: qlinear(convolution), Axes: AxesConvolve},
	{Name: "QLinearMatMul", Since: 10, value: qlinear(matMul), Axes: AxesQuantizedProduct},
	{Name: "QuantizeLinear", Since: 10, value: quantize, Axes: AxesSame},
	{Name: "RMSNormalization", Since: 23, value: rmsNormalization, Axes: AxesNormalize},
	{Name: "RNN", Since: 1, value: recurrent, Axes: AxesRecur},
	{Name: "RandomNormal", Since: 1, value: drawn, Axes: AxesRandom},
	{Name: "RandomNormalLike", Since: 1, value: drawn, Axes: AxesRandom},
	{Name: "RandomUniform", Since: 1, value: drawn, Axes: AxesRandom},
	{Name: "RandomUniformLike", Since: 1, value: drawn, Axes: AxesRandom},
	{Name: "Range", Since: 11, value: rangeOp, Axes: AxesNew},
	{Name: "Reciprocal", Since: 1, unary: func(a float64) float64 { return 1 / a }, Axes: AxesAlike},
	{Name: "ReduceL1", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceL2", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceLogSum", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceLogSumExp", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceMax", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceMean", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceMin", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceProd", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceSum", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "ReduceSumSquare", Since: 1, value: reduce, Axes: AxesReduce},
	{Name: "RegexFullMatch", Since: 20, NotModelled: "anything"},
	{Name: "Relu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Reshape", Since: 1, value: reshape, Axes: AxesReshape},
	{Name: "Resize", Since: 10, value: resize, Axes: AxesMove},
	{Name: "ReverseSequence", Since: 10, value: sameAsFirst, Axes: AxesMove},
	{Name: "RoiAlign", Since: 10, NotModelled: "anything"},
	{Name: "RotaryEmbedding", Since: 23, value: rotaryEmbedding, Axes: AxesRotate, Turns: &Turning{1, 2, 3, ""}},
	{Name: "Round", Since: 11, unary: math.RoundToEven, Axes: AxesAlike},
	{Name: "STFT", Since: 17, value: stft, Axes: AxesFrames},
	{Name: "Scan", Since: 9, value: repeat, Axes: AxesTurns, NotModelled: "what its turns come to"},
	{Name: "Scatter", Since: 9, value: intoElements, Axes: AxesScatter},
	{Name: "ScatterElements", Since: 11, value: intoElements, Axes: AxesScatter},
	{Name: "ScatterND", Since: 11, value: intoND, Axes: AxesScatter},
	{Name: "Selu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "SequenceAt", Since: 11, value: sequenceAt, Axes: AxesElement},
	{Name: "SequenceConstruct", Since: 11, value: sequenceConstruct, NotModelled: "the axes of data"},
	{Name: "SequenceEmpty", Since: 11, value: sequenceConstruct, NotModelled: "the axes of data"},
	{Name: "SequenceErase", Since: 11, value: sequenceErase, NotModelled: "the axes of data"},
	{Name: "SequenceInsert", Since: 11, value: sequenceInsert, NotModelled: "the axes of data"},
	{Name: "SequenceLength", Since: 11, value: sequenceLength, NotModelled: "the axes of data"},
	{Name: "SequenceMap", Since: 17, NotModelled: "bodies that run again and again"},
	{Name: "Shape", Since: 1, value: shapeOp, Axes: AxesNew},
	{Name: "Shrink", Since: 9, value: activated, Axes: AxesAlike},
	{Name: "Sigmoid", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Sign", Since: 9, unary: func(a float64) float64 { return truth(a > 0) - truth(a < 0) }, Axes: AxesAlike},
	{Name: "SimplifiedLayerNormalization", Since: 1, value: rmsNormalization, Axes: AxesNormalize},
	{Name: "Sin", Since: 7, unary: math.Sin, Axes: AxesAlike},
	{Name: "Sinh", Since: 9, unary: math.Sinh, Axes: AxesAlike},
	{Name: "Size", Since: 1, value: size, Axes: AxesNew},
	{Name: "Slice", Since: 1, value: slice, Axes: AxesSlice},
	{Name: "Softmax", Since: 1, value: softmax, Axes: AxesSoftmax},
	{Name: "SoftmaxCrossEntropyLoss", Since: 12, NotModelled: "anything"},
	{Name: "Softplus", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Softsign", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "SpaceToDepth", Since: 1, value: spaceToDepth, Axes: AxesMove},
	{Name: "Split", Since: 1, value: split, Axes: AxesSplit},
	{Name: "SplitToSequence", Since: 11, value: splitToSequence, Axes: AxesSequence},
	{Name: "Sqrt", Since: 1, unary: math.Sqrt, Axes: AxesAlike},
	{Name: "Squeeze", Since: 1, value: squeeze, Axes: AxesReshape},
	{Name: "StringConcat", Since: 20, NotModelled: "anything"},
	{Name: "StringNormalizer", Since: 10, NotModelled: "anything"},
	{Name: "StringSplit", Since: 20, NotModelled: "anything"},
	{Name: "Sub", Since: 1, binary: func(a, b float64) float64 { return a - b }, Axes: AxesAdd},
	{Name: "Sum", Since: 1, value: variadic, Axes: AxesAdd},
	{Name: "SwiGLU", Since: 28, NotModelled: "anything"},
	{Name: "Swish", Since: 24, value: activated, Axes: AxesAlike},
	{Name: "Tan", Since: 7, unary: math.Tan, Axes: AxesAlike},
	{Name: "Tanh", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "TensorScatter", Since: 24, value: sameAsFirst, Axes: AxesScatter},
	{Name: "TfIdfVectorizer", Since: 9, NotModelled: "anything"},
	{Name: "ThresholdedRelu", Since: 10, value: activated, Axes: AxesAlike},
	{Name: "Tile", Since: 1, value: tile, Axes: AxesExpand},
	{Name: "TopK", Since: 1, value: topK, Axes: AxesTopK},
	{Name: "Transpose", Since: 1, value: transpose, Axes: AxesTranspose},
	{Name: "Trilu", Since: 14, value: trilu, Axes: AxesTriangle},
	{Name: "Unique", Since: 11, NotModelled: "anything"},
	{Name: "Unsqueeze", Since: 1, value: unsqueeze, Axes: AxesReshape},
	{Name: "Upsample", Since: 1, value: resize, Axes: AxesMove},
	{Name: "Where", Since: 9, value: where, Axes: AxesChoose},
	{Name: "Xor", Since: 1, binary: func(a, b float64) float64 { return truth((a != 0) != (b != 0)) }, Axes: AxesMultiply},
}

// microsoftOperators are those of com.microsoft that ONNX Runtime's optimizers and
// exporters write (docs/ContribOperators.md), by name.
var microsoftOperators = [...]Operator{
	{Name: "Attention", Since: 1, value: fusedAttention, Axes: AxesAttend, Bias: 5},
	{Name: "AttnLSTM", Since: 1, NotModelled: "anything"},
	{Name: "AveragePool", Since: 1, value: convolution, Axes: AxesPool},
	{Name: "BeamSearch", Since: 1, Generates: true, NotModelled: "anything"},
	{Name: "BiasAdd", Since: 1, value: biased, Axes: AxesAdd},
	{Name: "BiasDropout", Since: 1, value: skipNormalization, Axes: AxesAdd},
	{Name: "BiasGelu", Since: 1, value: biased, Axes: AxesAdd},
	{Name: "BiasSoftmax", Since: 1, value: skipNormalization, Axes: AxesBias},
	{Name: "BiasSplitGelu", Since: 1, value: splitGelu, Axes: AxesBySample},
	{Name: "BifurcationDetector", Since: 1, NotModelled: "anything"},
	{Name: "BitmaskBiasDropout", Since: 1, NotModelled: "anything"},
	{Name: "BitmaskDropout", Since: 1, value: identity, Axes: AxesSame},
	{Name: "BranchwiseRMSNorm", Since: 1, value: sameAsFirst, Axes: AxesNormalize},
	{Name: "CDist", Since: 1, NotModelled: "anything"},
	{Name: "CausalConvWithState", Since: 1, value: causalConvolution, Axes: AxesState, Along: -1},
	{Name: "ComplexMul", Since: 1, NotModelled: "anything"},
	{Name: "ComplexMulConj", Since: 1, NotModelled: "anything"},
	{Name: "Conv", Since: 1, value: convolution, Axes: AxesConvolve, Bias: 3},
	{Name: "ConvTransposeWithDynamicPads", Since: 1, NotModelled: "anything"},
	{Name: "CropAndResize", Since: 1, NotModelled: "anything"},
	{Name: "DecoderAttention", Since: 1, Axes: AxesAttendBlocks, NotModelled: "anything"},
	{Name: "DecoderMaskedMultiHeadAttention", Since: 1, Axes: AxesAttendBlocks, NotModelled: "anything"},
	{Name: "DecoderMaskedSelfAttention", Since: 1, NotModelled: "anything"},
	{Name: "DequantizeBFP", Since: 1, NotModelled: "anything"},
	{Name: "DequantizeLinear", Since: 1, value: dequantize, Axes: AxesSame},
	{Name: "DequantizeWithOrder", Since: 1, NotModelled: "anything"},
	{Name: "DynamicQuantizeLSTM", Since: 1, value: recurrent, Axes: AxesRecur},
	{Name: "DynamicQuantizeMatMul", Since: 1, value: scaledProduct, Axes: AxesGemm, Bias: 4},
	{Name: "DynamicSparseAttention", Since: 1, NotModelled: "anything"},
	{Name: "DynamicTimeWarping", Since: 1, NotModelled: "anything"},
	{Name: "EPContext", Since: 1, NotModelled: "anything"},
	{Name: "EmbedLayerNormalization", Since: 1, value: embedLayerNormalization, Axes: AxesEmbed},
	{Name: "EngramGate", Since: 1, NotModelled: "anything"},
	{Name: "ExpandDims", Since: 1, value: expandDims, Axes: AxesReshape},
	{Name: "FastGelu", Since: 1, value: biased, Axes: AxesAdd},
	{Name: "FusedConv", Since: 1, value: convolution, Axes: AxesConvolve, Bias: 3},
	{Name: "FusedGemm", Since: 1, value: scaledProduct, Axes: AxesGemm, Bias: 2},
	{Name: "FusedMatMul", Since: 1, value: scaledProduct, Axes: AxesProduct},
	{Name: "FusedMatMulActivation", Since: 1, NotModelled: "anything"},
	{Name: "GatedAdd", Since: 1, NotModelled: "anything"},
	{Name: "GatedDeltaNet", Since: 1, NotModelled: "anything"},
	{Name: "GatedRMSNorm", Since: 1, value: sameAsFirst, Axes: AxesNormalize},
	{Name: "GatedRelativePositionBias", Since: 1, NotModelled: "anything"},
	{Name: "GatherBlockQuantized", Since: 1, value: gatherBlockQuantized, Axes: AxesGatherBlocks},
	{Name: "Gelu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "GemmFastGelu", Since: 1, value: scaledProduct, Axes: AxesGemm, Bias: 2},
	{Name: "GemmFloat8", Since: 1, NotModelled: "anything"},
	{Name: "GemmaRotaryEmbedding", Since: 1, NotModelled: "anything"},
	{Name: "GlobalAveragePool", Since: 1, value: globalPool, Axes: AxesGlobalPool},
	{Name: "GreedySearch", Since: 1, Generates: true, NotModelled: "anything"},
	{Name: "GridSample", Since: 1, value: gridSample, Axes: AxesSample},
	{Name: "GroupNorm", Since: 1, value: sameAsFirst, Axes: AxesNormalize},
	{Name: "GroupQueryAttention", Since: 1, value: headAttention, Axes: AxesAttend, Bias: 10, Turns: &Turning{7, 8, 9, "do_rotary"}},
	{Name: "HyperConnectionPostMix", Since: 1, NotModelled: "anything"},
	{Name: "HyperConnectionPreMix", Since: 1, NotModelled: "anything"},
	{Name: "Inverse", Since: 1, NotModelled: "anything"},
	{Name: "Irfft", Since: 1, NotModelled: "anything"},
	{Name: "IsAllFinite", Since: 1, NotModelled: "anything"},
	{Name: "LayerNormalization", Since: 1, value: microsoftNormalization, Axes: AxesNormalize},
	{Name: "LinearAttention", Since: 1, value: linearAttention, Axes: AxesState, Along: 1},
	{Name: "LinearAttentionGate", Since: 1, value: sameAsEach, Axes: AxesAlike},
	{Name: "LongformerAttention", Since: 1, Axes: AxesAttendBlocks, NotModelled: "anything"},
	{Name: "MRotaryEmbedding", Since: 1, value: rotaryEmbedding, Axes: AxesRotate, Turns: &Turning{2, 3, 1, ""}},
	{Name: "MatMulBlockQuantizedFp4Weight", Since: 1, NotModelled: "anything"},
	{Name: "MatMulBlockQuantizedFp8Weight", Since: 1, NotModelled: "anything"},
	{Name: "MatMulBnb4", Since: 1, value: matMulNBits, Axes: AxesLinear},
	{Name: "MatMulFpQ4", Since: 1, value: matMulNBits, Axes: AxesLinear},
	{Name: "MatMulInteger16", Since: 1, value: matMulInteger, Axes: AxesProduct},
	{Name: "MatMulIntegerToFloat", Since: 1, value: scaledProduct, Axes: AxesGemm, Bias: 6},
	{Name: "MatMulNBits", Since: 1, value: matMulNBits, Axes: AxesLinear},
	{Name: "MatMulNBitsMlp", Since: 1, NotModelled: "anything"},
	{Name: "MatMulNBitsQkv", Since: 1, NotModelled: "anything"},
	{Name: "MaxPool", Since: 1, value: convolution, Axes: AxesPool},
	{Name: "MaxpoolWithMask", Since: 1, NotModelled: "anything"},
	{Name: "MoE", Since: 1, value: sameAsFirst, Axes: AxesByToken},
	{Name: "MulInteger", Since: 1, NotModelled: "anything"},
	{Name: "MultiHeadAttention", Since: 1, value: headAttention, Axes: AxesAttend, Bias: 5},
	{Name: "MurmurHash3", Since: 1, NotModelled: "anything"},
	{Name: "NGramHashMapping", Since: 1, NotModelled: "anything"},
	{Name: "NGramRepeatBlock", Since: 1, NotModelled: "anything"},
	{Name: "NhwcConv", Since: 1, value: channelsLast(convolution), Axes: AxesConvolve},
	{Name: "NhwcFusedConv", Since: 1, value: channelsLast(convolution), Axes: AxesConvolve, Bias: 3},
	{Name: "NhwcMaxPool", Since: 1, value: channelsLast(convolution), Axes: AxesPool},
	{Name: "PackedAttention", Since: 1, Axes: AxesAttendBlocks, NotModelled: "anything"},
	{Name: "PackedMultiHeadAttention", Since: 1, Axes: AxesAttendBlocks, NotModelled: "anything"},
	{Name: "PackedSparseAttentionIndexer", Since: 1, NotModelled: "anything"},
	{Name: "Pad", Since: 1, NotModelled: "anything"},
	{Name: "PagedAttention", Since: 1, value: headAttention, Axes: AxesAttendBlocks, NotModelled: "axes", Turns: &Turning{8, 9, noInput, "do_rotary"}},
	{Name: "QAttention", Since: 1, value: fusedAttention, Axes: AxesAttend, Bias: -1},
	{Name: "QEmbedLayerNormalization", Since: 1, value: embedLayerNormalization, Axes: AxesEmbed},
	{Name: "QGemm", Since: 1, value: qgemm, Axes: AxesQuantizedProduct},
	{Name: "QLinearAdd", Since: 1, value: qlinear(pair(func(a, b float64) float64 { return a + b })), Axes: AxesQuantizedAdd},
	{Name: "QLinearAveragePool", Since: 1, value: qlinearOf(channelsLast(convolution)), Axes: AxesPool},
	{Name: "QLinearConcat", Since: 1, value: qlinearConcat, Axes: AxesQuantizedConcat},
	{Name: "QLinearConv", Since: 1, value: qlinear(channelsLast(convolution)), Axes: AxesConvolve},
	{Name: "QLinearGlobalAveragePool", Since: 1, value: qlinearOf(channelsLast(globalPool)), Axes: AxesGlobalPool},
	{Name: "QLinearLeakyRelu", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "QLinearMul", Since: 1, value: qlinear(pair(func(a, b float64) float64 { return a * b })), Axes: AxesQuantizedMultiply},
	{Name: "QLinearReduceMean", Since: 1, NotModelled: "anything"},
	{Name: "QLinearSigmoid", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "QLinearSoftmax", Since: 1, value: sameAsFirst, Axes: AxesSoftmax},
	{Name: "QLinearWhere", Since: 1, value: qlinearWhere, Axes: AxesChoose},
	{Name: "QMoE", Since: 1, value: sameAsFirst, Axes: AxesByToken},
	{Name: "QOrderedAttention", Since: 1, NotModelled: "anything"},
	{Name: "QOrderedGelu", Since: 1, NotModelled: "anything"},
	{Name: "QOrderedLayerNormalization", Since: 1, NotModelled: "anything"},
	{Name: "QOrderedLongformerAttention", Since: 1, NotModelled: "anything"},
	{Name: "QOrderedMatMul", Since: 1, NotModelled: "anything"},
	{Name: "QuantizeBFP", Since: 1, NotModelled: "anything"},
	{Name: "QuantizeLinear", Since: 1, value: quantize, Axes: AxesSame},
	{Name: "QuantizeWithOrder", Since: 1, NotModelled: "anything"},
	{Name: "QuickGelu", Since: 1, value: activated, Axes: AxesAlike},
	{Name: "Range", Since: 1, value: rangeOp, Axes: AxesNew},
	{Name: "ReduceSumInteger", Since: 1, NotModelled: "anything"},
	{Name: "RelativePositionBias", Since: 1, value: relativePositionBias, Axes: AxesNew},
	{Name: "RemovePadding", Since: 1, NotModelled: "anything"},
	{Name: "ReorderInput", Since: 1, value: reorderInput, Axes: AxesReorder},
	{Name: "ReorderOutput", Since: 1, value: reorderOutput, Axes: AxesReorder},
	{Name: "RestorePadding", Since: 1, NotModelled: "anything"},
	{Name: "Rfft", Since: 1, NotModelled: "anything"},
	{Name: "RotaryEmbedding", Since: 1, value: rotaryEmbedding, Axes: AxesRotate, Turns: &Turning{2, 3, 1, ""}},
	{Name: "SampleOp", Since: 1, NotModelled: "anything"},
	{Name: "Sampling", Since: 1, Generates: true, NotModelled: "anything"},
	{Name: "ScaledSiLU", Since: 1, NotModelled: "anything"},
	{Name: "SimplifiedLayerNormalization", Since: 1, value: microsoftNormalization, Axes: AxesNormalize},
	{Name: "SkipGroupNorm", Since: 1, value: skipGroupNormalization, Axes: AxesSkipNormalize, Bias: 3},
	{Name: "SkipLayerNormalization", Since: 1, value: microsoftNormalization, Axes: AxesSkipNormalize},
	{Name: "SkipSimplifiedLayerNormalization", Since: 1, value: microsoftNormalization, Axes: AxesSkipNormalize},
	{Name: "Snpe", Since: 1, NotModelled: "anything"},
	{Name: "SparseAttention", Since: 1, value: headAttention, Axes: AxesAttendBlocks, NotModelled: "axes", Turns: &Turning{9, 10, noInput, "do_rotary"}},
	{Name: "SparseAttentionIndexer", Since: 1, NotModelled: "anything"},
	{Name: "SparsePagedAttention", Since: 1, NotModelled: "anything"},
	{Name: "SparseToDenseMatMul", Since: 1, NotModelled: "anything"},
	{Name: "Tokenizer", Since: 1, NotModelled: "anything"},
	{Name: "TorchEmbedding", Since: 1, NotModelled: "anything"},
	{Name: "TransposeMatMul", Since: 1, value: scaledProduct, Axes: AxesProduct},
	{Name: "Trilu", Since: 1, value: trilu, Axes: AxesTriangle},
	{Name: "UnfoldTensor", Since: 1, NotModelled: "anything"},
	{Name: "Unique", Since: 1, NotModelled: "anything"},
	{Name: "Upsample", Since: 1, value: resize, Axes: AxesMove},
	{Name: "VarlenCausalConvWithState", Since: 1, NotModelled: "anything"},
	{Name: "VarlenNGramHashMapping", Since: 1, NotModelled: "anything"},
	{Name: "WhisperBeamSearch", Since: 1, Generates: true, NotModelled: "anything"},
	{Name: "WordConvEmbedding", Since: 1, NotModelled: "anything"},
}

// extensionOperators are those of onnxruntime-extensions that pictures go through before and
// after a model, and of those that make tokens of texts, as many as there are
// (github.com/microsoft/onnxruntime-extensions, docs/custom_ops.md).
var extensionOperators = [...]Operator{
	{Name: "BertTokenizer", Since: 1, Tokens: 1, NotModelled: "what it makes of texts"},
	{Name: "CLIPTokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
	{Name: "DecodeImage", Since: 1, value: decodeImage, Axes: AxesDecode, NotModelled: "the picture's size"},
	{Name: "DrawBoundingBoxes", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "EncodeImage", Since: 1, NotModelled: "anything"},
	{Name: "GPT2Tokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
	{Name: "GaussianBlur", Since: 1, value: sameAsFirst, Axes: AxesMove},
	{Name: "HfBertTokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
	{Name: "HfJsonTokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
	{Name: "RobertaTokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
	{Name: "SentencepieceTokenizer", Since: 1, Tokens: 1, NotModelled: "what it makes of texts"},
	{Name: "TrieTokenizer", Since: 1, Tokens: 2, NotModelled: "what it makes of texts"},
}
