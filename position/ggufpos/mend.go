package ggufpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
)

// Mend stores numbers of position keys in the type that llama.cpp reads
// (llama_model_loader::get_key throws at any other): the same number, rounded to
// float32 as the engine would hold it. Keys that change anyway, texts and numbers that do not fit stay.
func (m *model) Mend() []string {
	var out []string
	for _, suffix := range sortedKeyTypes {
		p, want := m.pair(suffix), keyTypes[suffix]
		if p == nil || p.Type == want || p.Type == gguf.TypeArray || m.edit.Edited(m.key(suffix)) {
			continue
		}
		x, ok := p.Float()
		if n, whole := p.Uint(); whole {
			x, ok = float64(n), true
		}
		var v gguf.Value
		switch {
		case !ok:
			continue
		case want == gguf.TypeFloat32 && !math.IsInf(float64(float32(x)), 0):
			v = gguf.Float32(float32(x))
		case want == gguf.TypeUint32 && x == math.Trunc(x) && x >= 0 && x <= math.MaxUint32:
			v = gguf.Uint32(uint32(x))
		default:
			continue
		}
		what := fmt.Sprintf("%s: stored as %s, which engines read, in place of %s", m.key(suffix), want, p.Type)
		m.edit.Set(m.key(suffix), v, "type of "+m.key(suffix))
		out = append(out, what)
	}
	return out
}
