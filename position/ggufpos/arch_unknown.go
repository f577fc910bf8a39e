package ggufpos

import (
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// findUnknown tells what keys and tensors suggest in an architecture that is
// not in the table. How pairs are laid out cannot be known.
func (m *model) findUnknown() {
	name := report.Printable(m.name)
	if name == "" {
		name = "(none)"
	}
	m.addFinding("gguf-architecture-unknown", report.LevelWarning, "unknown architecture "+name+": positions are read from keys and tensors alone, and engines may refuse the file", m.meant(), &report.Where{Key: "general.architecture"})
	m.arch = &Arch{Name: m.name, Scheme: "rope", Dims: "any"}
	switch {
	case m.hasKeys("rope."):
		m.suggest(&rope{m: m})
	case m.file.Tensor(nameTable) != nil:
		m.arch.Scheme = "learned"
		m.findTable()
	case m.pair(keyMaxBias) != nil:
		m.arch.Scheme, m.arch.Reads = "alibi", []string{keyMaxBias}
		m.findALiBi()
	default:
		m.sites = append(m.sites, &plain{position.Encoding{
			Scheme: schemes.Other{Kind: report.SchemeUnknown}, Beyond: report.BeyondUnknown,
			Evidence: []report.Evidence{{Kind: "key", Says: "no key or tensor of positions was recognised"}},
		}})
	}
	m.arch = nil
}

// meant is a hint at the architecture whose name differs in case alone, ""
// when there is none.
func (m *model) meant() string {
	if known := archOf(strings.ToLower(m.name)); known != nil && known.Name != m.name {
		return "did you mean " + known.Name + "? Engines compare letter by letter"
	}
	return ""
}

// suggest adds a rotation that only keys speak for. It cannot be edited:
// nobody knows which keys an engine would read.
func (m *model) suggest(r *rope) {
	r.engine = m.newEngine(false)
	r.scheme, r.keys = r.engine.rotary(m), r.keysInUse()
	e := r.Encoding()
	e.Beyond = report.BeyondUnknown
	e.Evidence = []report.Evidence{{Kind: "key", Says: "keys of RoPE are there; the architecture is not known, nor is the layout of pairs"}}
	m.sites = append(m.sites, &plain{e})
}
