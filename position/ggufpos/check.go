package ggufpos

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/relative"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/report"
)

// check adds what is wrong or surprising about the position keys.
func (m *model) check() {
	if m.Kind != report.KindModel && m.Kind != report.KindVocabulary {
		return
	}
	m.checkTypes()
	m.checkLength()
	m.checkHeads()
	if m.Arch == nil {
		return
	}
	m.checkIgnored()
	m.checkRequired()
	table.Check(m.Model, m.sites)
	if m.Arch.Scheme == "rope" {
		rotary.Check(m.Model, m.sites)
	}
}

// checkTypes finds values of types that engines refuse.
func (m *model) checkTypes() {
	for _, key := range arch.KeyTypes {
		suffix, want := key.Suffix, key.Type
		p := m.Pair(suffix)
		if p == nil || p.Type == want || p.Type == gguf.TypeArray && (suffix == arch.KeyDims) {
			continue
		}
		says := fmt.Sprintf("%s has a wrong type: %s, where engines want %s", m.Key(suffix), typeName(p), want)
		m.Fault("gguf-key-type", suffix, says, "engines refuse the file; any change by extend, rope or alibi stores a number in the right type")
	}
}

func typeName(p *gguf.Pair) string {
	if p.Type == gguf.TypeArray {
		return "array of " + p.Elem.String()
	}
	return p.Type.String()
}

// checkLength looks at context_length.
func (m *model) checkLength() {
	p := m.Pair(arch.KeyContext)
	n, ok := p.Uint()
	switch {
	case p == nil && m.Arch != nil:
		m.Fault("gguf-context-missing", arch.KeyContext, m.Key(arch.KeyContext)+" is missing; engines refuse the file", "", report.Do("extend", "states a length", "len", "N", "method", "none"))
	case p != nil && !ok:
		m.Fault("gguf-context-value", arch.KeyContext, m.Key(arch.KeyContext)+" is no number of positions", "convert the model again")
	case p != nil && (n == 0 || n > math.MaxInt32):
		m.Warn("gguf-context-value", arch.KeyContext, fmt.Sprintf("%s is %d", m.Key(arch.KeyContext), n), "", report.Do("extend", "states another length", "len", "N", "method", "none"))
	}
}

// checkHeads looks at the numbers of heads and layers.
func (m *model) checkHeads() {
	if m.Arch == nil || m.Arch.Scheme == "none" {
		return
	}
	width, _ := m.Count(arch.KeyEmbedding)
	p := m.Pair(arch.KeyHeads)
	n, list := m.PerLayer(arch.KeyHeads)
	switch {
	case p == nil:
		m.Fault("gguf-head-count", arch.KeyHeads, m.Key(arch.KeyHeads)+" is missing", "the size of a head cannot be known")
	case list == nil && (n <= 0 || n > hparams.MaxHeads):
		m.Fault("gguf-head-count", arch.KeyHeads, fmt.Sprintf("%s is %d", m.Key(arch.KeyHeads), n), "the size of a head cannot be known; edits are refused")
	case list == nil && m.Pair(arch.KeyKeyLength) == nil && width%n != 0:
		m.Warn("gguf-head-count", arch.KeyHeads, fmt.Sprintf("%s is %d, which does not divide %s = %d", m.Key(arch.KeyHeads), n, m.Key(arch.KeyEmbedding), width), "")
	}
	if n, ok := m.Pair(arch.KeyBlocks).Uint(); ok && n > hparams.MaxLayers {
		m.Fault("gguf-block-count", arch.KeyBlocks, fmt.Sprintf("%s is %d; engines take 512 layers", m.Key(arch.KeyBlocks), n), "")
	}
}

// checkIgnored finds position keys without effect in this architecture.
func (m *model) checkIgnored() {
	for _, suffix := range positionKeys {
		if m.Pair(suffix) == nil || m.Arch.Uses(suffix) || m.harmless(suffix) {
			continue
		}
		says := fmt.Sprintf("%s is not used by %s", m.Key(suffix), m.Family())
		if suffix == arch.KeyWindow {
			says += ": every layer attends to everything, unlike a source model with a window"
		}
		m.Warn("gguf-key-ignored", suffix, says, "it has no effect in llama.cpp")
	}
}

// positionKeys are those whose presence suggests an effect.
var positionKeys = []string{
	arch.KeyBase, arch.KeyBaseSWA, arch.KeyType, arch.KeyFactor, arch.KeyScaleLinear, arch.KeyOriginal, arch.KeyAttnFactor, arch.KeyAlpha,
	arch.KeyBetaFast, arch.KeyBetaSlow, arch.KeyExtFactor, arch.KeyYarnAttn, arch.KeyLogMul, arch.KeySections, arch.KeyMaxBias, arch.KeyWindow,
}

// harmless reports whether a key without effect says what holds anyway.
func (m *model) harmless(suffix string) bool {
	v, number := m.Real(suffix)
	switch suffix {
	case arch.KeyBetaFast:
		return number && v == 32
	case arch.KeyBetaSlow, arch.KeyExtFactor, arch.KeyYarnAttn, arch.KeyAttnFactor:
		return number && v == 1
	case arch.KeyFactor, arch.KeyScaleLinear:
		return number && (v == 1 || v == 0)
	case arch.KeyWindow, arch.KeyAlpha, arch.KeyLogMul:
		return number && v == 0
	case arch.KeyType:
		s, _ := m.Text(suffix)
		return s == arch.TypeNone
	case arch.KeyOriginal:
		return m.Arch.Scheme == "rope"
	case arch.KeyMaxBias:
		return m.Arch.Scheme == "alibi" && v == relative.HardCodedBias
	}
	return false
}

// checkRequired finds keys without which loading fails.
func (m *model) checkRequired() {
	for _, suffix := range m.Arch.Required {
		if m.Pair(suffix) == nil {
			m.Fault("gguf-key-missing", suffix, m.Key(suffix)+" is missing; llama.cpp's "+m.Family()+" refuses the file", "")
		}
	}
	if m.Arch.Scheme == "unimplemented" {
		m.Report("gguf-architecture-unknown", report.LevelError, "llama.cpp knows the architecture "+m.Family()+" by name and cannot run it", "", nil)
	}
}
