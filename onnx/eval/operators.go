package eval

import "math"

// operator computes the outputs of a node from what is known of its inputs. An
// error means that an engine would refuse to run the node.
type operator func(*call) ([]*Value, error)

// operatorOf returns the operator of a domain, nil for one that is not known:
// then nothing is known of its outputs.
func operatorOf(domain, name string) operator {
	switch domain {
	case "":
		if op := standard(name); op != nil {
			return op
		}
		return elementwise(name)
	case "com.microsoft", "com.microsoft.nchwc":
		return microsoft(name)
	}
	return nil
}

// standard are the operators of ai.onnx that are not element by element.
func standard(name string) operator {
	switch name {
	case "Constant":
		return constant
	case "ConstantOfShape":
		return constantOfShape
	case "Shape":
		return shapeOp
	case "Size":
		return size
	case "Identity", "Dropout":
		return identity
	case "Cast":
		return cast
	case "CastLike":
		return castLike
	case "QuantizeLinear":
		return quantize
	case "DequantizeLinear":
		return dequantize
	case "DynamicQuantizeLinear":
		return dynamicQuantize
	case "Range":
		return rangeOp
	case "Reshape":
		return reshape
	case "Flatten":
		return flatten
	case "Squeeze":
		return squeeze
	case "Unsqueeze":
		return unsqueeze
	case "Transpose":
		return transpose
	case "Concat":
		return concat
	case "Split":
		return split
	case "Slice":
		return slice
	case "Expand":
		return expand
	case "Tile":
		return tile
	case "Pad":
		return pad
	case "Gather":
		return gather
	case "GatherElements":
		return gatherElements
	case "GatherND":
		return gatherND
	case "ScatterND":
		return scatter(scatterND)
	case "ScatterElements", "Scatter":
		return scatter(scatterElements)
	case "TensorScatter":
		return tensorScatter
	case "NonZero":
		return nonZero
	case "OneHot":
		return oneHot
	case "EyeLike":
		return eyeLike
	case "Trilu":
		return trilu
	case "CumSum":
		return cumSum
	case "Where":
		return where
	case "Einsum":
		return einsum
	case "MatMul", "MatMulInteger":
		return matMul
	case "Gemm":
		return gemm
	case "If":
		return ifOp
	case "Loop", "Scan", "SequenceMap":
		return nil
	}
	if op := reduction(name); op != nil {
		return op
	}
	return network(name)
}

// elementwise are the operators that compute each element from the elements
// at its place.
func elementwise(name string) operator {
	if f := binaryOf(name); f != nil {
		return func(c *call) ([]*Value, error) { return binary(c, name, f) }
	}
	if f := unaryOf(name); f != nil {
		return func(c *call) ([]*Value, error) { return unary(c, f) }
	}
	switch name {
	case "Min", "Max", "Sum", "Mean":
		return func(c *call) ([]*Value, error) { return variadic(c, name) }
	case "Clip":
		return clip
	case "Not", "IsNaN", "IsInf":
		return func(c *call) ([]*Value, error) { return predicate(c, name) }
	case "PRelu":
		return sameAsFirst
	}
	return nil
}

func binaryOf(name string) func(a, b float64) float64 {
	switch name {
	case "Add":
		return func(a, b float64) float64 { return a + b }
	case "Sub":
		return func(a, b float64) float64 { return a - b }
	case "Mul":
		return func(a, b float64) float64 { return a * b }
	case "Div":
		return func(a, b float64) float64 { return a / b }
	case "Pow":
		return math.Pow
	case "Mod":
		return math.Mod
	case "Equal":
		return func(a, b float64) float64 { return truth(a == b) }
	case "Less":
		return func(a, b float64) float64 { return truth(a < b) }
	case "LessOrEqual":
		return func(a, b float64) float64 { return truth(a <= b) }
	case "Greater":
		return func(a, b float64) float64 { return truth(a > b) }
	case "GreaterOrEqual":
		return func(a, b float64) float64 { return truth(a >= b) }
	case "And":
		return func(a, b float64) float64 { return truth(a != 0 && b != 0) }
	case "Or":
		return func(a, b float64) float64 { return truth(a != 0 || b != 0) }
	case "Xor":
		return func(a, b float64) float64 { return truth((a != 0) != (b != 0)) }
	case "BitwiseAnd":
		return func(a, b float64) float64 { return float64(int64(a) & int64(b)) }
	case "BitwiseOr":
		return func(a, b float64) float64 { return float64(int64(a) | int64(b)) }
	case "BitwiseXor":
		return func(a, b float64) float64 { return float64(int64(a) ^ int64(b)) }
	}
	return nil
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func unaryOf(name string) func(float64) float64 {
	switch name {
	case "Neg":
		return func(a float64) float64 { return -a }
	case "Abs":
		return math.Abs
	case "Sign":
		return func(a float64) float64 { return truth(a > 0) - truth(a < 0) }
	case "Floor":
		return math.Floor
	case "Ceil":
		return math.Ceil
	case "Round":
		return math.RoundToEven
	case "Sqrt":
		return math.Sqrt
	case "Reciprocal":
		return func(a float64) float64 { return 1 / a }
	case "Exp":
		return math.Exp
	case "Log":
		return math.Log
	case "Sin":
		return math.Sin
	case "Cos":
		return math.Cos
	case "Tan":
		return math.Tan
	case "Tanh":
		return math.Tanh
	case "Erf":
		return math.Erf
	case "Sigmoid":
		return func(a float64) float64 { return 1 / (1 + math.Exp(-a)) }
	case "Relu":
		return func(a float64) float64 { return math.Max(a, 0) }
	case "Softplus":
		return func(a float64) float64 { return math.Log1p(math.Exp(a)) }
	case "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Elu", "Selu", "Celu", "Softsign", "Mish", "ThresholdedRelu",
		"Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "BitwiseNot", "Swish":
		return unknownFunction
	}
	return nil
}

// unknownFunction marks element-wise operators whose numbers nobody asks for.
func unknownFunction(float64) float64 { return math.NaN() }
