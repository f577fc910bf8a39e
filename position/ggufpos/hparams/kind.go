package hparams

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/report"
)

// decideKind tells models from the other files that are GGUF
// (facts/GGUF-FACTS §c, last table).
func (m *Model) decideKind() string {
	general, _ := m.File.String("general.type")
	switch {
	case general == "adapter" || m.hasTensor(".lora_a", ".lora_b"):
		return report.KindAdapter
	case general == "imatrix" || m.File.Find("imatrix.chunk_count") != nil:
		return report.KindImatrix
	case m.Name == "controlvector":
		return report.KindControlVector
	case general == "mmproj" || m.Name == "clip":
		return report.KindProjector
	case m.File.TensorCount() == 0 && m.Name != "":
		return report.KindVocabulary
	case m.Arch == nil && m.Pair(arch.KeyContext) == nil && !m.HasKeys("rope.", "attention.") && m.File.Tensor("token_embd.weight") == nil:
		return report.KindOther
	}
	return report.KindModel
}

// hasTensor reports whether a tensor's name ends in one of the words.
func (m *Model) hasTensor(endings ...string) bool {
	for _, p := range m.File.Parts {
		for i := range p.Tensors {
			if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(p.Tensors[i].Name, e) }) {
				return true
			}
		}
	}
	return false
}

// HasKeys reports whether a key of this architecture starts with a word.
func (m *Model) HasKeys(words ...string) bool {
	for i := range m.File.Parts[0].Pairs {
		suffix, ok := m.SuffixOf(m.File.Parts[0].Pairs[i].Key)
		if ok && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(suffix, w) }) {
			return true
		}
	}
	return false
}
