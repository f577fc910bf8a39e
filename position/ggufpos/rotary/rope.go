// Package rotary finds the rotations of queries and keys in GGUF files, and stores
// others: as keys where llama.cpp has them, as divisors in a factor tensor where
// it has not.
package rotary

import (
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/deviation"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/operator"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Rope is one rotation: that of all layers, or of the full or the sliding ones.
type Rope struct {
	m        *hparams.Model
	engine   operator.Rope
	scheme   schemes.Rotary
	layers   []int // ascending; nil: all
	sliding  bool  // the sliding layers' own rotation
	twin     bool  // of two rotations, that of full and that of sliding layers
	merged   bool  // full and sliding layers turn alike, and both exist
	window   int   // of layers that all see through one; 0: they do not
	beside   schemes.Attending
	rescaled bool            // Store changed the scaling
	rebased  bool            // Store changed the base
	stored   *schemes.Rotary // by Store; nil: nothing

	keys     []string // the file's keys that have a part in what the engine computes
	baseKey  string   // deepseek4: the key of its base, when it is not freq_base
	unscaled bool     // deepseek4: scaling keys do not act here
}

// Find are the rotations of a RoPE architecture: one, or two where full
// and sliding layers turn differently.
func Find(m *hparams.Model) []position.Site {
	if m.Family() == "deepseek4" {
		return findDeepSeek4(m)
	}
	kinds, window := m.Layers()
	alone, other := m.Attending(kinds, window, false, true), m.Attending(kinds, window, true, false)
	full, sliding := slices.Contains(kinds, hparams.FullRope), slices.Contains(kinds, hparams.SlidingRope)
	switch {
	case kinds != nil && !full && !sliding:
		return []position.Site{site.None(m, "no layer has RoPE")}
	case !sliding:
		return []position.Site{newRope(&Rope{m: m, layers: hparams.LayersOf(kinds, hparams.FullRope), beside: alone}, operator.New(m, false))}
	case !full:
		return []position.Site{newRope(&Rope{m: m, layers: hparams.LayersOf(kinds, hparams.SlidingRope), sliding: true, window: window, beside: alone}, operator.New(m, true))}
	}
	a, b := operator.New(m, false), operator.New(m, true)
	if a.Scheme().Equal(b.Scheme()) {
		return []position.Site{newRope(&Rope{m: m, layers: hparams.LayersOf(kinds, hparams.FullRope, hparams.SlidingRope), merged: true, beside: alone}, operator.New(m, false))}
	}
	alone.Window, alone.WindowLayers = schemes.SlidingWindow{}, nil // told with the other rotation
	return []position.Site{
		newRope(&Rope{m: m, layers: hparams.LayersOf(kinds, hparams.FullRope), twin: true, beside: alone}, operator.New(m, false)),
		newRope(&Rope{m: m, layers: hparams.LayersOf(kinds, hparams.SlidingRope), twin: true, sliding: true, window: window, beside: other}, operator.New(m, true)),
	}
}

// newRope completes a rotation with what the engine computes.
func newRope(r *Rope, e operator.Rope) *Rope {
	r.engine = e
	if slices.Equal(r.beside.WindowLayers, r.layers) {
		r.beside.WindowLayers = nil
	}
	r.scheme, r.keys = r.engine.Scheme(), r.keysInUse()
	return r
}

// Suggest is a rotation that only keys speak for. It cannot be edited:
// nobody knows which keys an engine would read.
func Suggest(m *hparams.Model) position.Site {
	e := newRope(&Rope{m: m}, operator.New(m, false)).Encoding()
	e.Beyond = report.BeyondUnknown
	e.Evidence = []report.Evidence{{Kind: "key", Says: "keys of RoPE are there; the architecture is not known, nor is the layout of pairs"}}
	return site.NewPlain(e, site.AssumeLike)
}

// Encoding says what the engine computes.
func (r *Rope) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: r.scheme, Form: report.FormKeys, Beyond: report.BeyondContinues, Layers: r.layers, Defaults: r.defaults(), Attending: r.beside,
		Evidence: append([]report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + r.m.Family() + " turns queries and keys, " + r.engine.Pairing + " pairing"}}, r.engine.Evidence...),
	}
	for _, k := range r.keys {
		p := r.m.Pair(k)
		e.Where = append(e.Where, report.Where{Key: report.Name(p.Key), Range: &[2]int64{p.ValueAt, p.End}})
	}
	for _, name := range r.engine.Tensors {
		if !r.engine.Idle(name) {
			e.Where = append(e.Where, r.m.WhereTensor(r.m.File.Tensor(name)))
		}
	}
	return e
}

// Window is how far the layers of this rotation look back.
// A rotation that only acts inside a window needs no change for more length.
func (r *Rope) Window() (w schemes.SlidingWindow) {
	w.Positions = r.window
	return w
}

// ScalesAttention reports whether the engine has YaRN's amplitude in the scale of the
// scores.
func (r *Rope) ScalesAttention() bool { return arch.ScalesAttention(r.m.Family()) }

// Deviations are what llama.cpp's code of the architecture computes otherwise than configurations say.
func (r *Rope) Deviations() (out []string) {
	if stored, ok := r.Stored().(schemes.Rotary); ok && stored.Scaling.Kind().Reads(schemes.ParameterBetaFast.Name) && !r.m.Arch.Uses(arch.KeyBetaFast) {
		out = append(out, deviation.Betas)
	}
	if arch.ScalesAttention(r.m.Family()) && r.scaledHere() {
		out = append(out, deviation.Scores)
	}
	if w := r.m.Arch.Window; r.sliding && w != nil && w.Base == "own" && w.Unscaled() {
		out = append(out, deviation.SlidingBase)
	}
	return out
}

// scaledHere reports whether the rotation is scaled, or was given a scaling.
func (r *Rope) scaledHere() bool {
	stored, ok := r.Stored().(schemes.Rotary)
	return ok && !stored.Scaling.IsNone()
}

// Rotation computes cosines and sines as the engine does, in float64. Text
// tokens have the same position in every section of M-RoPE but the last.
func (r *Rope) Rotation(pos, length int, cos, sin []float64) error {
	r.engine.Rotate(pos, length, cos, sin)
	return nil
}

// Switches reports whether another context makes the engine take LongRoPE's
// long factors in place of the short ones, or back: it decides by the context, not by
// the position (llama.cpp's get_rope_factors).
func (r *Rope) Switches(old, new int) bool {
	original := r.engine.Original
	return !r.rescaled && r.scheme.Scaling.ByLength() && (old <= original) != (new <= original)
}

// ActsIn reports whether the layer of an attention turns by this rotation.
func (r *Rope) ActsIn(_ string, layer int) bool {
	_, acts := slices.BinarySearch(r.layers, layer)
	return acts || r.layers == nil
}

// Lengthen prepares the rotation for another stated length. Where the original
// length of its scaling is taken from the stated one, that is written down
// first. It refuses values that no edit should build on.
func (r *Rope) Lengthen() error {
	if err := r.usable(!r.rebased, !r.rescaled); err != nil {
		return err
	}
	r.pinOriginal()
	return nil
}

// pinOriginal writes down the original length that a scaling has taken from
// context_length until now.
func (r *Rope) pinOriginal() {
	old, ok := r.m.Count(arch.KeyContext)
	hot := r.m.Family() == "mistral3" && !r.m.Temperature(true).IsNone() // it counts from the original length on
	if n, there := r.m.Count(arch.KeyOriginal); r.rescaled && !hot || r.m.Edit.Edited(r.m.Key(arch.KeyOriginal)) || !ok || there && n != 0 || !r.measured() && !hot {
		return
	}
	r.m.Edit.Set(r.m.Key(arch.KeyOriginal), u32(old), "original length, until now that of context_length")
}
