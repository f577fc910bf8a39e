package attention

import (
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

const (
	// maxBetween bounds the nodes between a projection and the product of queries and keys.
	maxBetween = 64
	// farthestHot is how many positions a temperature is looked for in: most begin at thousands.
	farthestHot = 1 << 16
)

// temperature reads by what queries or keys are multiplied as positions grow: a number for each position, whatever
// the content. The names are the operands of their product; none where nothing is found.
func temperature(m *site.Graph, s *eval.Scope, operands ...string) schemes.Temperature {
	seen := map[string]bool{}
	for i := 0; i < len(operands) && i < maxBetween; i++ {
		n, at := s.Find(operands[i])
		if n == nil || at != s || seen[operands[i]] || eval.Is(n, eval.Product) {
			continue
		}
		seen[operands[i]] = true
		if n.Op == "Mul" {
			for _, in := range n.Inputs {
				if byPosition(s.Value(in), m.Sizes.Length) {
					if long := m.Longer(s, in, farthestHot); long != nil {
						if t, ok := fit.Temperature(long.Floats); ok {
							return t
						}
					}
				}
			}
		}
		for _, in := range trace.DataInputs(n) {
			if s.Value(in).Unknowable() { // data: not what they are turned by
				operands = append(operands, in)
			}
		}
	}
	return schemes.Temperature{}
}

// byPosition reports whether a known value has one number for each position.
func byPosition(v *eval.Value, length int) bool {
	if !v.Known() || v.Floats == nil || v.Len() != length || length < 2 {
		return false
	}
	for _, n := range v.Shape {
		if n != 1 && n != length {
			return false
		}
	}
	return true
}
