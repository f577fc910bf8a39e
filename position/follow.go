package position

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/internal/ranges"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Foreseer is implemented by models in which layers of several kinds read the same keys.
type Foreseer interface {
	// Foreseen is the model as the edits so far make it, and what its encodings become by them: layers that
	// turned alike may turn in several ways, and others come to turn alike. What layers that see everything
	// become is the first of several.
	Foreseen() (after Model, becomes []Becoming, err error)
}

// follow decides what becomes of encodings by the edits so far, but for what was decided of them: the first that
// becomes of one. Others may not become anything where that is refused.
func (o *Outcome) follow(m Model, refused *Refusal) (after Model, err error) {
	f, ok := m.(Foreseer)
	if !ok {
		return m, nil
	}
	after, becomes, err := f.Foreseen()
	if err != nil {
		return nil, err
	}
	verb := slices.Clone(o.Becomes)
	for _, b := range becomes {
		if k := slices.IndexFunc(verb, func(d Becoming) bool { return d.Site == b.Site }); k >= 0 {
			o.Becomes[k].Split, verb[k].Site = b.Split, -1
			if at := o.changeOf(b.Site); b.Layers != nil && at >= 0 {
				o.Changes[at].What += b.where(m)
			}
			continue
		}
		if err := o.also(m, b, len(verb) > 0, refused); err != nil {
			return nil, err
		}
	}
	return after, nil
}

// also decides that an encoding becomes what the edits make of it: the keys asked for, or those of another one.
func (o *Outcome) also(m Model, b Becoming, others bool, refused *Refusal) error {
	from := m.Sites()[b.Site].Encoding().Scheme
	if refused != nil {
		return &Refusal{Why: fmt.Sprintf("%s: encoding %s (%s) would become %s", refused.Why, ID(b.Site), from, b.Scheme), Instead: refused.Instead}
	}
	what, expect := fmt.Sprintf("%s → %s", from, b.Scheme), report.ExpectChanged
	was, ok1 := from.(schemes.Rotary)
	is, ok2 := b.Scheme.(schemes.Rotary)
	if ok1 != ok2 {
		return &Refusal{Why: fmt.Sprintf("%s would become %s", from, b.Scheme), Instead: "keys that switch an encoding off or on belong to the weights: convert the model again"}
	}
	if ok1 {
		if err := turns(is); err != nil {
			return err
		}
		is = is.Stated()
		if b.Scheme, what = is, was.Becoming(is); was.SameForText(is) {
			expect = report.ExpectSame
		}
	}
	if what += b.where(m); others {
		what += ", by the same keys"
	}
	at := o.changeOf(b.Site)
	if change := *o.becomes(b, what, expect); at >= 0 { // the last change of an encoding is the verb's own
		o.Changes = slices.Insert(o.Changes[:len(o.Changes)-1], at, change)
	}
	return nil
}

// where says which layers of an encoding become something, where others do not.
func (b Becoming) where(m Model) string {
	if b.Layers == nil {
		return kindOfLayers(m, b.Site)
	}
	return " in layers " + ranges.Text(b.Layers)
}

// kindOfLayers says in which layers one of several rotations acts.
func kindOfLayers(m Model, i int) string {
	switch full, sliding := split(m); {
	case full != nil && slices.Contains(sliding, i):
		return " in layers with a sliding window"
	case sliding != nil && slices.Contains(full, i):
		return " in layers that see everything"
	}
	return ""
}

// globals are the rotations of attentions that see everything, else those that see
// through a window, as configurations of models with both are edited (Gemma 3,
// ModernBERT).
func globals(m Model) []int {
	full, sliding := split(m)
	if full == nil {
		return sliding
	}
	return full
}

// split are the rotations of attentions that see everything, and those of attentions
// that see through a window.
func split(m Model) (full, sliding []int) {
	for i, s := range m.Sites() {
		if _, ok := s.Encoding().Scheme.(schemes.Rotary); !ok {
			continue
		}
		if w, ok := s.(Windower); ok && w.Window().Positions > 0 {
			sliding = append(sliding, i)
		} else {
			full = append(full, i)
		}
	}
	return full, sliding
}

// turns refuses a rotation whose amplitude or angles are none that an engine computes with.
func turns(to schemes.Rotary) error {
	if why := to.Incomputable(); why != "" {
		return &Refusal{Why: why, Instead: "give base, factor and attention factor that go together: inspect says what the file states"}
	}
	return nil
}
