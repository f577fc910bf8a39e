package position

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Parameters are the options as parameters of a scaling.
func (o RescaleOptions) Parameters() schemes.Scaling {
	return schemes.Scaling{Factor: o.Factor, AttentionFactor: o.AttentionFactor, OriginalLength: o.OriginalLength, BetaFast: o.BetaFast, BetaSlow: o.BetaSlow,
		NoTruncate: o.NoTruncate, LowFreqFactor: o.LowFreqFactor, HighFreqFactor: o.HighFreqFactor}
}

// SetParameters makes the options those of a scaling, but for its type and lists.
func (o *RescaleOptions) SetParameters(s schemes.Scaling) {
	o.Factor, o.AttentionFactor, o.OriginalLength, o.BetaFast, o.BetaSlow = s.Factor, s.AttentionFactor, s.OriginalLength, s.BetaFast, s.BetaSlow
	o.NoTruncate, o.LowFreqFactor, o.HighFreqFactor = s.NoTruncate, s.LowFreqFactor, s.HighFreqFactor
}

// unread refuses an option that nothing reads: neither the scaling asked for
// nor, where just the base changes, that of any encoding that is changed. All
// types read the attention factor.
func (o RescaleOptions) unread(m Model, chosen []int) error {
	types := []*schemes.ScalingType{schemes.Scaling{Type: o.Scaling}.Kind()}
	whose := o.Scaling + " scaling does not read it"
	if o.Scaling == "" {
		types = nil
		var names []string
		for _, i := range chosen {
			s := m.Sites()[i].Encoding().Scheme.(schemes.Rotary).Scaling
			if s.IsCustom() {
				return nil // refused for that
			}
			types, names = append(types, s.Kind()), append(names, s.Kind().Name)
		}
		whose = "the model's scaling (" + strings.Join(slices.Compact(names), ", ") + ") does not read it"
	}
	for _, p := range schemes.ScalingParameters {
		reads := func(t *schemes.ScalingType) bool { return t.Reads(p.Name) }
		if p.Name == schemes.ParameterOriginalLength.Name && o.Scaling != "" && o.Factor == 0 && types[0].NeedsFactor {
			continue // it gives the factor
		}
		if p.Get(o.Parameters()) != 0 && !slices.ContainsFunc(types, reads) {
			return &UsageError{What: fmt.Sprintf("--%s: %s; it is for %s", p.Name, whose, strings.Join(schemes.ScalingNames(reads), ", "))}
		}
	}
	return nil
}

// rebase is a rotation of another base whose scaling stays, but for those of
// its parameters that are asked for.
func (o RescaleOptions) rebase(from schemes.Rotary) (schemes.Rotary, error) {
	if from.Scaling.IsCustom() {
		return from, &Refusal{Why: "the frequencies follow no formula with a base that could be changed", Remedies: []report.Remedy{report.Do("", "replaces them", "base", "B", "scaling", "none")}}
	}
	as := from // by formula, with the old base
	as.Scaling.Frequencies, as.Scaling.LongFrequencies = nil, nil
	missing := from.Scaling.Kind().Bounds != nil && from.Scaling.OriginalLength == 0
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
	asked := o.Parameters()
	s.AttentionFactor = cmp.Or(asked.AttentionFactor, s.AttentionFactor)
	for _, p := range s.Kind().Parameters {
		p.Set(&s, cmp.Or(p.Get(asked), p.Get(s)))
	}
	return s
}

// explains refuses to take a formula to another base that does not give the
// frequencies which the file has with this one: where they were read back from
// numbers, a parameter may be missing.
func (o RescaleOptions) explains(as, from schemes.Rotary) error {
	if as.Gives(from.Scaling.Frequencies) {
		return nil
	}
	t := from.Scaling.Kind()
	if t.Unread == nil {
		return &Refusal{Why: "the scaling as it was read back does not give the frequencies that the file has", Remedies: []report.Remedy{report.Do("", "replaces them", "base", "B", "scaling", "TYPE")}}
	}
	lost := t.Unread(as.Scaling, o.Parameters())
	if lost.Give == "" {
		return &Refusal{Why: lost.Why, Remedies: []report.Remedy{report.Do("", "with all its parameters, beside the base", "scaling", t.Name)}}
	}
	return &Refusal{Why: lost.Why, Remedies: []report.Remedy{report.Do("", lost.Says, lost.Give, "L")}}
}

// assumed says which original length was taken of several that the file's
// frequencies allow, where they come to different ones with the new base: the
// bounds of a ramp are rounded. It refuses to choose between several that
// models have.
func (o RescaleOptions) assumed(from schemes.Rotary) (note string, err error) {
	s := from.Scaling
	if o.Scaling != "" || s.Kind().Bounds == nil || s.Frequencies == nil || s.Rotated > 0 || s.OriginalLength == 0 {
		return "", nil
	}
	least, most := from.SameRamp()
	switch n := o.OriginalLength; {
	case n != 0 && n >= least && n <= most, n == 0 && from.RampBounds(o.Base, least) == from.RampBounds(o.Base, most):
		return "", nil
	case n != 0:
		return fmt.Sprintf("the file's own frequencies are those of an original length of %d, not %d", s.OriginalLength, n), nil
	}
	if other := schemes.UsualLength(least, most, s.OriginalLength); other != 0 {
		return "", &Refusal{Why: fmt.Sprintf("%s's original length may be %d or %d: the file's frequencies are the same for both, and with another base they are not", s.Kind().Title, s.OriginalLength, other),
			Remedies: []report.Remedy{report.Do("", "is the length that the model was trained with", "original-length", "L")}}
	}
	return fmt.Sprintf("the original length is taken to be %d: the file's frequencies are the same for any from %d to %d, unless the original length is given", s.OriginalLength, least, most), nil
}
