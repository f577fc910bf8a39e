package position

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// RescaleOptions say how a rotary encoding should turn. Zero values are not
// asked for.
type RescaleOptions struct {
	Base            float64
	Scaling         string // one of ScalingTypes
	Factor          float64
	OriginalLength  int
	LowFreqFactor   float64 // llama3
	HighFreqFactor  float64 // llama3
	BetaFast        float64 // yarn
	BetaSlow        float64 // yarn
	AttentionFactor float64 // amplitude of cos and sin as computed
	NoTruncate      bool    // yarn: bounds are not rounded
	Length          int     // states a length as well
}

// Misstater is implemented by sites whose file may state a rotation in values that no
// engine takes: stored again, the same rotation is a change.
type Misstater interface{ Misstated() bool }

// ScalingTypes are the words of RescaleOptions.Scaling.
func ScalingTypes() []string {
	return schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Settable })
}

// Rescale changes base and scaling of the model's rotary encodings: those of
// layers that see everything, or where there are none, those that slide.
func Rescale(m Model, o RescaleOptions) (_ Outcome, err error) {
	defer caught(&err)
	if err := o.check(); err != nil {
		return Outcome{}, err
	}
	d := m.Describe()
	if err := needsModel(d); err != nil {
		return Outcome{}, err
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	chosen := rotations(m)
	if len(chosen) == 0 {
		return Outcome{}, &Refusal{Why: "the model has no rotary encoding that could be changed", Instead: "inspect says what it has"}
	}
	if err := cmp.Or(o.unread(m, chosen), oneGlobal(m, chosen)); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	for _, i := range chosen {
		if err := o.apply(m, i, d, &out); err != nil {
			return Outcome{}, err
		}
	}
	if err := o.state(m, d, &out); err != nil {
		return Outcome{}, err
	}
	mend(m, &out)
	plan, err := m.Edits()
	if err != nil {
		return Outcome{}, err
	}
	if len(plan.Edits) == 0 {
		out.Nothing = o.already()
	}
	return out, nil
}

// check looks at the options alone.
func (o RescaleOptions) check() error {
	wrong := func(format string, args ...any) error { return &UsageError{What: fmt.Sprintf(format, args...)} }
	factors := map[string]float64{"factor": o.Factor, "low-freq-factor": o.LowFreqFactor, "high-freq-factor": o.HighFreqFactor,
		"beta-fast": o.BetaFast, "beta-slow": o.BetaSlow, "attention-factor": o.AttentionFactor}
	for _, name := range []string{"factor", "low-freq-factor", "high-freq-factor", "beta-fast", "beta-slow", "attention-factor"} {
		if v := factors[name]; !(v >= 0) || math.IsInf(v, 0) {
			return wrong("--%s %g: it must be above 0", name, v)
		}
	}
	scaling := schemes.Scaling{Type: o.Scaling}.Kind()
	switch {
	case o.Base == 0 && o.Scaling == "":
		return wrong("nothing asked for: a base or a scaling is needed")
	case o.Base != 0 && (!(o.Base > 1) || o.Base > math.MaxFloat32):
		return wrong("base %g: it must be above 1", o.Base)
	case o.Scaling != "" && !slices.Contains(ScalingTypes(), o.Scaling):
		return wrong("no scaling %q: there are %v", o.Scaling, ScalingTypes())
	case scaling.NeedsFactor && o.Factor == 0:
		return wrong("scaling %s needs a factor", o.Scaling)
	case o.Factor != 0 && !scaling.NeedsFactor:
		return wrong("a factor needs a scaling: %s", strings.Join(schemes.ScalingNames(func(t *schemes.ScalingType) bool { return t.Settable && t.NeedsFactor }), ", "))
	case o.OriginalLength < 0 || o.Length < 0 || int64(o.OriginalLength) > MaxLength || int64(o.Length) > MaxLength:
		return wrong("a length must be between 1 and %d", MaxLength)
	case o.LowFreqFactor > o.HighFreqFactor && o.HighFreqFactor != 0:
		return wrong("low-freq-factor %g is above high-freq-factor %g", o.LowFreqFactor, o.HighFreqFactor)
	}
	return nil
}

// rotations picks the sites to change: those of attentions that see everything,
// else those that see through a window, as configurations of models with both
// are edited (Gemma 3, ModernBERT).
func rotations(m Model) []int {
	var full, sliding []int
	for i, s := range m.Sites() {
		if _, ok := s.Encoding().Scheme.(schemes.Rotary); !ok {
			continue
		}
		if w, ok := s.(Windower); ok && w.Window() > 0 {
			sliding = append(sliding, i)
		} else {
			full = append(full, i)
		}
	}
	if full == nil {
		return sliding
	}
	return full
}

// oneGlobal refuses to take two rotations of a graph for global ones that turn
// with different bases: models have those for layers that slide and layers that
// do not, and which is which would show in their masks alone.
func oneGlobal(m Model, chosen []int) error {
	if m.Describe().Format != FormatONNX {
		return nil // where an architecture says which layers slide
	}
	var said []string
	bases := map[float64]bool{}
	for _, i := range chosen {
		e := m.Sites()[i].Encoding()
		base := e.Scheme.(schemes.Rotary).Base
		if base == 0 || e.IsGrid() || bases[base] {
			continue
		}
		bases[base] = true
		where := ID(i)
		if len(e.Where) > 0 {
			where = cmp.Or(e.Where[0].Node, e.Where[0].Tensor, where)
		}
		said = append(said, fmt.Sprintf("base %.7g at %s", base, where))
	}
	if len(said) < 2 {
		return nil
	}
	return &Refusal{Why: "the model has rotations of different bases, and it cannot be told which one is global: " + strings.Join(said, ", "),
		Instead: "export the model so that its masks show the sliding window (with a free length, or a longer one)"}
}

// apply changes one site.
func (o RescaleOptions) apply(m Model, i int, d report.Inspect, out *Outcome) error {
	s := m.Sites()[i]
	from := s.Encoding().Scheme.(schemes.Rotary)
	capacity := s.Encoding().Capacity
	to, err := o.scheme(from, d, capacity)
	if err != nil {
		return err
	}
	if m, ok := s.(Misstater); to.Equal(from) && !(ok && o.Scaling != "" && m.Misstated()) {
		return nil
	}
	assumed, err := o.assumed(from)
	if err != nil {
		return err
	}
	positions := 0
	if capacity > 0 {
		positions = max(capacity, o.Length)
	}
	want := Want{Scheme: to, Positions: positions, Anew: o.Scaling != ""}
	if err := s.Hold(want); err != nil {
		return err
	}
	out.decide(m, i, want, describe(from, to), report.ExpectChanged)
	out.note(assumed)
	out.note(o.capped(from, to, d))
	return nil
}

// scheme is the rotation asked for.
func (o RescaleOptions) scheme(from schemes.Rotary, d report.Inspect, capacity int) (schemes.Rotary, error) {
	if o.Scaling == "" {
		return o.rebase(from)
	}
	to := from
	if o.Base == 0 {
		to = from.Rebased() // what comes now comes on top of that
	} else {
		to.Base = o.Base
	}
	original := o.OriginalLength
	if original == 0 {
		stated := 0
		if d.Length.Stated != nil {
			stated = *d.Length.Stated
		}
		original = originalLength(from.Scaling, capacity, stated)
	}
	return o.scaled(to, original)
}

// scaled is a rotation with the scaling asked for.
func (o RescaleOptions) scaled(to schemes.Rotary, original int) (schemes.Rotary, error) {
	asked, t := o.parameters(), schemes.Scaling{Type: o.Scaling}.Kind()
	asked.OriginalLength = original
	to = to.WithScaling(t.With(asked))
	for _, p := range t.Parameters {
		if p.Needed && p.Get(to.Scaling) == 0 {
			return to, &UsageError{What: fmt.Sprintf("scaling %s needs the %s: the file does not tell with which length the model was trained", o.Scaling, strings.ReplaceAll(p.Name, "-", " "))}
		}
	}
	return to.Rebased(), nil
}

// state sets the stated length when it was asked for.
func (o RescaleOptions) state(m Model, d report.Inspect, out *Outcome) error {
	if o.Length == 0 {
		return nil
	}
	for i, s := range m.Sites() {
		e := s.Encoding()
		if _, rotary := e.Scheme.(schemes.Rotary); !rotary && e.Capacity > 0 && e.Capacity < o.Length {
			return &Refusal{Why: fmt.Sprintf("encoding %s ends at %d positions", ID(i), e.Capacity), Remedies: []report.Remedy{report.Do("extend", "", "len", strconv.Itoa(o.Length))}}
		}
	}
	old := 0
	if d.Length.Stated != nil {
		old = *d.Length.Stated
	} else if d.Format == FormatONNX && !slices.ContainsFunc(m.Sites(), func(s Site) bool { return s.Encoding().Capacity > 0 }) {
		return &UsageError{What: "a length: nothing in the file states or bounds one"}
	}
	if old == o.Length {
		return nil
	}
	if err := m.SetLength(old, o.Length); err != nil {
		return err
	}
	out.Changes = append(out.Changes, report.Change{What: fmt.Sprintf("context length %s → %d", lengthOr(d.Length.Stated, 0), o.Length), Expect: report.ExpectSameOnPrefix})
	return nil
}

// already says what the model has that was asked for.
func (o RescaleOptions) already() string {
	switch {
	case o.Scaling == "":
		return "the model already has this RoPE base"
	case o.Base == 0:
		return "the model already has this RoPE scaling"
	}
	return "the model already has this RoPE base and scaling"
}
