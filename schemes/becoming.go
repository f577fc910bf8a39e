package schemes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Unprecedented says that a factor is larger than that of a published model; "" where it is not.
func (s Scaling) Unprecedented() string {
	t := s.Kind()
	if t.Published.Factor == 0 || s.Factor <= t.Published.Factor {
		return ""
	}
	return fmt.Sprintf("a factor of %s is beyond published models (%s: %s, %s): try the model before trusting it", Text(s.Factor), t.Title, Text(t.Published.Factor), t.Published.By)
}

// OwnAttentionFactor is an amplitude of cos and sin that a file states beside plain
// or linear frequencies, 0: none. It stays, whatever the frequencies become.
func (s Scaling) OwnAttentionFactor() float64 {
	if s.Kind().OwnAmplitude {
		return 0
	}
	return s.AttentionFactor
}

// TrainedLength is the length that a model was trained with, by its scaling,
// how far it counts now, and what it states; 0: not known. That of YaRN and of
// Llama 3 is not any other length: what was made longer before would be taken
// for what was trained.
func (s Scaling) TrainedLength(present, stated int) int {
	switch {
	case s.OriginalLength > 0:
		return s.OriginalLength
	case s.Kind().Reads(ParameterOriginalLength.Name):
		return 0
	case s.Kind().Uniform && s.Factor >= 1 && cmp.Or(present, stated) > 0:
		return int(math.Round(float64(cmp.Or(present, stated)) / s.Factor))
	}
	return cmp.Or(stated, present)
}

// Gives reports whether the formula gives frequencies that a file has, but for their storage in bfloat16; nil are any. Another
// original length moves some by the width of a step of a ramp, a lost factor all at the end by itself. Pairs that stand still have none.
func (r Rotary) Gives(frequencies []float64) bool {
	const within, still = 1e-2, 1e-15
	return frequencies == nil || slices.EqualFunc(r.InverseFrequencies(), frequencies, func(a, b float64) bool { return math.Abs(a-b) <= within*math.Abs(b)+still })
}

// SameForText reports whether another rotation turns the tokens of a text alike, whose positions are one in all sections.
func (r Rotary) SameForText(other Rotary) bool {
	as := other
	as.Sections, as.InterleavedSections = r.Sections, r.InterleavedSections
	return as.Equal(r) && slices.Equal(other.Still(), r.Still())
}

// Becoming says in a line how one rotation becomes another.
func (r Rotary) Becoming(to Rotary) string {
	if r.Dim != to.Dim || !slices.Equal(r.Sections, to.Sections) {
		return fmt.Sprintf("%s → %s", r, to)
	}
	out := ""
	if r.Base != to.Base {
		out = "base " + Text(r.Base) + " → " + Text(to.Base)
	}
	a, b := r.Scaling.Words(), to.Scaling.Words()
	if a != b {
		if out != "" {
			out += "; "
		}
		out += "scaling " + a + " → " + b
	}
	if out == "" {
		return "RoPE with the same numbers"
	}
	return "RoPE " + out
}

// Words name a scaling, and an amplitude where that is all there is.
func (s Scaling) Words() string {
	switch text := s.String(); {
	case text != "":
		return text
	case s.AttentionFactor != 0 && s.AttentionFactor != 1:
		return fmt.Sprintf("%s amplitude %.6g", ScalingNone, s.AttentionFactor)
	}
	return ScalingNone
}

// maxTurn is the greatest angle between two positions, in radians: of larger ones, the products with
// positions soon keep no part of a turn in float32. Models turn by 1 at the most.
const maxTurn = 1 << 5

// Incomputable says which amplitude or angle is none that an engine computes with; "" where all are.
func (r Rotary) Incomputable() string {
	if a := r.Amplitude(); !(a > 0) || a > math.MaxFloat32 {
		return fmt.Sprintf("cosines and sines would have the amplitude %g", a)
	}
	for pair, f := range r.InverseFrequencies() {
		if !(math.Abs(f) <= maxTurn) {
			return fmt.Sprintf("pair %d would turn by %g radians a position, which no engine computes", pair, f)
		}
	}
	return ""
}
