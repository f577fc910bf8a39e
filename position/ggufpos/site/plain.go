// Package site holds what attentions ask of the encodings of a GGUF file, and the
// one of which nothing is asked: it is told, and cannot be changed.
package site

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Acting is a site that acts inside attentions.
type Acting interface {
	// ActsIn reports whether it acts in the attention of a layer; stack is "enc"
	// or "dec" in an encoder-decoder, "" elsewhere.
	ActsIn(stack string, layer int) bool
}

// Plain is an encoding that is told and cannot be changed.
type Plain struct {
	encoding position.Encoding
	remedies []report.Remedy // what would let it be changed
}

// NewPlain is a site of an encoding that is only told, and what would let it be changed.
func NewPlain(e position.Encoding, remedies ...report.Remedy) *Plain { return &Plain{e, remedies} }

// AssumeLike is the remedy for an architecture that is not in the table.
var AssumeLike = report.Do("", "takes the file for one of an architecture that is known", "assume", "LIKE")

// Encoding says what was found.
func (p *Plain) Encoding() position.Encoding { return p.encoding }

// Store refuses any change.
func (p *Plain) Store(want position.Want) error {
	if want.Scheme != nil && want.Scheme.Equal(p.encoding.Scheme) {
		return nil
	}
	return &position.Refusal{Why: "the file holds nothing by which this encoding could be changed", Remedies: p.remedies}
}

// None says that a model has no encoding of positions, for a reason given as a
// sentence, and what else tells its positions apart.
func None(m *hparams.Model, says string) *Plain {
	return NewPlain(position.Encoding{
		Scheme: schemes.Other{Kind: report.SchemeNone, Order: order(m)}, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "architecture", Says: says}},
	})
}

// order is what tells positions apart in a model without an encoding: recurrent
// layers (those of Mamba and RWKV), or the causal mask alone.
func order(m *hparams.Model) string {
	switch {
	case m.Arch.Order != "":
		return m.Arch.Order
	case m.Arch.Hybrid, m.Arch.Scheme == "none":
		return schemes.OrderOperators
	case m.Causal():
		return schemes.OrderMask
	}
	return schemes.OrderEquivariant
}
