package position

import (
	"strings"

	"github.com/modelpatch/modelpatch/report"
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
	// SetKeys records the keys as edits and returns of each how its value changes.
	SetKeys(SetOptions) (said []string, err error)
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
	said, err := k.SetKeys(o)
	if err != nil {
		return Outcome{}, err
	}
	var out Outcome
	after, err := out.follow(m, nil)
	if err != nil {
		return Outcome{}, err
	} else if err := worse(m, after); err != nil {
		return Outcome{}, err
	}
	if a, b := d.Length.Stated, after.Describe().Length.Stated; b != nil && (a == nil || *a != *b) {
		out.Changes = append(out.Changes, report.Change{What: report.LengthBecomes(a, 0, *b), Expect: report.ExpectSameOnPrefix, To: &report.Parameters{}})
	}
	if len(out.Changes) == 0 {
		for _, says := range said {
			out.Changes = append(out.Changes, report.Change{What: says + ", by which nothing is computed otherwise", Expect: report.ExpectSame, To: &report.Parameters{}})
		}
	} else {
		out.note("set " + strings.Join(said, ", "))
	}
	return finished(m, out, "the file has these values already")
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
