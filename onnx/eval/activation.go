package eval

import (
	"cmp"
	"math"
)

// activation is a function of one number by the name of its operator, in ai.onnx (onnx.ai/onnx/operators), or in com.microsoft or as the attribute
// of an operator that ends with it (onnxruntime/contrib_ops/cpu/activations.h, onnxruntime/core/mlas/lib/activate.cpp); nil for another name.
// parameter gives its parameters by name, those that the specification has where the node names none.
func activation(name string, parameter func(name string, standard float64) float64) func(float64) float64 {
	var alpha float64
	switch name {
	case "Celu":
		alpha = parameter("alpha", 1)
		return func(x float64) float64 { return math.Max(0, x) + math.Min(0, alpha*math.Expm1(x/alpha)) }
	case "Clip":
		low, high := parameter("min", -math.MaxFloat32), parameter("max", math.MaxFloat32)
		return func(x float64) float64 { return math.Min(math.Max(x, low), high) }
	case "Elu":
		alpha = parameter("alpha", 1)
		return func(x float64) float64 { return math.Max(0, x) + alpha*math.Expm1(math.Min(0, x)) }
	case "FastGelu", "GemmFastGelu":
		return func(x float64) float64 { return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) }
	case "Gelu", "BiasGelu":
		return func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) }
	case "HardSigmoid":
		alpha = parameter("alpha", 0.2)
		beta := parameter("beta", 0.5)
		return func(x float64) float64 { return math.Max(0, math.Min(1, alpha*x+beta)) }
	case "HardSwish":
		return func(x float64) float64 { return x * math.Max(0, math.Min(1, x/6+0.5)) }
	case "LeakyRelu":
		alpha = parameter("alpha", 0.01)
		return func(x float64) float64 { return math.Max(0, x) + alpha*math.Min(0, x) }
	case "Mish":
		return func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }
	case "QuickGelu":
		alpha = parameter("alpha", 1.702)
		return func(x float64) float64 { return x / (1 + math.Exp(-alpha*x)) }
	case "Relu":
		return func(x float64) float64 { return math.Max(0, x) }
	case "Selu":
		alpha = parameter("alpha", 1.67326319217681884765625)
		gamma := parameter("gamma", 1.05070102214813232421875)
		return func(x float64) float64 { return gamma * (math.Max(0, x) + alpha*math.Expm1(math.Min(0, x))) }
	case "Shrink":
		lambda, bias := parameter("lambd", 0.5), parameter("bias", 0)
		return func(x float64) float64 {
			switch {
			case x < -lambda:
				return x + bias
			case x > lambda:
				return x - bias
			}
			return 0
		}
	case "Sigmoid":
		return func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	case "Softplus":
		return func(x float64) float64 { return math.Log1p(math.Exp(x)) }
	case "Softsign":
		return func(x float64) float64 { return x / (1 + math.Abs(x)) }
	case "Swish":
		alpha = parameter("alpha", 1)
		return func(x float64) float64 { return x / (1 + math.Exp(-alpha*x)) }
	case "Tanh":
		return math.Tanh
	case "ThresholdedRelu":
		alpha = parameter("alpha", 1)
		return func(x float64) float64 {
			if x > alpha {
				return x
			}
			return 0
		}
	}
	return nil
}

// activated is an operator that is an activation of one input.
func activated(c *call) ([]*Value, error) {
	name := c.node.Op
	if name == "Gelu" && string(c.text("approximate")) == "tanh" {
		name = "FastGelu"
	}
	return unary(c, activation(name, c.node.Float))
}

// biased is the sum of the inputs, with an activation (BiasGelu, FastGelu) or without one (BiasAdd).
func biased(c *call) ([]*Value, error) {
	out, err := variadic(c)
	if err != nil || len(out) == 0 {
		return out, err
	}
	return one(c.activates(out[0])), nil
}

// activates is what becomes of a result by the activation that the node names as an attribute, with its parameters in one list or each by a name of its
// own (FusedConv: activation_params; FusedGemm: activation_alpha), or by that of its operator; of unknown content where no function of that name is known.
func (c *call) activates(out *Value) *Value {
	var list []float32
	if a := c.node.Attribute("activation_params"); a != nil {
		list = a.Floats
	}
	name := string(c.text("activation"))
	f := activation(cmp.Or(name, c.node.Op), func(name string, standard float64) float64 {
		if len(list) > 0 {
			standard, list = float64(list[0]), list[1:]
		}
		return c.node.Float("activation_"+name, standard)
	})
	switch {
	case out.Floats == nil || f == nil && name == "":
		return out
	case f == nil:
		return out.unknown()
	}
	for i, x := range out.Floats {
		out.Floats[i] = round(out.Type, f(x))
	}
	return out
}
