package ggufpos

import (
	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// plain is an encoding that is told and cannot be changed.
type plain struct{ encoding position.Encoding }

// Encoding says what was found.
func (p *plain) Encoding() position.Encoding { return p.encoding }

// Hold refuses any change.
func (p *plain) Hold(want position.Want) error {
	if want.Scheme != nil && want.Scheme.Equal(p.encoding.Scheme) {
		return nil
	}
	return &position.Refusal{Why: "the file holds nothing by which this encoding could be changed"}
}

// addNone says that a model has no positions.
func (m *model) addNone(says string) {
	m.sites = append(m.sites, &plain{position.Encoding{
		Scheme: schemes.Other{Kind: report.SchemeNone, Order: m.order()}, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: says}},
	}})
}

// order is what tells positions apart in a model without an encoding: recurrent
// layers (those of Mamba and RWKV), or the causal mask alone.
func (m *model) order() string {
	switch {
	case m.arch.Order != "":
		return m.arch.Order
	case m.arch.Hybrid, m.arch.Scheme == "none":
		return schemes.OrderOperators
	case m.causal():
		return schemes.OrderMask
	}
	return schemes.OrderEquivariant
}

// whereTensor is the place of a tensor's data.
func (m *model) whereTensor(t *gguf.Tensor) report.Where {
	r := m.file.Range(t)
	w := report.Where{Tensor: report.Name(t.Name), Range: &r}
	if t.Part > 0 {
		w.File = report.Name(m.file.Parts[t.Part].Path)
	}
	return w
}

// addFinding adds a finding.
func (m *model) addFinding(rule, level, message, hint string, where *report.Where, remedies ...report.Remedy) {
	m.findings = append(m.findings, report.Finding{Rule: rule, Level: level, Message: report.Name(message), Hint: report.Name(hint), Where: where, Remedies: remedies})
}
