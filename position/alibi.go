package position

import (
	"cmp"
	"fmt"
	"math"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// ALiBiOptions say which bias to add.
type ALiBiOptions struct {
	MaxBias float64 // 0: 8, as in the paper
	// Replace takes the effect of the encodings that are there away; without
	// it the bias comes on top of them.
	Replace bool
}

// AddALiBi adds ALiBi's linear bias to every attention of a model.
func AddALiBi(m Model, o ALiBiOptions) (_ Outcome, err error) {
	defer caught(&err)
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
	if err := o.clear(m, &out); err != nil || out.Nothing != "" {
		return out, err
	}
	if err := o.add(m, &out); err != nil {
		return Outcome{}, err
	}
	mend(m, &out)
	plan, err := m.Edits()
	if err != nil {
		return Outcome{}, err
	}
	if len(plan.Edits) == 0 {
		out.Nothing = "the model has this bias already"
	}
	return out, nil
}

// clear looks at the encodings that are there: a bias like the one asked for
// is enough, another stands in the way, and Replace neutralises the rest.
func (o ALiBiOptions) clear(m Model, out *Outcome) error {
	for i, s := range m.Sites() {
		e := s.Encoding()
		if a, ok := e.Scheme.(schemes.ALiBi); ok {
			if a.Equal(schemes.ALiBi{Heads: a.Heads, MaxBias: o.MaxBias}) && !o.Replace {
				out.Nothing = "the model has this bias already"
				return nil
			}
			if !o.Replace {
				return &Refusal{Why: "the model has another ALiBi bias already", Remedies: []report.Remedy{report.Do("alibi", "takes its place", "replace", "")}}
			}
			if e.Form == report.FormKeys {
				continue // the new value takes its place
			}
		}
		if e.Scheme.Name() == report.SchemeNone || !o.Replace {
			continue
		}
		n, ok := s.(Neutralizer)
		if !ok {
			return &Refusal{Why: fmt.Sprintf("encoding %s (%s) cannot be taken away", ID(i), e.Scheme.Name()), Instead: "without replacing it, the bias comes on top"}
		}
		if err := n.Neutralize(); err != nil {
			return err
		}
		out.Changes = append(out.Changes, report.Change{Encoding: ID(i), What: EncodingName(e.Scheme) + " disabled", Expect: report.ExpectChanged})
		out.Becomes = append(out.Becomes, Becoming{Site: i})
	}
	return nil
}

// add gives every attention the bias.
func (o ALiBiOptions) add(m Model, out *Outcome) error {
	attentions := m.Attentions()
	if len(attentions) == 0 {
		return &Refusal{Why: "no attention was found to which a bias could be added"}
	}
	for _, a := range attentions {
		if a.AddBias == nil {
			why := fmt.Sprintf("the attention of layer %d has no place for a bias", a.Layer)
			if reason := cmp.Or(a.Closed, a.Unsupported); reason != "" {
				why += ": " + reason
			}
			return &Refusal{Why: why}
		}
		if err := a.AddBias(schemes.ALiBi{Heads: a.Heads, MaxBias: o.MaxBias}); err != nil {
			return err
		}
	}
	first := attentions[0]
	bias := schemes.ALiBi{Heads: first.Heads, MaxBias: o.MaxBias}
	to := Parameters(bias)
	out.Becomes = append(out.Becomes, Becoming{Site: -1, Scheme: bias})
	out.Changes = append(out.Changes, report.Change{
		What:   fmt.Sprintf("ALiBi with max bias %s added to %d attentions of %d heads", schemes.Text(o.MaxBias), len(attentions), first.Heads),
		Expect: report.ExpectChanged, To: &to})
	return nil
}
