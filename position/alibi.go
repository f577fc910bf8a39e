package position

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// ALiBiOptions say which bias to add.
type ALiBiOptions struct {
	MaxBias float64   // 0: 8, as in the paper
	Slopes  []float64 // one a head; nil: by MaxBias
	// Replace takes the effect of the encodings that are there away; without
	// it the bias comes on top of them.
	Replace bool
	// Remove takes an ALiBi bias that is there away, and adds none.
	Remove bool
}

// AddALiBi adds ALiBi's linear bias to every attention of a model.
func AddALiBi(m Model, o ALiBiOptions) (_ Outcome, err error) {
	defer Caught(&err)
	switch {
	case o.Remove && (o.Replace || o.MaxBias != 0 || o.Slopes != nil):
		return Outcome{}, &UsageError{What: "to remove a bias goes without another one: --remove stands alone"}
	case o.MaxBias != 0 && o.Slopes != nil:
		return Outcome{}, &UsageError{What: "--max-bias gives slopes by a formula, and --slopes gives them outright: choose one"}
	}
	for i, m := range o.Slopes {
		if !(m > 0) || m > math.MaxFloat32 {
			return Outcome{}, &UsageError{What: fmt.Sprintf("slope %d is %g: it must be above 0, for nearer keys to score higher", i, m)}
		}
	}
	if o.MaxBias == 0 {
		o.MaxBias = schemes.DefaultMaxBias
	}
	if !(o.MaxBias > 0) || math.IsInf(o.MaxBias, 0) {
		return Outcome{}, &UsageError{What: fmt.Sprintf("max bias %g: it must be above 0", o.MaxBias)}
	}
	if err := needsModel(m.Describe()); err != nil {
		return Outcome{}, err
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	has, err := o.clear(m, &out)
	if err != nil || out.Nothing != "" {
		return out, err
	}
	if o.Remove && out.Changes == nil {
		out.Nothing = "the model has no ALiBi bias"
		return out, nil
	}
	if !has {
		if err := o.add(m, &out); err != nil {
			return Outcome{}, err
		}
	}
	return finished(m, out, "the model has this bias already")
}

// clear looks at the encodings that are there: a bias like the one asked for
// is enough, another stands in the way, and Replace neutralises the rest. It reports
// whether the model has the bias asked for.
func (o ALiBiOptions) clear(m Model, out *Outcome) (has bool, err error) {
	another := slices.ContainsFunc(m.Sites(), func(s Site) bool { // in some layers, perhaps
		a, linear := s.Encoding().Scheme.(schemes.ALiBi)
		return linear && !a.Equal(o.bias(a.Heads))
	})
	for i, s := range m.Sites() {
		e := s.Encoding()
		_, linear := e.Scheme.(schemes.ALiBi)
		if (o.Remove || !o.Replace) && !linear || e.Scheme.Name() == report.SchemeNone {
			continue
		}
		if linear && !o.Remove {
			if has = !another; has {
				continue
			}
			if !o.Replace {
				return false, &Refusal{Why: "the model has another ALiBi bias already", Remedies: []report.Remedy{report.Do("alibi", "takes its place", "replace", "")}}
			}
			if e.Form == report.FormKeys {
				continue // the new value takes its place
			}
		}
		n, ok := s.(Neutralizer)
		if !ok {
			r := &Refusal{Why: fmt.Sprintf("encoding %s (%s) cannot be taken away", ID(i), e.Scheme.Name())}
			if err := o.add(m, new(Outcome)); err != nil {
				return false, err // and the bias could not be added either
			}
			if o.Replace {
				r.Instead = "without --replace the bias comes on top"
			}
			return false, r
		}
		if err := n.Neutralize(); err != nil {
			return false, err
		}
		out.Changes = append(out.Changes, report.Change{Encoding: ID(i), What: EncodingName(e.Scheme) + " disabled", Expect: report.ExpectChanged})
		out.Becomes = append(out.Becomes, Becoming{Site: i})
		if e.Capacity > 0 && e.Beyond == report.BeyondError && e.Form != report.FormKeys {
			out.note(fmt.Sprintf("what made the %s stays, and the model ends where it did: at %d positions", EncodingName(e.Scheme), e.Capacity))
		}
	}
	if has && out.Changes == nil {
		out.Nothing = "the model has this bias already"
	}
	return has, nil
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bias is the bias asked for, of so many heads.
func (o ALiBiOptions) bias(heads int) schemes.ALiBi {
	if o.Slopes != nil {
		return schemes.ALiBi{Heads: heads, Slopes: o.Slopes}
	}
	return schemes.ALiBi{Heads: heads, MaxBias: o.MaxBias}
}

// add gives every attention the bias, but for those across two sequences.
func (o ALiBiOptions) add(m Model, out *Outcome) error {
	if o.Remove {
		return nil
	}
	first, n, err := everyAttention(m, "bias", out, func(a *Attention) func() error {
		if a.AddBias == nil {
			return nil
		}
		return func() error {
			if o.Slopes != nil && a.Heads > 0 && len(o.Slopes) != a.Heads {
				return &UsageError{What: fmt.Sprintf("%d slopes for %d heads: one a head is needed", len(o.Slopes), a.Heads)}
			}
			return a.AddBias(o.bias(a.Heads))
		}
	})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(m.Sites(), func(s Site) bool { return s.Encoding().IsGrid() }) {
		out.note("distances are counted in the order of an image's patches, which is not that of the picture")
	}
	bias := o.bias(first.Heads)
	which := "max bias " + schemes.Text(o.MaxBias)
	if o.Slopes != nil {
		which = "slopes of its own"
	}
	to := parameters.Of(bias)
	becomes := Becoming{Site: slices.IndexFunc(m.Sites(), func(s Site) bool {
		_, linear := s.Encoding().Scheme.(schemes.ALiBi)
		return linear && s.Encoding().Form == report.FormKeys // there is one key for all biases
	}), Scheme: bias}
	change := report.Change{What: fmt.Sprintf("ALiBi with %s added to %s of %s", which, plural(n, "attention"), plural(first.Heads, "head")), Expect: report.ExpectChanged, To: &to}
	if i := becomes.Site; i >= 0 {
		change.Encoding, change.What = ID(i), fmt.Sprintf("%s → ALiBi with %s", m.Sites()[i].Encoding().Scheme, which)
	}
	out.Becomes, out.Changes = append(out.Becomes, becomes), append(out.Changes, change)
	return nil
}
