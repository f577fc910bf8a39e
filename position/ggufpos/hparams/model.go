// Package hparams reads a GGUF file as llama.cpp reads its hyperparameters: what
// kind of file it is, its keys without the prefix of the architecture, the
// numbers of heads and layers, and which layers turn, slide or attend at all.
//
// It says what is wrong with the container, and holds what else is told of the
// file and changed in it. Encodings are found by the packages above.
package hparams

import (
	"cmp"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/report"
)

// Model is a GGUF file as llama.cpp reads its hyperparameters: keys under the
// prefix of the architecture, and tensors by their names.
type Model struct {
	File      *gguf.File
	Edit      *gguf.Editor         // where changes are recorded
	Name      string               // general.architecture
	Arch      *arch.Entry          // nil: not known
	Kind      string               // of file: report.KindModel, …
	Reported  []report.Finding     // what the file's owner should know, in the order found
	Assumed   string               // the architecture that Arch was taken from, where it is not the file's own; "": it is
	Removed   []*gguf.Tensor       // factor tensors that Edit is to remove
	arrays    map[string][]float64 // numeric arrays by key
	headCount *int                 // see Heads; nil: not yet counted
}

// New reads what a file is, and passes on what is unusual about its container.
// The model owns the file from now on.
func New(file *gguf.File) *Model {
	m := &Model{File: file, Edit: file.Edit()}
	m.Name, _ = file.String("general.architecture")
	m.Name = m.Name[:min(len(m.Name), gguf.MaxNameBytes)] // no key begins with more
	m.Arch = arch.Of(m.Name)
	m.Kind = m.decideKind()
	m.oddities()
	return m
}

// Family is the architecture as whose code an engine is taken to compute: the file's own, or the one
// that was assumed for it.
func (m *Model) Family() string { return cmp.Or(m.Assumed, m.Name) }

// HasModelKeys reports whether the file's own keys are a model's: those of a
// model, a vocabulary, or a file of no known kind.
func (m *Model) HasModelKeys() bool {
	return m.Kind == report.KindModel || m.Kind == report.KindVocabulary || m.Kind == report.KindOther
}

// CheckEditable refuses files that engines refuse whatever is edited: the result
// could not be used (facts/BAD-INPUTS H04). The error is a *position.Refusal.
func (m *Model) CheckEditable() error {
	for _, o := range m.File.Oddities() {
		if o.Refused {
			return &position.Refusal{Why: "llama.cpp cannot load this file as it is: " + o.Says, Instead: "write it again with its converter, then edit it"}
		}
	}
	return nil
}
