package position

import (
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// KeyValue is a metadata key and the text of its value.
type KeyValue struct{ Key, Value string }

// SetOptions say which keys of positions to set.
type SetOptions struct {
	Keys        []KeyValue
	PadSections bool // fill up M-RoPE's sections with zeros
}

// KeySetter is implemented by models whose positions an engine computes from metadata keys.
type KeySetter interface {
	// SetKeys records the keys as edits and returns the model as they make it, and of each key
	// how its value changes.
	SetKeys(SetOptions) (after Model, said []string, err error)
}

// SetKeys sets keys of positions. What each comes to, a base, a scaling or a length, is read from
// the model as the keys make it, and is decided as other verbs decide it.
func SetKeys(m Model, o SetOptions) (_ Outcome, err error) {
	defer Caught(&err)
	if len(o.Keys) == 0 && !o.PadSections {
		return Outcome{}, &UsageError{What: "no key to set: KEY=VALUE, such as rope.freq_base=1000000"}
	}
	d := m.Describe()
	if err := needsModel(d); err != nil {
		return Outcome{}, err
	}
	k, ok := m.(KeySetter)
	if !ok {
		return Outcome{}, &Refusal{Why: "an ONNX graph computes positions itself: it has no keys of them", Remedies: []report.Remedy{report.Do("rope", "", "base", "B"), report.Do("extend", "", "len", "N")}}
	}
	after, said, err := k.SetKeys(o)
	if err != nil {
		return Outcome{}, err
	}
	if err := worse(m, after); err != nil {
		return Outcome{}, err
	}
	var out Outcome
	if err := out.follow(m, after); err != nil {
		return Outcome{}, err
	}
	if a, b := d.Length.Stated, after.Describe().Length.Stated; b != nil && (a == nil || *a != *b) {
		out.Changes = append(out.Changes, report.Change{What: report.LengthBecomes(a, 0, *b), Expect: report.ExpectSameOnPrefix, To: &report.Parameters{}})
	}
	if len(out.Changes) == 0 {
		for _, says := range said {
			out.Changes = append(out.Changes, report.Change{What: says + ", which the model computes with already", Expect: report.ExpectSame, To: &report.Parameters{}})
		}
	} else {
		out.note("set " + strings.Join(said, ", "))
	}
	return finished(m, out, "the file has these values already")
}

// follow decides that encodings become what they are in the model after.
func (o *Outcome) follow(m, after Model) error {
	was, is := m.Sites(), after.Sites()
	if len(was) != len(is) {
		return &Refusal{Why: fmt.Sprintf("the model would have %d encodings in place of %d: layers that turn alike would turn differently, or the other way round", len(is), len(was)),
			Remedies: []report.Remedy{report.Do("rope", "changes one kind of layer", "layers", LayersGlobal+"|"+LayersLocal)}}
	}
	for i := range was {
		from, to := was[i].Encoding().Scheme, is[i].Encoding().Scheme
		if from.Equal(to) {
			continue
		}
		what, expect := fmt.Sprintf("%s → %s", from, to), report.ExpectChanged
		a, ok1 := from.(schemes.Rotary)
		b, ok2 := to.(schemes.Rotary)
		if ok1 != ok2 {
			return &Refusal{Why: fmt.Sprintf("%s would become %s", from, to), Instead: "keys that switch an encoding off or on belong to the weights: convert the model again"}
		}
		if ok1 {
			if err := turns(b); err != nil {
				return err
			}
			what = a.Becoming(b)
			if a.Dim != b.Dim || !slices.Equal(a.Sections, b.Sections) {
				what = fmt.Sprintf("%s → %s", a, b)
			}
			text := b // the positions of a text token are one in all sections
			text.Sections, text.InterleavedSections = a.Sections, a.InterleavedSections
			if text.Equal(a) && slices.Equal(a.Still(), b.Still()) {
				expect = report.ExpectSame
			}
		}
		p := parameters.Of(to)
		o.Changes = append(o.Changes, report.Change{Encoding: ID(i), What: what, Expect: expect, To: &p})
		o.Becomes = append(o.Becomes, Becoming{Site: i, Scheme: to})
	}
	return nil
}

// worse refuses a change that brings an error of a kind that the file does not have.
func worse(m, after Model) error {
	had := map[string]bool{}
	for _, f := range m.Findings() {
		had[f.Rule] = true
	}
	for _, f := range after.Findings() {
		if f.Level == report.LevelError && !had[f.Rule] {
			return &Refusal{Why: f.Message, Instead: f.Hint, Remedies: f.Remedies}
		}
	}
	return nil
}
