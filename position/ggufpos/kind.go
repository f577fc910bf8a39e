package ggufpos

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// decideKind tells models from the other files that are GGUF
// (facts/GGUF-FACTS §c, last table).
func (m *model) decideKind() string {
	general, _ := m.file.String("general.type")
	switch {
	case general == "adapter" || m.hasTensor(".lora_a", ".lora_b"):
		return report.KindAdapter
	case general == "imatrix" || m.file.Find("imatrix.chunk_count") != nil:
		return report.KindImatrix
	case m.name == "controlvector":
		return report.KindControlVector
	case general == "mmproj" || m.name == "clip":
		return report.KindProjector
	case m.file.TensorCount() == 0 && m.name != "":
		return report.KindVocabulary
	case m.arch == nil && m.pair(keyContext) == nil && !m.hasKeys("rope.", "attention.") && m.file.Tensor("token_embd.weight") == nil:
		return report.KindOther
	}
	return report.KindModel
}

// hasTensor reports whether a tensor's name ends in one of the words.
func (m *model) hasTensor(endings ...string) bool {
	for _, p := range m.file.Parts {
		for i := range p.Tensors {
			if slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(p.Tensors[i].Name, e) }) {
				return true
			}
		}
	}
	return false
}

// hasKeys reports whether a key of this architecture starts with a word.
func (m *model) hasKeys(words ...string) bool {
	for i := range m.file.Parts[0].Pairs {
		suffix, ok := m.suffixOf(m.file.Parts[0].Pairs[i].Key)
		if ok && slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(suffix, w) }) {
			return true
		}
	}
	return false
}
