package rotary

import (
	"cmp"
	"fmt"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// scalingKeys is how llama.cpp holds a type of scaling in keys of its own. A type
// that has none becomes divisors in rope_freqs.weight, or is refused.
type scalingKeys struct {
	scaling string // schemes' name of the type
	tensors bool   // it is stored in factor tensors beside keys
	// lacks says what of a scaling keys cannot hold and divisors can; "": nothing.
	lacks func(*hparams.Model, schemes.Scaling) string
	store func(*Rope, schemes.Scaling) error
}

// keysOf returns how a scaling is stored in keys, nil where it cannot be.
func keysOf(s schemes.Scaling) *scalingKeys {
	name := s.Kind().Name
	for _, k := range []scalingKeys{
		{schemes.ScalingNone, false, nothing, (*Rope).storeNone},
		{schemes.ScalingLinear, false, nothing, (*Rope).storeLinear},
		{schemes.ScalingYaRN, false, yarnLacks, (*Rope).storeYaRN},
		{schemes.ScalingLongRoPE, true, nothing, (*Rope).storeLongRoPE},
		{schemes.ScalingProportional, false, proportionalLacks, (*Rope).storeProportional},
	} {
		if k.scaling == name {
			return &k
		}
	}
	return nil
}

func nothing(*hparams.Model, schemes.Scaling) string { return "" }

func (r *Rope) storeNone(s schemes.Scaling) error {
	return r.storeAttention(cmp.Or(s.AttentionFactor, 1), 1)
}

func (r *Rope) storeLinear(s schemes.Scaling) error {
	if arch.ScalesAttention(r.m.Family()) {
		return refuse(fmt.Sprintf("llama.cpp's %s multiplies its attention scale by YaRN's amplitude for every factor, also of type linear", r.m.Family()), "", report.Do("rope", "", "scaling", "yarn"), report.Do("rope", "", "base", "B"))
	}
	r.setScaling(arch.TypeLinear, s.Factor)
	return r.storeAttention(cmp.Or(s.AttentionFactor, 1), 1)
}

// yarnLacks: engines round the ramp's bounds, and few read those in turns.
func yarnLacks(m *hparams.Model, s schemes.Scaling) string {
	fast, slow := cmp.Or(s.BetaFast, schemes.DefaultBetaFast), cmp.Or(s.BetaSlow, schemes.DefaultBetaSlow)
	switch {
	case s.NoTruncate:
		return "YaRN without rounded bounds"
	case m.Arch.Uses(arch.KeyBetaFast), fast == schemes.DefaultBetaFast && slow == schemes.DefaultBetaSlow:
		return ""
	}
	return fmt.Sprintf("YaRN with bounds %g and %g, which only grok and mistral3 read from keys,", fast, slow)
}

func (r *Rope) storeYaRN(s schemes.Scaling) error {
	if s.OriginalLength <= 0 {
		return &position.UsageError{What: "YaRN needs the original length"}
	}
	r.setScaling(arch.TypeYaRN, s.Factor)
	r.m.Edit.Set(r.m.Key(arch.KeyOriginal), u32(s.OriginalLength), "length that the model was trained with")
	r.storeBetas(s)
	return r.storeYaRNAttention(s)
}

// proportionalLacks: which pairs turn is in the divisors.
func proportionalLacks(_ *hparams.Model, s schemes.Scaling) string {
	return "scaling of type " + s.Type
}

// storeProportional is for the other pairs, where the divisors stay.
func (r *Rope) storeProportional(s schemes.Scaling) error {
	if s.Factor == 0 || s.Factor == 1 {
		return r.storeNone(s)
	}
	return r.storeLinear(s)
}
