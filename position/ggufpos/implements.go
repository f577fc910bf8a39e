package ggufpos

import "github.com/modelpatch/modelpatch/position"

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

	_ position.Rows        = (*table)(nil)
	_ position.Neutralizer = (*table)(nil)

	_ position.Rotator  = (*rope)(nil)
	_ position.Holder   = (*rope)(nil)
	_ position.Windower = (*rope)(nil)
	_ position.Switcher = (*rope)(nil)

	_ position.Biaser      = (*alibi)(nil)
	_ position.Neutralizer = (*alibi)(nil)

	_ position.Biaser = (*t5)(nil)

	_ position.Site       = (*plain)(nil)
	_ position.RowSource  = waveRows{}
	_ position.Projection = (*projection)(nil)
)
