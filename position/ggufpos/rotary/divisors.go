package rotary

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
)

// addDivisors stores a factor tensor: F32, one number a pair, and ones for pairs that other layers alone have.
func (r *Rope) addDivisors(name string, values []float64, why string) {
	m := r.m
	for len(values) < r.engine.FactorWidth {
		values = append(slices.Clip(values), 1)
	}
	raw := encoded(values, m.File.Parts[0].Order)
	if t := m.File.Tensor(name); t != nil && t.Type == gguf.F32 && t.Size == int64(len(raw)) {
		m.Removed = slices.DeleteFunc(m.Removed, func(r *gguf.Tensor) bool { return r == t })
		m.Edit.Keep(t)
		m.Edit.Replace(t, patch.Bytes(raw), why)
		return
	}
	m.Edit.Add(name, gguf.F32, []int64{int64(len(values))}, patch.Bytes(raw), why)
}

// NeutralDivisors makes ones of the divisors that were to be removed, where the
// engine still takes the tensor: ggml's rope operator divides the angle of pair
// i by divisor i. Lists that only the type longrope lets in are not taken
// without it, and must go.
func NeutralDivisors(m *hparams.Model) {
	for _, t := range m.Removed {
		list := t.Name == operator.LongTensor || t.Name == operator.ShortTensor
		if t.Type != gguf.F32 || list && m.Arch.LongRoPE != "always" || !list && m.Arch.Freqs != "read" {
			continue
		}
		ones := encoded(slices.Repeat([]float64{1}, int(t.Size/4)), m.File.Parts[0].Order)
		m.Edit.Keep(t)
		m.Edit.Replace(t, patch.Bytes(ones), t.Name+" becomes ones, which divide nothing: in place a tensor cannot be removed")
	}
}

// encoded are numbers as F32 in a file's byte order.
func encoded(values []float64, order binary.ByteOrder) []byte {
	raw := make([]byte, 4*len(values))
	for i, v := range values {
		order.PutUint32(raw[4*i:], math.Float32bits(float32(v)))
	}
	return raw
}
