package position

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// WindowOptions say how far queries are to look back.
type WindowOptions struct {
	Positions int // keys that a query sees, its own among them; 0: as many as the model states
	Sinks     int // first keys of all that every query sees beside those
}

// AddWindow lets every attention of a model see only the keys near its query, and the first ones
// (Xiao et al. 2023, §3.2). Attentions that see less already stay as they are.
func AddWindow(m Model, o WindowOptions) (_ Outcome, err error) {
	defer Caught(&err)
	d := m.Describe()
	if err := needsModel(d); err != nil {
		return Outcome{}, err
	}
	if o.Positions == 0 && d.Length.Stated != nil {
		o.Positions = *d.Length.Stated
	}
	switch {
	case o.Positions == 0:
		return Outcome{}, &UsageError{What: "the model states no length that a window could have: --len N gives it"}
	case o.Positions < 0 || o.Positions > MaxLength:
		return Outcome{}, &UsageError{What: fmt.Sprintf("a window of %d positions: it must be from 1 to %d", o.Positions, MaxLength)}
	case o.Sinks < 0 || o.Sinks > MaxLength:
		return Outcome{}, &UsageError{What: fmt.Sprintf("%d first positions: they must be from 0 to %d", o.Sinks, MaxLength)}
	}
	if err := whole(m); err != nil {
		return Outcome{}, err
	}
	if slices.ContainsFunc(m.Sites(), func(s Site) bool { return s.Encoding().IsGrid() || len(parameters.Of(s.Encoding().Scheme).Window) == 2 }) {
		return Outcome{}, &Refusal{Why: "the model places the patches of a picture: what is near in their order is not what is near in the picture"}
	}
	w := schemes.SlidingWindow{Positions: o.Positions, Sinks: o.Sinks}
	if n := Length(m, d).Capacity; n != nil && *n <= w.Positions {
		return Outcome{Nothing: fmt.Sprintf("the model has %d positions: %s hides none of them", *n, w)}, nil
	}
	out := Outcome{Window: w}
	narrow := 0
	first, n, err := everyAttention(m, "window", &out, func(a *Attention) func() error {
		switch {
		case a.AddWindow == nil:
			return nil
		case a.Window().Within(w):
			return func() error { narrow++; return nil }
		}
		return func() error { return a.AddWindow(w) }
	})
	switch {
	case err != nil:
		return Outcome{}, err
	case narrow == n:
		return Outcome{Nothing: fmt.Sprintf("no attention sees more than %s already", w)}, nil
	case narrow > 0:
		out.note(plural(narrow, "attention") + " with such a window or a narrower one stayed as it was")
	}
	if _, err := out.follow(m, &Refusal{Why: "the engine turns layers with a window by another formula", Instead: "export the model to ONNX and add the window there"}); err != nil {
		return Outcome{}, err
	}
	var to report.Parameters
	parameters.Window(w, &to)
	out.Changes = []report.Change{{What: fmt.Sprintf("%s for %s of %s", w, plural(n-narrow, "attention"), plural(first.Heads, "head")), Expect: report.ExpectChanged, To: &to}}
	out.besideWindow(m, w)
	mend(m, &out)
	return out, nil
}

// besideWindow notes what a window does not do.
func (o *Outcome) besideWindow(m Model, w schemes.SlidingWindow) {
	if l := Length(m, m.Describe()); l.Capacity != nil {
		o.note(fmt.Sprintf("what ends at %d positions still does: a window bounds distances, no table", *l.Capacity))
	} else if n := l.Stated; n != nil {
		o.note(fmt.Sprintf("the stated length stays %d: extend --method none states more, for no distance within the window grows with it", *n))
	}
	if w.Sinks > 0 && slices.ContainsFunc(m.Sites(), func(s Site) bool { _, turns := s.Encoding().Scheme.(schemes.Rotary); return turns }) {
		o.note(fmt.Sprintf("the first %d positions stay where they are: their distance to a query grows with the text, beyond what was trained, where StreamingLLM counts positions within its cache", w.Sinks))
	}
}

// everyAttention does something to every attention but those across two sequences, and returns the first of these
// and how many they are. place gives what is to be done, nil where an attention has no place for a bias or
// window, as what calls it.
func everyAttention(m Model, what string, out *Outcome, place func(*Attention) func() error) (first *Attention, n int, err error) {
	attentions := m.Attentions()
	if len(attentions) == 0 {
		return nil, 0, &Refusal{Why: fmt.Sprintf("no attention was found to which a %s could be added", what)}
	}
	crossing := 0
	for _, a := range attentions {
		if a.Crosses {
			crossing++
			continue
		}
		act := place(a)
		if act == nil {
			why := fmt.Sprintf("the attention of layer %d has no place for a %s", a.Layer, what)
			if reason := cmp.Or(a.Closed, a.Unsupported); reason != "" {
				why += ": " + reason
			}
			return nil, 0, &Refusal{Why: why}
		}
		first = cmp.Or(first, a)
		if err := act(); err != nil {
			return nil, 0, err
		}
	}
	if first == nil {
		return nil, 0, &Refusal{Why: "all attentions take keys from another sequence than queries (cross-attention): there is no distance between them"}
	}
	if crossing > 0 {
		out.note(fmt.Sprintf("%s without the %s: between queries and keys of two sequences there is no distance", plural(crossing, "cross-attention"), what))
	}
	return first, len(attentions) - crossing, nil
}
