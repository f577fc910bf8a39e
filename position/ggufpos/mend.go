package ggufpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
)

// Mend stores numbers of position keys in the type that llama.cpp reads
// (llama_model_loader::get_key throws at any other): the same number, rounded to
// float32 as the engine would hold it. Keys that change anyway, texts and numbers that do not fit stay.
func (m *model) Mend() []string {
	var out []string
	for _, key := range arch.KeyTypes {
		suffix, want := key.Suffix, key.Type
		p := m.Pair(suffix)
		if p == nil || p.Type == want || p.Type == gguf.TypeArray || m.Edit.Edited(m.Key(suffix)) {
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
		what := fmt.Sprintf("%s: stored as %s, which engines read, in place of %s", m.Key(suffix), want, p.Type)
		m.Edit.Set(m.Key(suffix), v, "type of "+m.Key(suffix))
		out = append(out, what)
	}
	return out
}
