package onnxpos

import (
	"path/filepath"

	"github.com/modelpatch/modelpatch/onnx"
)

// leastSpan is the least tensor that DataSpans tells; smaller ones are as much
// structure as data.
const leastSpan = 4096

// DataSpans are the ranges of one of the model's files that hold tensor data.
func (m *Model) DataSpans(path string) [][2]int64 {
	var out [][2]int64
	m.graph.File.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		at := m.graph.File.Path
		if t.External() {
			at = filepath.Join(filepath.Dir(at), t.DataFile())
		}
		if r := t.Range(); at == path && r[1]-r[0] >= leastSpan {
			out = append(out, r)
		}
	})
	return out
}
