package schemes

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Name is "rope".
func (Rotary) Name() string { return NameRope }

// Pairs is the number of pairs that the encoding may turn, and of its
// frequencies: Dim/2, rounded up where Dim is odd.
func (r Rotary) Pairs() int { return (r.Dim + 1) / 2 }

// WithScaling is r with another scaling. Which pairs stand still belongs to the
// weights, and stays.
func (r Rotary) WithScaling(s Scaling) Rotary {
	if s.Rotated == 0 {
		s.Rotated = r.Scaling.Rotated
	}
	if s.Rotated > 0 && s.IsNone() {
		s.Type = ScalingProportional
	}
	r.Scaling = s
	return r
}

// Rebased is r with a scaling that is nothing but another base (NTK-aware scaling)
// as that base; a rotation of another scaling is itself.
func (r Rotary) Rebased() Rotary {
	if !r.Scaling.Kind().IsBase() {
		return r
	}
	out := r.WithScaling(Scaling{AttentionFactor: r.Scaling.AttentionFactor})
	out.Base = r.effectiveBase(0)
	return out
}

// PlainFrequencies are Base^(−2i/Dim), i = 0 … Pairs−1, without any scaling
// (Su et al. 2021).
func (r Rotary) PlainFrequencies() []float64 { return plainFrequencies(r.Base, r.Dim) }

func plainFrequencies(base float64, dim int) []float64 {
	f := make([]float64, (dim+1)/2)
	for i := range f {
		f[i] = math.Pow(base, -2*float64(i)/float64(dim))
	}
	return f
}

// InverseFrequencies are the angles per position of all pairs, scaling
// included, for inputs within the original length.
func (r Rotary) InverseFrequencies() []float64 {
	return r.InverseFrequenciesAt(0)
}

// InverseFrequenciesAt are the angles per position for an input of the given
// length in positions. Only types that are ByLength depend on it.
func (r Rotary) InverseFrequenciesAt(length int) []float64 {
	s := r.Scaling
	if given := s.given(length); given != nil {
		return slices.Clone(given)
	}
	f := plainFrequencies(r.effectiveBase(length), r.Dim)
	if r.OwnFrequencies {
		f = f[:0]
		for _, pairs := range r.Sections {
			f = append(f, plainFrequencies(r.effectiveBase(length), 2*pairs)...)
		}
	}
	if scale := s.Kind().Frequencies; scale != nil {
		scale(r, f, length)
	}
	clear(f[s.rotated(len(f)):])
	return f
}

// given are frequencies that the scaling states outright, or nil.
func (s Scaling) given(length int) []float64 {
	if s.LongFrequencies != nil && (s.Frequencies == nil || s.isLong(length)) {
		return s.LongFrequencies
	}
	return s.Frequencies
}

// effectiveBase is the base after the scalings that are a change of base.
func (r Rotary) effectiveBase(length int) float64 {
	if base := r.Scaling.Kind().Base; base != nil {
		return base(r, length)
	}
	return r.Base
}

// rotated is the number of pairs that turn; not stated, all do.
func (s Scaling) rotated(pairs int) int {
	if s.Rotated <= 0 {
		return pairs
	}
	return min(s.Rotated, pairs)
}

// Amplitude multiplies cos and sin: the scaling's AttentionFactor, or what its
// type computes (YaRN 0.1·ln s + 1, LongRoPE sqrt(1 + ln s/ln L)), else 1.
func (r Rotary) Amplitude() float64 {
	s := r.Scaling
	if s.AttentionFactor != 0 {
		return s.AttentionFactor
	}
	if amplitude := s.Kind().Amplitude; amplitude != nil {
		return amplitude(s)
	}
	return 1
}

// WithAttentionFactor returns s with the amplitude of cos and sin that a model has. A type without a formula for it
// has 1, which is left out.
func (s Scaling) WithAttentionFactor(amplitude float64) Scaling {
	s.AttentionFactor = amplitude
	if amplitude == 1 && s.Kind().Amplitude == nil {
		s.AttentionFactor = 0
	}
	return s
}

// Rotation computes cos and sin of position p, amplitude included, in float64.
// The slices have Pairs elements. Input within the original length.
func (r Rotary) Rotation(p float64, cos, sin []float64) {
	r.Rotator(RecipeExact, 0).Row(p, cos, sin)
}

// Axes tells for each pair which of the positions t, h, w (0, 1, 2) turns it:
// all t unless there are Sections (M-RoPE, facts/NUMERICS §5). Interleaved sections with a fourth leave to it
// what the others do not take, sections in a row begin again behind the last (ggml_mrope_cache_init).
func (r Rotary) Axes() []int {
	axes := make([]int, r.Pairs())
	total := 0
	for _, pairs := range r.Sections {
		total += pairs
	}
	for i := range axes {
		if total <= 0 {
			break
		}
		j, axis := i%total, i%total%3
		switch {
		case !r.InterleavedSections:
			axes[i] = section(r.Sections, j)
		case axis < len(r.Sections) && j < 3*r.Sections[axis]:
			axes[i] = axis
		case len(r.Sections) > 3:
			axes[i] = 3
		}
	}
	return axes
}

// section is the one of sections in a row that pair j lies in.
func section(sections []int, j int) int {
	for axis, pairs := range sections {
		if j -= pairs; j < 0 {
			return axis
		}
	}
	return 0
}

// Still tells the pairs that a text token does not turn: those of a fourth section,
// whose position is 0 for text (llama.cpp's M-RoPE and Hunyuan's XD-RoPE).
func (r Rotary) Still() []bool {
	out := make([]bool, r.Pairs())
	for i, axis := range r.Axes() {
		out[i] = axis > 2
	}
	return out
}

// Apply turns the first Dim elements of x, one head's query or key, in place by
// the given cos and sin (Pairs elements each). The rest of x passes. An unknown
// layout is taken as LayoutHalf.
func (r Rotary) Apply(x, cos, sin []float64) {
	n := r.Dim / 2
	for i := range n {
		a, b := i, i+n
		if r.Layout == LayoutInterleaved {
			a, b = 2*i, 2*i+1
		}
		x[a], x[b] = x[a]*cos[i]-x[b]*sin[i], x[b]*cos[i]+x[a]*sin[i]
	}
}

const (
	// sameFrequency is the relative difference below which two frequencies, or
	// amplitudes, are the same number written by different formulas.
	sameFrequency = 1e-9
	// sameRounded is the same where one was computed in float32, as those are
	// that were read from a file (facts/NUMERICS §1: exp recipe 8.5e-7, ggml 2e-6).
	sameRounded = 2e-6
)

// Equal reports whether other turns every pair by the same angles at every
// length, with the same amplitude. A layout that is not known equals any.
func (r Rotary) Equal(other Scheme) bool {
	o, ok := other.(Rotary)
	if !ok || r.Dim != o.Dim || !sameLayout(r.Layout, o.Layout) || !nearRounded(r.Amplitude(), o.Amplitude()) {
		return false
	}
	if !slices.Equal(r.Axes(), o.Axes()) {
		return false
	}
	same := near
	if r.Scaling.Frequencies != nil || o.Scaling.Frequencies != nil {
		same = nearRounded
	}
	lengths := []int{0, r.Scaling.OriginalLength + 1, o.Scaling.OriginalLength + 1,
		2*max(r.Scaling.OriginalLength, o.Scaling.OriginalLength) + 2}
	for _, n := range lengths {
		if !slices.EqualFunc(r.InverseFrequenciesAt(n), o.InverseFrequenciesAt(n), same) {
			return false
		}
	}
	return true
}

func sameLayout(a, b string) bool { return a == b || a == "" || b == "" }

func near(a, b float64) bool { return within(a, b, sameFrequency) }

func nearRounded(a, b float64) bool { return within(a, b, sameRounded) }

func within(a, b, relative float64) bool {
	if math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a == b
	}
	return a == b || math.Abs(a-b) <= relative*max(math.Abs(a), math.Abs(b))
}

// ByPlace reports whether places have several coordinates, of a picture, or beside texts: what one turns by does not follow from its number.
func (r Rotary) ByPlace() bool { return r.Grid != nil || r.OwnFrequencies }

// String says the encoding in a line.
func (r Rotary) String() string {
	parts := []string{"RoPE base " + Text(r.Base), fmt.Sprintf("rotary dim %d", r.Dim)}
	if r.BaseAssumed || r.Base == 0 {
		parts[0] = "RoPE of unknown base"
	}
	if r.HeadDim > r.Dim {
		parts[1] += fmt.Sprintf(" of %d", r.HeadDim)
	}
	if r.Layout != "" {
		parts = append(parts, r.Layout)
	}
	if len(r.Sections) > 0 {
		sections := "sections " + between("+", r.Sections)
		if r.OwnFrequencies {
			sections += ", each with frequencies of its own"
		}
		parts = append(parts, sections)
	}
	if r.Grid != nil {
		parts = append(parts, "by row and column of "+Sizes(r.Grid)+" patches")
	}
	if s := r.Scaling.String(); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// String says the scaling in a few words; none is the empty string.
func (s Scaling) String() string {
	if s.IsNone() {
		return ""
	}
	said := s.Type
	if s.ShortFactor != nil && slices.Equal(s.ShortFactor, s.LongFactor) {
		said += " of one list"
	}
	if s.Factor != 0 {
		said += " ×" + Text(s.Factor)
	}
	if s.OriginalLength != 0 {
		said += fmt.Sprintf(" from %d", s.OriginalLength)
	}
	if s.AttentionFactor != 0 && s.AttentionFactor != 1 {
		said += " with attention factor " + Text(s.AttentionFactor)
	}
	return said
}
