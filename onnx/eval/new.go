package eval

import "github.com/modelpatch/modelpatch/onnx"

// New prepares the evaluation of a model whose inputs have the given values.
//
// It alone knows both the evaluator and the table of operators: operators run
// graphs inside nodes, and have no need of the table for it.
func New(f *onnx.File, inputs map[string]*Value) *Evaluator {
	return newEvaluator(f, inputs, func(domain, name string) computer {
		if op := Lookup(domain, name); op != nil {
			return op
		}
		return nil
	})
}
