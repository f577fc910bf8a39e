package ggufpos

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// rope is one rotation: that of all layers, or of the full or the sliding ones.
type rope struct {
	m       *model
	engine  engine
	scheme  schemes.Rotary
	layers  []int           // ascending; nil: all
	sliding bool            // the sliding layers' own rotation
	merged  bool            // full and sliding layers turn alike, and both exist
	window  int             // of sliding layers
	held    bool            // Hold changed the scaling
	rebased bool            // Hold changed the base
	holds   *schemes.Rotary // what Hold stored

	keys     []string // the file's keys that have a part in what the engine computes
	baseKey  string   // deepseek4: the key of its base, when it is not freq_base
	unscaled bool     // deepseek4: scaling keys do not act here
}

// findRope adds the rotations of a RoPE architecture: one, or two where full
// and sliding layers turn differently.
func (m *model) findRope() {
	if m.baichuanWithoutRope() || m.graniteWithoutRope() || m.findDeepSeek4() {
		return
	}
	kinds, window := m.layers()
	full, sliding := slices.Contains(kinds, fullRope), slices.Contains(kinds, slidingRope)
	switch {
	case kinds != nil && !full && !sliding:
		m.addNone("no layer has RoPE")
		return
	case !sliding:
		m.addRope(&rope{m: m, layers: list(kinds, fullRope)}, false)
		return
	case !full:
		m.addRope(&rope{m: m, layers: list(kinds, slidingRope), sliding: true, window: window}, true)
		return
	}
	a, b := m.newEngine(false), m.newEngine(true)
	if a.rotary(m).Equal(b.rotary(m)) {
		m.addRope(&rope{m: m, layers: list(kinds, fullRope, slidingRope), merged: true}, false)
		return
	}
	m.addRope(&rope{m: m, layers: list(kinds, fullRope)}, false)
	m.addRope(&rope{m: m, layers: list(kinds, slidingRope), sliding: true, window: window}, true)
}

// addRope completes a rotation with what the engine computes and adds it.
func (m *model) addRope(r *rope, sliding bool) {
	r.engine = m.newEngine(sliding)
	m.addSite(r)
}

// addSite adds a rotation whose engine is known.
func (m *model) addSite(r *rope) {
	r.scheme, r.keys = r.engine.rotary(m), r.keysInUse()
	m.sites = append(m.sites, r)
}

// Encoding says what the engine computes.
func (r *rope) Encoding() position.Encoding {
	e := position.Encoding{
		Scheme: r.scheme, Form: report.FormKeys, Beyond: report.BeyondContinues, Layers: r.layers,
		Evidence: append([]report.Evidence{{Kind: "architecture", Says: "llama.cpp's " + r.m.name + " turns queries and keys, " + r.engine.pairing + " pairing"}}, r.engine.evidence...),
	}
	for _, k := range r.keys {
		p := r.m.pair(k)
		e.Where = append(e.Where, report.Where{Key: report.Name(p.Key), Range: &[2]int64{p.ValueAt, p.End}})
	}
	for _, name := range r.engine.tensors {
		if !r.engine.idle(name) {
			e.Where = append(e.Where, r.m.whereTensor(r.m.file.Tensor(name)))
		}
	}
	return e
}

// Window is how far the layers of this rotation look back, 0 for all the way.
// A rotation that only acts inside a window needs no change for more length.
func (r *rope) Window() int {
	if r.sliding {
		return r.window
	}
	return 0
}

// Rotation computes cosines and sines as the engine does, in float64. Text
// tokens have the same position in every section of M-RoPE but the last.
func (r *rope) Rotation(pos, length int, cos, sin []float64) error {
	r.engine.rotate(pos, length, cos, sin)
	return nil
}

// Switches reports whether a longer context makes the engine take LongRoPE's
// long factors in place of the short ones: it decides by the context, not by
// the position (llama.cpp's get_rope_factors).
func (r *rope) Switches(old, new int) bool {
	original := r.engine.original
	return !r.held && (r.engine.long != nil || r.engine.short != nil) && old <= original && new > original
}

// pinOriginal writes down the original length that a scaling has taken from
// context_length until now.
func (r *rope) pinOriginal() {
	old, ok := r.m.count(keyContext)
	measured := r.engine.yarn && r.engine.factor != 1 || r.engine.long != nil || r.engine.short != nil
	if n, there := r.m.count(keyOriginal); r.held || !ok || there && n != 0 || !measured {
		return
	}
	r.m.edit.Set(r.m.key(keyOriginal), u32(old), "original length, until now that of context_length")
}

// engine is the state of ggml's rope operator for one kind of layer.
type engine struct {
	base      float64
	dims      int // n_rot
	headDim   int
	pairing   string
	sections  []int
	factor    float64 // s: positions are divided by it; 1: nothing
	yarn      bool
	original  int
	betaFast  float64
	betaSlow  float64
	attention float64   // A: rope.scaling.attn_factor
	amplitude float64   // M: what cos and sin are multiplied by
	freqs     []float64 // divisors of rope_freqs.weight
	short     []float64 // divisors of rope_factors_short.weight
	long      []float64
	tensors   []string // names of factor tensors that are read
	alpha     float64  // hunyuan's NTK factor
	unknown   bool     // rope.scaling.type is no word the engine knows
	evidence  []report.Evidence
}

// newEngine reads what the engine would compute with.
func (m *model) newEngine(sliding bool) engine {
	e := engine{base: m.realOr(keyBase, 10000), factor: 1, attention: 1, amplitude: 1, betaFast: 32, betaSlow: 1}
	e.pairing = m.arch.Pairing
	m.dimensions(&e, sliding)
	m.sections(&e)
	if m.ignores(keyBase) {
		e.base = 10000
	}
	if w := m.arch.Window; sliding && w != nil {
		switch w.Base {
		case "own":
			e.base = m.realOr(keyBaseSWA, 10000)
		case "inherit":
			e.base = m.realOr(keyBaseSWA, e.base)
		}
	}
	if m.arch.reads(keyAlpha) {
		if alpha, ok := m.real(keyAlpha); ok && alpha > 0 {
			e.alpha = alpha
		}
	}
	switch w := m.arch.Window; {
	case !sliding || !w.unscaled():
		m.scaling(&e, sliding)
	case w.Scale == "one" && !m.ignores(keyAttnFactor):
		// Measured with gemma3: YaRN's own amplitude does not reach these
		// layers, the key does.
		e.attention = m.realOr(keyAttnFactor, 1)
		e.amplitude = e.attention
	}
	return e
}

// maxDims is more elements than any head has.
const maxDims = 1 << 16

// ignores reports whether a key of the standard set has no effect here.
func (m *model) ignores(key string) bool { return slices.Contains(m.arch.Ignores, key) }

// dimensions finds how many elements of a head turn.
func (m *model) dimensions(e *engine, sliding bool) {
	e.headDim = m.headDim(sliding)
	e.dims = e.headDim
	if n, ok := m.count(keyDims); ok && !m.ignores(keyDims) {
		e.dims = n
	}
	if n, ok := m.count(keyDimsSWA); ok && sliding {
		e.dims = n
	}
	if m.name == "step35" && !sliding {
		e.dims /= 2 // hard-coded: full layers turn half (facts/GGUF-FACTS trap 17)
	}
	if e.dims > maxDims {
		e.dims = 0 // check tells; nothing is allocated by such a claim
	}
}

// headDim is the size of a query head, 0 when the file does not tell.
func (m *model) headDim(sliding bool) int {
	keys := []string{keyKeyLenMLA, keyKeyLength}
	if sliding {
		keys = []string{keyKeyLenSWA, keyKeyLenMLA, keyKeyLength}
	}
	for _, k := range keys {
		if n, ok := m.count(k); ok && n > 0 {
			return n
		}
	}
	width, ok := m.count(keyEmbedding)
	if heads := m.heads(); ok && heads > 0 {
		return width / heads
	}
	return 0
}

// maxHeads is more heads than any model has.
const maxHeads = 1 << 14

// heads is the number of query heads; of an array its first that is not 0.
// 0: not known, or no number of heads. Every layer asks, and the array may be long.
func (m *model) heads() int {
	if m.headCount == nil {
		n := m.countHeads()
		m.headCount = &n
	}
	return *m.headCount
}

func (m *model) countHeads() int {
	n, list := m.perLayer(keyHeads)
	for _, v := range list {
		if v > 0 && v <= maxHeads {
			return int(v)
		}
	}
	if n > maxHeads {
		return 0
	}
	return n
}

// sections reads M-RoPE's sections, and the pairing that they switch on.
func (m *model) sections(e *engine) {
	values := m.numbers(keySections)
	if len(values) != 4 || m.arch.Sections == "" {
		return
	}
	if m.arch.Sections == "optional" && (values[0] <= 0 || values[1] <= 0) {
		return
	}
	for _, v := range values {
		e.sections = append(e.sections, int(math.Max(0, math.Min(v, 1<<20))))
	}
	if m.arch.Sections == "optional" {
		e.pairing = "mrope"
	}
}
