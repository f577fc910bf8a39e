// Package operator is ggml's rope operator as llama.cpp calls it: its state, read
// from keys and factor tensors, the angles that it computes, and the scheme that
// both come to (facts/GGUF-FACTS §b).
package operator

import (
	"math"

	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
)

// Rope is the state of ggml's rope operator for one kind of layer.
type Rope struct {
	Base      float64
	Dims      int     // n_rot: elements of a head that turn
	HeadDim   int     // elements of a head; 0: not known
	Pairing   string  // norm, neox, mrope or imrope; "": not known
	Sections  []int   // of M-RoPE, in pairs; nil: none
	Factor    float64 // s: positions are divided by it; 1: nothing
	Yarn      bool
	ramped    float64 // how much of YaRN's ramp counts, where Yarn is set
	Original  int     // positions that the model was trained with
	betaFast  float64
	betaSlow  float64
	amplitude float64 // M: what cos and sin are multiplied by
	// FactorWidth is how many numbers engines want in each factor tensor.
	FactorWidth int
	Freqs       []float64         // divisors of rope_freqs.weight
	Short       []float64         // divisors of rope_factors_short.weight
	Long        []float64         // divisors of rope_factors_long.weight
	Tensors     []string          // names of factor tensors that are read
	Alpha       float64           // hunyuan's NTK factor
	Evidence    []report.Evidence // of what the divisors stand for
}

// New reads what the engine would compute with, in sliding layers or the others.
func New(m *hparams.Model, sliding bool) Rope {
	e := Rope{Base: m.RealOr(arch.KeyBase, 10000), Factor: 1, amplitude: 1, betaFast: 32, betaSlow: 1}
	e.Pairing = m.Arch.Pairing
	e.dimensions(m, sliding)
	e.FactorWidth = factorWidth(m, e.Dims)
	e.readSections(m)
	if m.Ignores(arch.KeyBase) {
		e.Base = 10000
	}
	if w := m.Arch.Window; sliding && w != nil {
		switch w.Base {
		case "own":
			e.Base = m.RealOr(arch.KeyBaseSWA, 10000)
		case "inherit":
			e.Base = m.RealOr(arch.KeyBaseSWA, e.Base)
		}
	}
	if m.Arch.Uses(arch.KeyAlpha) {
		if alpha, ok := m.Real(arch.KeyAlpha); ok && alpha > 0 {
			e.Alpha = alpha
		}
	}
	switch w := m.Arch.Window; {
	case !sliding || !w.Unscaled():
		e.scaling(m, sliding)
	case w.Scale == "one" && !m.Ignores(arch.KeyAttnFactor):
		// Measured with gemma3: YaRN's own amplitude does not reach these
		// layers, the key does.
		e.amplitude = m.RealOr(arch.KeyAttnFactor, 1)
	}
	return e
}

// NewUnscaled is a rotation by freq_base of layers that slide, on which no key of scaling acts.
func NewUnscaled(m *hparams.Model) Rope {
	e := Rope{Base: m.RealOr(arch.KeyBase, 10000), Factor: 1, amplitude: 1, Pairing: m.Arch.Pairing}
	e.dimensions(m, true)
	return e
}

// dimensions finds how many elements of a head turn.
func (e *Rope) dimensions(m *hparams.Model, sliding bool) {
	e.HeadDim = m.HeadDim(sliding)
	e.Dims = e.HeadDim
	if n, ok := m.Pair(arch.KeyDims).Uint(); ok && !m.Ignores(arch.KeyDims) {
		e.Dims = int(min(n, 2*hparams.MaxDims+2))
	}
	if n, ok := m.Pair(arch.KeyDimsSWA).Uint(); ok && sliding {
		e.Dims = int(min(n, 2*hparams.MaxDims+2))
	}
	if m.Family() == "step35" && !sliding {
		e.Dims /= 2 // hard-coded: full layers turn half (facts/GGUF-FACTS trap 17)
	}
	if e.Dims > hparams.MaxDims {
		e.Dims = 0 // check tells; nothing is allocated by such a claim
	}
}

// readSections reads M-RoPE's sections, and the pairing that they switch on.
func (e *Rope) readSections(m *hparams.Model) {
	values := m.Numbers(arch.KeySections)
	if len(values) != 4 || m.Arch.Sections == "" {
		return
	}
	if m.Arch.Sections == "optional" && (values[0] <= 0 || values[1] <= 0) {
		return
	}
	for _, v := range values {
		e.Sections = append(e.Sections, int(math.Max(0, math.Min(v, 1<<20))))
	}
	if m.Arch.Sections == "optional" {
		e.Pairing = "mrope"
	}
	if e.rests() {
		e.say("structure", "pairs of interleaved sections that none of the three takes have the fourth position, which is 0 in a text: they do not turn (ggml_mrope_cache_init)")
	}
}

// rests reports whether interleaved sections leave pairs to the fourth position.
func (e *Rope) rests() bool {
	for i := range e.Dims / 2 {
		if e.Pairing == "imrope" && !e.turns(i) {
			return true
		}
	}
	return false
}
