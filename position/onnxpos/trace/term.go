package trace

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Term is one term of a rotation: state times known numbers.
type Term struct {
	Node   *onnx.Node   // the product
	Name   string       // of the known numbers
	Known  *eval.Value  // what they are
	State  string       // the value that they are multiplied with
	Factor float64      // one number that the product is multiplied with, behind it
	Behind []*onnx.Node // what lays the product out before it is added, the last first
}

// TermOf reads a value as such a product, seen through casts, signs, one number for all of it and
// quantised activations; false where it is none.
func TermOf(s *eval.Scope, name string) (Term, bool) {
	factor := 1.0
	var behind []*onnx.Node
	for range 5 { // a cast, a sign or a quantised activation may stand between
		n, at := s.Find(name)
		if n == nil || at != s {
			return Term{}, false
		}
		switch {
		case eval.Is(n, eval.Layout):
			behind = append(behind, n)
			name = n.Input(0)
			continue
		case n.Op == "Neg":
			name = n.Input(0)
			continue
		case n.Op == "Mul", eval.Is(n, eval.Quantized&^eval.Addition):
			if term, ok := mulFactor(s, n); ok {
				term.Factor, term.Behind = factor, behind
				return term, true
			}
			i := slices.IndexFunc(n.Inputs, func(in string) bool { return s.Value(in).Len() == 1 && s.Value(in).Known() })
			if i < 0 || n.Op != "Mul" || len(n.Inputs) != 2 {
				return Term{}, false
			}
			factor, name = factor*s.Value(n.Input(i)).Number(0), n.Input(1-i)
			if !(factor > leastFactor && factor < 1/leastFactor) {
				return Term{}, false // nothing is left, or the sign is another
			}
			continue
		}
		return Term{}, false
	}
	return Term{}, false
}

// Laid is what becomes of a value of the product's shape on its way to the sum.
func (t Term) Laid(s *eval.Scope, v *eval.Value) *eval.Value {
	for _, n := range slices.Backward(t.Behind) {
		v = s.Given(n.Input(0), v).Value(n.Output(0))
	}
	return v
}

// leastFactor is the smallest number that products of a rotation may be multiplied with, and its inverse the largest: no scaling of an attention
// is near either.
const leastFactor = 1e-6

func mulFactor(s *eval.Scope, n *onnx.Node) (Term, bool) {
	of := eval.Operands(n)
	for i := range 2 {
		known, state := s.Value(of[i]), s.Value(of[1-i])
		if known.Known() && known.Floats != nil && !state.Known() && len(known.Shape) >= 2 && known.Len() > 1 {
			return Term{Node: n, Name: of[i], Known: known, State: of[1-i]}, true
		}
	}
	return Term{}, false
}

// SummedBy is the size of the axes of an operand that an Einsum of two sums over, or that weights of attention leave; of its last one where
// the equation does not tell, 0 where there is none.
func SummedBy(s *eval.Scope, n *onnx.Node, name string) int {
	v := s.Value(name)
	if !v.Ranked || len(v.Shape) == 0 {
		return 0
	}
	size := v.Shape[len(v.Shape)-1]
	at := slices.Index(n.Inputs, name)
	if at < 0 || len(n.Inputs) != 2 {
		return size
	}
	terms, out, ok := eval.Subscripts(n, len(s.Input(n, 0).Shape), len(s.Input(n, 1).Shape))
	if !ok || len(terms[at]) != len(v.Shape) {
		return size
	}
	weighed := FromSoftmax(s, n.Input(1-at)) // values are turned, too (CLVP)
	size = 1
	for axis, label := range terms[at] {
		if summed := !strings.ContainsRune(out, label); strings.ContainsRune(terms[1-at], label) == summed && summed != weighed {
			size *= v.Shape[axis]
		}
	}
	return size
}
