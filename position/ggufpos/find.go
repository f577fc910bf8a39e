package ggufpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/relative"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
	"github.com/modelpatch/modelpatch/position/ggufpos/tower"
	"github.com/modelpatch/modelpatch/report"
)

// find adds the sites of whatever kind of file this is.
func (m *model) find() {
	switch m.Kind {
	case report.KindProjector:
		if m.sites = tower.Find(m.Model); m.sites == nil {
			m.sites = m.allNamed() // a tower whose tensors keep other names
		}
		if m.sites == nil {
			m.sites = []position.Site{tower.Without(m.Model)}
		}
	case report.KindModel, report.KindVocabulary:
		m.findModel()
	case report.KindOther:
		m.findNamed()
	}
}

// findModel adds the sites of a text model, as its architecture has them.
func (m *model) findModel() {
	if m.Arch == nil {
		m.findUnknown()
		return
	}
	switch m.Arch.Scheme {
	case "rope":
		m.findRope()
	case "learned":
		if m.sites = table.Find(m.Model); m.sites == nil {
			m.sites = m.allNamed() // a file of a program that calls an architecture as llama.cpp does (bert.cpp)
		}
	case "alibi":
		m.findALiBi()
	case "t5-bias":
		m.sites = relative.FindT5(m.Model)
	case "none":
		m.sites = []position.Site{site.None(m.Model, "architecture "+m.Family()+" has no position encoding")}
	case "unimplemented":
		m.findUnknown()
	}
}

// findRope adds what a RoPE architecture has: a few families go without the
// rotation, depending on a key.
func (m *model) findRope() {
	switch without, ok := m.withoutRope(); {
	case ok:
		m.sites = []position.Site{without}
	default:
		m.sites = rotary.Find(m.Model)
	}
}

// withoutRope is what the families have that switch RoPE off.
func (m *model) withoutRope() (position.Site, bool) {
	if s, ok := m.baichuanWithoutRope(); ok {
		return s, true
	}
	return m.graniteWithoutRope()
}

// findALiBi adds the bias, and the table that MPT may have besides.
func (m *model) findALiBi() {
	if a := relative.FindALiBi(m.Model); a != nil {
		m.sites = append(m.sites, a)
	}
	if m.File.Tensor(table.TensorName) != nil && m.Family() == "mpt" {
		m.sites = append(m.sites, table.Find(m.Model)...)
	}
	if len(m.sites) == 0 {
		m.sites = []position.Site{site.None(m.Model, "llama.cpp's "+m.Family()+" has no bias without "+m.Key(arch.KeyMaxBias)+" > 0")}
	}
}
