package ggufpos

import (
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/relative"
	"github.com/modelpatch/modelpatch/position/ggufpos/rotary"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
)

// The optional interfaces that verbs, the verifier and the writers ask for by
// type assertion: a method that is renamed must not make one of them fall silent.
var (
	_ position.Model        = (*model)(nil)
	_ position.Parted       = (*model)(nil)
	_ position.OutputNamer  = (*model)(nil)
	_ position.Placer       = (*model)(nil)
	_ position.EditedOpener = (*model)(nil)
	_ position.DataSpanner  = (*model)(nil)
	_ position.Reserver     = (*model)(nil)
	_ position.KeySetter    = (*model)(nil)
	_ position.Foreseer     = (*model)(nil)
	_ position.Assumer      = (*model)(nil)
	_ position.Mender       = (*model)(nil)
	_ position.ReadFailer   = (*model)(nil)

	_ position.Gridder  = (*projector)(nil)
	_ position.Pictured = (*projector)(nil)
	_ position.Sized    = (*projector)(nil)

	_ position.Rows        = (*table.Table)(nil)
	_ position.Neutralizer = (*table.Table)(nil)

	_ position.AttentionScaler = (*rotary.Rope)(nil)
	_ position.Rotator         = (*rotary.Rope)(nil)
	_ position.Substituter     = (*rotary.Rope)(nil)
	_ position.Windower        = (*rotary.Rope)(nil)
	_ position.Switcher        = (*rotary.Rope)(nil)
	_ position.Deviator        = (*rotary.Rope)(nil)
	_ position.DivisorBaker    = (*rotary.Rope)(nil)
	_ position.Misstater       = (*rotary.Rope)(nil)

	_ position.Biaser      = (*relative.ALiBi)(nil)
	_ position.Neutralizer = (*relative.ALiBi)(nil)

	_ position.Biaser = (*relative.T5)(nil)

	_ position.Site = (*site.Plain)(nil)
)
