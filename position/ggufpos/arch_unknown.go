package ggufpos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// findUnknown tells what keys and tensors suggest in an architecture that is
// not in the table. How pairs are laid out cannot be known.
func (m *model) findUnknown() {
	name := report.Printable(m.Name)
	if name == "" {
		name = "(none)"
	}
	m.Report("gguf-architecture-unknown", report.LevelWarning, "unknown architecture "+name+": its "+m.Key("rope.*")+" keys are read as llama.cpp reads those of every architecture; which of them its graph uses, and which elements it pairs, is not known, and engines may refuse the file",
		m.meant(), &report.Where{Key: "general.architecture"}, site.AssumeLike)
	m.Arch = &arch.Entry{Name: m.Name, Scheme: "rope", Dims: "any"}
	switch {
	case m.HasKeys("rope."):
		m.sites = append(m.sites, rotary.Suggest(m.Model))
	case m.File.Tensor(table.TensorName) != nil:
		m.Arch.Scheme = "learned"
		m.sites = table.Find(m.Model)
	case m.Pair(arch.KeyMaxBias) != nil:
		m.Arch.Scheme, m.Arch.Reads = "alibi", []string{arch.KeyMaxBias}
		m.findALiBi()
	default:
		m.sites = append(m.sites, site.NewPlain(position.Encoding{
			Scheme: schemes.Other{Kind: report.SchemeUnknown}, Beyond: report.BeyondUnknown,
			Evidence: []report.Evidence{{Kind: "key", Says: "no key or tensor of positions was recognised"}},
		}))
	}
	m.Arch = nil
}

// meant is a hint at the architecture whose name differs in case alone, ""
// when there is none.
func (m *model) meant() string {
	if known := arch.Of(strings.ToLower(m.Name)); known != nil && known.Name != m.Name {
		return "did you mean " + known.Name + "? Engines compare letter by letter"
	}
	return ""
}

// Assume takes the file for one of another architecture, where its own is not known: what that reads
// is looked for under the keys of this one.
func (m *model) Assume(like string) error {
	known := arch.Of(like)
	switch {
	case !slices.Contains(arch.Names(), like):
		return &position.UsageError{What: fmt.Sprintf("--assume %s: no architecture of text models is called that", report.Printable(like)), Hint: spelling.Hint(like, arch.Names(), "it is a general.architecture of llama.cpp, such as llama or qwen3")}
	case m.Arch != nil || !m.HasModelKeys() || m.Kind == report.KindOther:
		return nil
	}
	m.Model = hparams.New(m.File)
	m.Arch, m.Assumed, m.sites, m.looked = known, like, nil, false
	m.Report("gguf-architecture-unknown", report.LevelWarning, fmt.Sprintf("unknown architecture %s: taken for %s, as was asked; an engine that knows it may compute otherwise", report.Printable(m.Name), like), "", &report.Where{Key: "general.architecture"})
	m.find()
	m.check()
	return nil
}

// Assumption is the architecture that the file was taken for; "": its own.
func (m *model) Assumption() string { return m.Assumed }
