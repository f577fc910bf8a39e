package position

import (
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Like makes options of another model's rotation: its base, and its scaling with all
// parameters. Layers chooses among two rotations there as well. Original length, length
// and layers of o stay. What follows no formula, or a parameter that cannot be read back
// from the other file, is refused.
func (o *RescaleOptions) Like(m Model) error {
	if o.Base != 0 || o.Scaling != "" {
		return &UsageError{What: "--like takes base and scaling from another model: neither can be given beside it"}
	}
	by := *o
	if by.Layers != LayersLocal {
		by.Layers = "" // numbers are those of the model that is changed
	}
	chosen, _, err := by.rotations(m)
	if err != nil {
		return err
	}
	if err := oneGlobal(m, chosen); err != nil {
		return err
	}
	s := m.Sites()[chosen[0]]
	from := s.Encoding().Scheme.(schemes.Rotary).Rebased()
	if s.Encoding().IsGrid() {
		return &Refusal{Why: "the other model's rotation is by rows and columns of a picture"}
	}
	scaling := from.Scaling
	if scaling.Rotated > 0 { // which pairs turn belongs to the weights
		if scaling.Type = schemes.ScalingLinear; scaling.Factor == 0 || scaling.Factor == 1 {
			scaling = schemes.Scaling{AttentionFactor: scaling.AttentionFactor}
		}
		scaling.Rotated, scaling.Frequencies = 0, nil
	}
	t := scaling.Kind()
	if !t.Settable || from.Base == 0 {
		return &Refusal{Why: fmt.Sprintf("the other model's scaling is of type %s, which no parameters give", t.Name), Instead: "export this model with the other's configuration"}
	}
	if t.Listed && (scaling.ShortFactor == nil || scaling.LongFactor == nil) {
		return &Refusal{Why: fmt.Sprintf("the other file holds one of %s's two lists, and a model needs both", t.Title),
			Remedies: []report.Remedy{report.Do("", "takes both from its configuration", "scaling", t.Name, "factors", "config.json")}}
	}
	if o.OriginalLength != 0 && t.Reads(schemes.ParameterOriginalLength.Name) {
		scaling.OriginalLength = o.OriginalLength
	}
	missing := t.Reads(schemes.ParameterOriginalLength.Name) && scaling.OriginalLength == 0
	formula := from.WithScaling(scaling)
	formula.Scaling.Frequencies, formula.Scaling.LongFrequencies = nil, nil
	if !t.Listed && (missing || from.Scaling.Rotated == 0 && !formula.Gives(from.Scaling.Frequencies)) {
		return &Refusal{Why: fmt.Sprintf("the other file holds %s as numbers, from which its original length cannot be read back", t.Title),
			Remedies: []report.Remedy{report.Do("", "is the length that the other model was trained with", "original-length", "L")}}
	}
	o.take(from.Base, scaling)
	if a, ok := s.(AttentionScaler); ok && a.ScalesAttention() && t.MScale != nil {
		o.AttentionFactor = 0 // the amplitude is in the scale of the scores
	}
	return nil
}

// take sets base and scaling to those of a rotation.
func (o *RescaleOptions) take(base float64, s schemes.Scaling) {
	t := s.Kind()
	o.Base, o.Scaling = base, t.Name
	if t.NeedsFactor {
		if o.Factor = s.Factor; o.Factor == 0 {
			o.Factor = 1
		}
	}
	// The default amplitude is left out: a file of another format states it otherwise.
	usual := t.With(schemes.Scaling{Factor: s.Factor, OriginalLength: s.OriginalLength}).AttentionFactor
	if usual == 0 {
		usual = 1
	}
	if a := s.AttentionFactor; a != 0 && math.Abs(a-usual) > sameAmplitude*usual {
		o.AttentionFactor = a
	}
	taken := schemes.Scaling{Factor: o.Factor, AttentionFactor: o.AttentionFactor}
	for _, p := range t.Parameters {
		p.Set(&taken, p.Get(s))
	}
	o.SetParameters(taken)
	if t.Listed {
		o.ShortFactors, o.LongFactors = s.ShortFactor, s.LongFactor
	}
}

// sameAmplitude is the relative difference below which an amplitude that was read from
// float32 is the one that its scaling has anyway.
const sameAmplitude = 1e-6

// Assumer is implemented by models whose file names an architecture, by which is known what an
// engine computes of it.
type Assumer interface {
	// Assume takes a file of an architecture that is not known for one of another; files of known ones
	// stay what they are. The error is a *UsageError where there is no such architecture.
	Assume(like string) error
	// Assumption is the architecture that was assumed; "": none.
	Assumption() string
}

// AssumeAs has model m assume what another one does.
func AssumeAs(m, other Model) error {
	if a, ok := other.(Assumer); ok && a.Assumption() != "" {
		return Assume(m, a.Assumption())
	}
	return nil
}

// Assume has a model assume an architecture, where it can; "" is none.
func Assume(m Model, like string) error {
	if a, ok := m.(Assumer); ok && like != "" {
		return a.Assume(like)
	}
	return nil
}
