package trace

import (
	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Term is one term of a rotation: state times known numbers.
type Term struct {
	Name  string      // of the known numbers
	Known *eval.Value // what they are
	State string      // the value that they are multiplied with
}

// TermOf reads a value as such a product, seen through casts, signs and quantised
// activations; false where it is none.
func TermOf(s *eval.Scope, name string) (Term, bool) {
	for range 5 { // a cast, a sign or a quantised activation may stand between
		n, at := s.Find(name)
		if n == nil || at != s {
			return Term{}, false
		}
		switch {
		case eval.Is(n, eval.Layout) || n.Op == "Neg":
			name = n.Input(0)
			continue
		case n.Op == "Mul", eval.Is(n, eval.Quantized&^eval.Addition):
			return mulFactor(s, n)
		}
		return Term{}, false
	}
	return Term{}, false
}

func mulFactor(s *eval.Scope, n *onnx.Node) (Term, bool) {
	of := eval.Operands(n)
	for i := range 2 {
		known, state := s.Value(of[i]), s.Value(of[1-i])
		if known.Known() && known.Floats != nil && !state.Known() && len(known.Shape) >= 2 && known.Len() > 1 {
			return Term{of[i], known, of[1-i]}, true
		}
	}
	return Term{}, false
}
