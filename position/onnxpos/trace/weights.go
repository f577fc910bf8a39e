package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// BeforeWeights is the value of sines and cosines that the last product behind a value multiplies by weights; "" where there is none.
func BeforeWeights(s *eval.Scope, name string) string {
	waves := func(name string) bool {
		return slices.ContainsFunc(Sources(s, name), func(src Source) bool { return src.Trig != nil })
	}
	last := ""
	for range maxBeforeWeights {
		n, at := s.Find(name)
		if n == nil || at != s {
			break
		}
		of := slices.IndexFunc(n.Inputs, waves)
		if of < 0 {
			break
		}
		name = n.Input(of)
		if eval.Is(n, eval.Product) && len(s.Value(name).Shape) > 1 {
			last = name
		}
	}
	return last
}

// maxBeforeWeights bounds the nodes between a value and sines and cosines that it is made of.
const maxBeforeWeights = 32
