package hparams

import (
	"slices"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/schemes"
)

// symmetric are the architectures whose window lies on both sides of a query.
var symmetric = []string{"modern-bert", "gemma-embedding"}

// Symmetric reports whether windows lie half before and half behind a query.
func (m *Model) Symmetric() bool { return slices.Contains(symmetric, m.Family()) }

// Temperature reads by what queries grow with their position, in layers that turn or do not.
func (m *Model) Temperature(turned bool) schemes.Temperature {
	switch m.Family() {
	case "llama4": // layers without rotation (facts/gguf-archs.json)
		if !turned {
			return schemes.Temperature{Scale: 0.1, Length: 8192, Offset: 1}
		}
	case "deepseek2", "mistral4":
		return schemes.Temperature{Scale: m.RealOr(arch.KeyTempScale, 0), Length: m.RealOr(arch.KeyTempLength, 0)}
	case "mistral3":
		return schemes.Temperature{Scale: m.RealOr(arch.KeyTempScale, 0), Length: m.RealOr(arch.KeyOriginal, m.RealOr(arch.KeyContext, 0))}
	}
	return schemes.Temperature{}
}

// Attending is what the layers that turn, all or those with a window, make of positions beside their
// rotation. Layers that turn nothing are told with the first rotation.
func (m *Model) Attending(kinds []int, window int, sliding, first bool) (a schemes.Attending) {
	slides := LayersOf(kinds, SlidingRope)
	if all := len(kinds) > 0 && slides == nil; window > 0 && (all || len(slides) > 0) && (sliding || slices.Contains(kinds, SlidingRope)) {
		if a.Window.Positions = window; m.Symmetric() {
			a.Window.Positions = window / 2
		}
		if !sliding {
			a.WindowLayers = slides
		}
		if chunk := m.Arch.Window.Chunk; chunk > 0 {
			a.Window = schemes.SlidingWindow{Chunk: chunk}
		}
	}
	if !first {
		return a
	}
	attends := m.AttentionLayers(len(kinds))
	for i, kind := range kinds {
		if kind == noRope && attends[i] {
			a.Unturned = append(a.Unturned, i)
		}
	}
	if a.Temperature = m.Temperature(true); a.Temperature.IsNone() && a.Unturned != nil {
		a.Temperature, a.HotLayers = m.Temperature(false), a.Unturned
	}
	if a.Temperature.IsNone() {
		a.Temperature, a.HotLayers = schemes.Temperature{}, nil
	}
	a.Sinks = m.Tensor("blk.%d.attn_sinks.weight", 0) != nil
	return a
}

// Extrapolation is how much of YaRN's ramp the engine computes with: where the architecture reads it the key says so, whatever the
// type, else all of it under type yarn and nothing of it under others (llama_context::llama_context, "negative indicates 'not set'").
func (m *Model) Extrapolation() float64 {
	if v, ok := m.Real(arch.KeyExtFactor); ok && m.Arch.Uses(arch.KeyExtFactor) && v >= 0 {
		return v
	}
	if kind, _ := m.Text(arch.KeyType); kind == arch.TypeYaRN && !m.Ignores(arch.KeyType) {
		return 1
	}
	return 0
}

// YaRNAmplitude is by what YaRN of a factor multiplies cos and sin in an architecture, without rope.scaling.attn_factor
// (llama_context::llama_context, dsv4_rope_attn_factor of deepseek4.cpp).
func (m *Model) YaRNAmplitude(factor float64) float64 {
	log := 0.0
	if m.Arch.Uses(arch.KeyLogMul) {
		log = m.RealOr(arch.KeyLogMul, 0)
	}
	switch family := m.Family(); {
	case family == "deepseek4", family == "deepseek2" && log != 0:
		return 1
	case family != "mistral3":
		log /= 0.1 // as the converter stores it
	}
	if log == 0 {
		return schemes.YaRNAmplitude(factor, 1)
	}
	return schemes.YaRNAmplitude(factor, 1) / schemes.YaRNAmplitude(factor, log)
}
