package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
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
		if (eval.Is(n, eval.Product) || n.IsConvolution()) && len(s.Value(name).Shape) > 1 {
			last = name
		}
	}
	return last
}

// GridBeforeWeights are the rows that BeforeWeights names, one for each of so many places on a grid; nil where they are not known.
func GridBeforeWeights(s *eval.Scope, name string, places int) [][]float64 {
	v := s.Value(BeforeWeights(s, name))
	if !v.Known() || v.Floats == nil || places == 0 || v.Len()%places != 0 {
		return nil
	}
	columns := v.Len() / places
	for axis := len(v.Shape) - 1; axis >= 0; axis-- {
		if v.Shape[axis] != columns {
			continue
		}
		out, inner := make([][]float64, places), onnx.Size(v.Shape[axis+1:])
		for p := range out {
			for c := range columns {
				out[p] = append(out[p], v.Floats[(p/inner*columns+c)*inner+p%inner])
			}
		}
		return out
	}
	return nil
}

// maxBeforeWeights bounds the nodes between a value and sines and cosines that it is made of.
const maxBeforeWeights = 32
