package position

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// readers are the types of scaling that read an option of RescaleOptions; all
// read the attention factor.
var readers = []struct {
	name  string
	given func(RescaleOptions) bool
	types []string
}{
	{"original-length", func(o RescaleOptions) bool { return o.OriginalLength != 0 }, []string{schemes.ScalingYaRN, schemes.ScalingLlama3}},
	{"beta-fast", func(o RescaleOptions) bool { return o.BetaFast != 0 }, []string{schemes.ScalingYaRN}},
	{"beta-slow", func(o RescaleOptions) bool { return o.BetaSlow != 0 }, []string{schemes.ScalingYaRN}},
	{"no-truncate", func(o RescaleOptions) bool { return o.NoTruncate }, []string{schemes.ScalingYaRN}},
	{"low-freq-factor", func(o RescaleOptions) bool { return o.LowFreqFactor != 0 }, []string{schemes.ScalingLlama3}},
	{"high-freq-factor", func(o RescaleOptions) bool { return o.HighFreqFactor != 0 }, []string{schemes.ScalingLlama3}},
}

// unread refuses an option that nothing reads: neither the scaling asked for
// nor, where just the base changes, that of any encoding that is changed.
func (o RescaleOptions) unread(m Model, chosen []int) error {
	types := []string{o.Scaling}
	whose := o.Scaling + " scaling does not read it"
	if o.Scaling == "" {
		types = nil
		for _, i := range chosen {
			t := m.Sites()[i].Encoding().Scheme.(schemes.Rotary).Scaling.Type
			if t == schemes.ScalingCustom {
				return nil // refused for that
			}
			types = append(types, cmp.Or(t, schemes.ScalingNone))
		}
		whose = "the model's scaling (" + strings.Join(slices.Compact(types), ", ") + ") does not read it"
	}
	for _, r := range readers {
		if r.given(o) && !slices.ContainsFunc(types, func(t string) bool { return slices.Contains(r.types, t) }) {
			return &UsageError{What: fmt.Sprintf("--%s: %s; it is for %s", r.name, whose, strings.Join(r.types, " and "))}
		}
	}
	return nil
}

// rebase is a rotation of another base whose scaling stays, but for those of
// its parameters that are asked for.
func (o RescaleOptions) rebase(from schemes.Rotary) (schemes.Rotary, error) {
	if from.Scaling.Type == schemes.ScalingCustom {
		return from, &Refusal{Why: "the frequencies follow no formula with a base that could be changed", Remedies: []report.Remedy{report.Do("", "replaces them", "base", "B", "scaling", "none")}}
	}
	as := from // by formula, with the old base
	as.Scaling.Frequencies, as.Scaling.LongFrequencies = nil, nil
	missing := from.Scaling.Type == schemes.ScalingYaRN && from.Scaling.OriginalLength == 0
	if missing {
		as.Scaling = o.amended(as.Scaling)
	}
	if err := o.explains(as, from); err != nil {
		return from, err
	}
	as.Scaling = o.amended(as.Scaling)
	as.Base = o.Base
	return as, nil
}

// amended is the scaling that is there with the parameters that are asked for.
func (o RescaleOptions) amended(s schemes.Scaling) schemes.Scaling {
	s.AttentionFactor = cmp.Or(o.AttentionFactor, s.AttentionFactor)
	switch s.Type {
	case schemes.ScalingYaRN:
		s.OriginalLength = cmp.Or(o.OriginalLength, s.OriginalLength)
		s.BetaFast, s.BetaSlow = cmp.Or(o.BetaFast, s.BetaFast), cmp.Or(o.BetaSlow, s.BetaSlow)
		s.NoTruncate = s.NoTruncate || o.NoTruncate
	case schemes.ScalingLlama3:
		s.OriginalLength = cmp.Or(o.OriginalLength, s.OriginalLength)
		s.LowFreqFactor, s.HighFreqFactor = cmp.Or(o.LowFreqFactor, s.LowFreqFactor), cmp.Or(o.HighFreqFactor, s.HighFreqFactor)
	}
	return s
}

// formulaWithin is how far the formula of a scaling may be from frequencies
// that were stored in bfloat16, relatively. Another original length moves some
// by the width of a step of the ramp, a lost factor all at the end by itself.
const formulaWithin = 1e-2

// explains refuses to take a formula to another base that does not give the
// frequencies which the file has with this one: where they were read back from
// numbers, a parameter may be missing.
func (o RescaleOptions) explains(as, from schemes.Rotary) error {
	if from.Scaling.Frequencies == nil || slices.EqualFunc(as.InverseFrequencies(), from.Scaling.Frequencies, sameStored) {
		return nil
	}
	all := []report.Remedy{report.Do("", "with all its parameters, beside the base", "scaling", from.Scaling.Type)}
	switch t := from.Scaling.Type; {
	case t == schemes.ScalingLlama3:
		return &Refusal{Why: "Llama 3's original length and bounds cannot be read back from the file's frequencies", Remedies: all}
	case t == schemes.ScalingYaRN && from.Scaling.Factor == 0:
		return &Refusal{Why: "YaRN's factor cannot be read back from the file's frequencies, whose ramp does not end among them", Remedies: all}
	case t == schemes.ScalingYaRN && o.OriginalLength == 0:
		return &Refusal{Why: "YaRN's original length cannot be read back from the file's frequencies, and its ramp moves with the base",
			Remedies: []report.Remedy{report.Do("", "is the length that the model was trained with", "original-length", "L")}}
	case t == schemes.ScalingYaRN:
		return &Refusal{Why: fmt.Sprintf("YaRN from %d positions does not give the frequencies that the file has", as.Scaling.OriginalLength),
			Remedies: []report.Remedy{report.Do("", "is the length that the model was trained with; beta-fast and beta-slow, where they are not 32 and 1, are needed as well", "original-length", "L")}}
	}
	return &Refusal{Why: "the scaling as it was read back does not give the frequencies that the file has", Remedies: []report.Remedy{report.Do("", "replaces them", "base", "B", "scaling", "TYPE")}}
}

// sameStored reports whether two frequencies differ by storage alone. Pairs
// that stand still have none.
func sameStored(a, b float64) bool {
	const still = 1e-15
	return math.Abs(a-b) <= formulaWithin*math.Abs(b)+still
}

// assumed says which original length was taken of several that the file's
// frequencies allow, where they come to different ones with the new base: the
// bounds of YaRN's ramp are rounded. It refuses to choose between several that
// models have.
func (o RescaleOptions) assumed(from schemes.Rotary) (note string, err error) {
	s := from.Scaling
	if o.Scaling != "" || s.Type != schemes.ScalingYaRN || s.Frequencies == nil || s.Rotated > 0 || s.OriginalLength == 0 {
		return "", nil
	}
	least, most := alike(from)
	switch n := o.OriginalLength; {
	case n != 0 && n >= least && n <= most, n == 0 && rampOf(from, o.Base, least) == rampOf(from, o.Base, most):
		return "", nil
	case n != 0:
		return fmt.Sprintf("the file's own frequencies are those of an original length of %d, not %d", s.OriginalLength, n), nil
	}
	if other := usualLength(least, most, s.OriginalLength); other != 0 {
		return "", &Refusal{Why: fmt.Sprintf("YaRN's original length may be %d or %d: the file's frequencies are the same for both, and with another base they are not", s.OriginalLength, other),
			Remedies: []report.Remedy{report.Do("", "is the length that the model was trained with", "original-length", "L")}}
	}
	return fmt.Sprintf("the original length is taken to be %d: the file's frequencies are the same for any from %d to %d, unless the original length is given", s.OriginalLength, least, most), nil
}

// rampOf are the bounds of YaRN's ramp with another base and original length.
func rampOf(r schemes.Rotary, base float64, length int) [2]float64 {
	s := r.Scaling
	low, high := schemes.YaRNRamp(base, r.Dim, length, s.BetaFast, s.BetaSlow, !s.NoTruncate)
	return [2]float64{low, high}
}

// alike are the least and the greatest original length that give the same ramp.
func alike(r schemes.Rotary) (least, most int) {
	n := r.Scaling.OriginalLength
	same := rampOf(r, r.Base, n)
	least = 1 + sort.Search(n-1, func(k int) bool { return rampOf(r, r.Base, 1+k) == same })
	return least, n + sort.Search(n, func(k int) bool { return rampOf(r, r.Base, n+k+1) != same })
}

// usualLength is a length such as models have, a power of two or three or five
// times one, within bounds and other than the one given; 0: there is none.
func usualLength(least, most, other int) int {
	for power := 1; power <= most; power *= 2 {
		for _, n := range []int{power, 3 * power, 5 * power} {
			if n >= least && n <= most && n != other {
				return n
			}
		}
	}
	return 0
}

// capped says that an engine which reads keys stops at the stated length,
// whatever the scaling (llama.cpp's server: n_ctx_slot is at most
// n_ctx_train).
func (o RescaleOptions) capped(from, to schemes.Rotary, d report.Inspect) string {
	if d.Format != FormatGGUF || o.Length != 0 || o.Factor <= 1 || d.Length.Stated == nil {
		return ""
	}
	stated := *d.Length.Stated
	original := to.Scaling.OriginalLength
	if original == 0 {
		original = originalLength(from.Scaling, 0, stated)
	}
	reach := math.Floor(float64(original) * o.Factor)
	if reach <= float64(stated) || reach > float64(MaxLength) {
		return ""
	}
	return fmt.Sprintf("llama.cpp caps the context at the stated length, %d, unless the length that the scaling reaches, %.0f, is stated as well (option len)", stated, reach)
}
