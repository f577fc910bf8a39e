package ggufpos

import (
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
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
	m.Tell("gguf-architecture-unknown", report.LevelWarning, "unknown architecture "+name+": positions are read from keys and tensors alone, and engines may refuse the file", m.meant(), &report.Where{Key: "general.architecture"})
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
