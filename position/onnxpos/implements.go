package onnxpos

import (
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/bydistance"
	"github.com/modelpatch/modelpatch/position/onnxpos/length"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/scored"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
)

// The optional interfaces that verbs, the verifier and the writers ask for by
// type assertion: a method that is renamed must not make one of them fall silent.
var (
	_ position.Model       = (*Model)(nil)
	_ position.Parted      = (*Model)(nil)
	_ position.Gridder     = (*Model)(nil)
	_ position.FrameTable  = (*tableSite)(nil)
	_ position.Cropper     = (*tableSite)(nil)
	_ length.Cutter        = (*tableSite)(nil)
	_ length.Follower      = (*tableSite)(nil)
	_ position.Sized       = (*Model)(nil)
	_ position.Fixer       = (*Model)(nil)
	_ position.DataNamer   = (*Model)(nil)
	_ position.DataSpanner = (*Model)(nil)
	_ position.InputSizer  = (*Model)(nil)
	_ position.Ender       = (*Model)(nil)
	_ position.ReadFailer  = (*Model)(nil)

	_ position.Rows        = (*tableSite)(nil)
	_ position.Neutralizer = (*tableSite)(nil)
	_ position.Resampler   = (*tableSite)(nil)

	_ position.Partial   = (*Model)(nil)
	_ position.Abandoned = (*eval.Spent)(nil)

	_ position.Baker   = (*tableSite)(nil)
	_ position.Baker   = (*rotary.Site)(nil)
	_ position.Unbaker = (*tableSite)(nil)
	_ position.Unbaker = (*rotary.Site)(nil)

	_ position.TypedBaker   = (*rotary.Site)(nil)
	_ position.Splitter     = (*rotary.Site)(nil)
	_ position.Confirmer    = (*rotary.Site)(nil)
	_ position.Operators    = (*rotary.Site)(nil)
	_ position.PlaceRotator = (*rotary.Site)(nil)
	_ position.Rotator      = (*rotary.Site)(nil)
	_ position.Neutralizer  = (*rotary.Site)(nil)

	_ position.Neutralizer   = (*relative.ALiBi)(nil)
	_ position.Neutralizer   = (*relative.Buckets)(nil)
	_ position.Baker         = (*relative.Buckets)(nil)
	_ position.Rebucketer    = (*relative.Buckets)(nil)
	_ position.RowsOfBuckets = (*relative.Buckets)(nil)

	_ position.WindowResizer   = (*relative.Window)(nil)
	_ position.DistanceResizer = (*bydistance.Distances)(nil)
	_ position.DistanceResizer = (*scored.Disentangled)(nil)
	_ position.SideResizer     = (*relative.Sides)(nil)
	_ length.Overrider         = (*relative.Window)(nil)
	_ length.Overrider         = (*rotary.Site)(nil)

	_ position.Biaser = (*relative.ALiBi)(nil)
	_ position.Biaser = (*relative.Buckets)(nil)

	_ position.Site     = (*relative.Folded)(nil)
	_ position.Site     = (*site.Other)(nil)
	_ position.ReadOnly = (*site.Other)(nil)
)
