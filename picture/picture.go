// Package picture makes figures of a model's position encodings: the numbers
// that an encoding computes, read from the model's sites as verify and the
// verbs read them. It knows no file format and draws nothing.
//
// Start with [Of], one figure for each encoding of a model, and [Compare], the
// figures of two models in one. Package picture/svg, raster, page and terminal
// show what they return.
package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Nothing is the error of a model with no encoding that could be drawn.
type Nothing struct {
	Why string // what it has instead
}

// Error is why.
func (n *Nothing) Error() string { return "there is nothing to draw: " + n.Why }

// Options say how much of a model may be read for its figures. The zero value is right for
// files on a disk.
type Options struct {
	// Numbers bounds the numbers that are read of a table; 0: 33,554,432. Of a larger
	// table fewer rows are read, and the figure says so.
	Numbers int
}

// numbers is the bound that applies.
func (o Options) numbers() int {
	if o.Numbers > 0 {
		return min(o.Numbers, mostNumbers)
	}
	return mostNumbers
}

// subject is one encoding of a model that is to be drawn.
type subject struct {
	model    position.Model
	index    int // of the site
	site     position.Site
	encoding position.Encoding
	report   report.Inspect
	name     string // the model's, "" where only one is drawn
	numbers  int    // that may be read of its table
}

// subjects are the encodings of a model.
func subjects(m position.Model, name string, o Options) []subject {
	r := position.Inspect(m)
	var out []subject
	for i, s := range m.Sites() {
		out = append(out, subject{model: m, index: i, site: s, encoding: s.Encoding(), report: r, name: name, numbers: o.numbers()})
	}
	return out
}

// Of returns a figure for each encoding of a model that has numbers to be
// drawn; their titles begin with name, unless it is empty. Errors are those of reading;
// a model without any is a [*Nothing].
func Of(m position.Model, name string, o Options) ([]figure.Figure, error) {
	var out []figure.Figure
	all := subjects(m, "", o)
	for _, s := range all {
		f, ok, err := draw([]subject{s})
		if err != nil {
			return nil, err
		}
		if ok {
			f.Title = joined(name, f.Title, ": ")
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, nothing(all)
	}
	return described(out), nil
}

// described settles figures and ends their descriptions with the notes, which those who do not see the
// picture are not told otherwise.
func described(figures []figure.Figure) []figure.Figure {
	settle(figures)
	for i := range figures {
		if f := &figures[i]; len(f.Notes) > 0 {
			f.Description += " " + strings.Join(f.Notes, ". ") + "."
		}
	}
	return figures
}

// Compare returns the figures of two models: encodings of one scheme are drawn
// in one figure, in the order of the models, what only one has in its own. a
// and b are what the models are called.
func Compare(before position.Model, a string, after position.Model, b string, o Options) ([]figure.Figure, error) {
	if a == b {
		a, b = a+" (1)", b+" (2)"
	}
	first, second := subjects(before, a, o), subjects(after, b, o)
	used := make([]bool, len(second))
	var out []figure.Figure
	for _, s := range first {
		group := []subject{s}
		for j, t := range second {
			if !used[j] && kindOf(s) == kindOf(t) {
				used[j] = true
				group = append(group, t)
				break
			}
		}
		f, ok, err := draw(group)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, f)
		}
	}
	for j, t := range second {
		if used[j] {
			continue
		}
		f, ok, err := draw([]subject{t})
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return nil, nothing(append(first, second...))
	}
	out = described(out)
	slices.SortStableFunc(out, func(a, b figure.Figure) int { return cmp.Compare(rank(a), rank(b)) })
	return out, nil
}

// rank orders figures of two models: what differs stands first.
func rank(f figure.Figure) int {
	if f.Compared && !f.Differs {
		return 1
	}
	return 0
}

// nothing says which encodings have no picture.
func nothing(all []subject) error {
	var names []string
	for _, s := range all {
		name := "no position encoding"
		if s.encoding.Scheme != nil && s.encoding.Scheme.Name() != schemes.NameNone {
			name = position.EncodingName(s.encoding.Scheme) + " has no numbers in the file that could be drawn"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = []string{"the file has no position encoding of its own"}
	}
	return &Nothing{Why: strings.Join(names, "; ")}
}

// kindOf is the kind of figure that an encoding gets, "" for none.
func kindOf(s subject) string {
	switch s.encoding.Scheme.(type) {
	case schemes.Rotary:
		return figure.KindRotation
	case schemes.Sinusoid:
		return figure.KindSinusoids
	case schemes.ALiBi:
		return figure.KindLinear
	case schemes.Buckets:
		return figure.KindBuckets
	}
	if r, ok := s.site.(position.Rows); ok && r.Len() > 0 && r.Dim() > 0 {
		return figure.KindTable
	}
	if len(attentionsOf(s)) > 0 {
		return figure.KindScores
	}
	return ""
}

// draw makes the figure of one encoding, or of the same one of two models.
func draw(group []subject) (f figure.Figure, ok bool, err error) {
	switch kindOf(group[0]) {
	case figure.KindRotation:
		f, ok, err = rotation(group)
	case figure.KindSinusoids:
		f, ok, err = sinusoids(group)
	case figure.KindLinear:
		f, ok, err = linear(group)
	case figure.KindBuckets:
		f, ok, err = buckets(group)
	case figure.KindTable:
		f, ok, err = table(group)
	case figure.KindScores:
		f, ok, err = scores(group)
	}
	if err != nil || !ok {
		return figure.Figure{}, false, err
	}
	f.Kind, f.Encoding, f.Compared = kindOf(group[0]), position.ID(group[0].index), len(group) == 2
	return f, true, nil
}

// title is the name of the encoding with the layers that it is used in, and the
// models' names where two are drawn.
func title(group []subject) string {
	s := group[0]
	out := s.encoding.Report("").Name()
	if s.encoding.Layers != nil {
		out += fmt.Sprintf(" of %s", plural(len(s.encoding.Layers), "layer"))
	} else if same := alike(s); same > 1 {
		out += fmt.Sprintf(" (%d of %d)", s.place(), same)
	}
	switch {
	case len(group) == 2:
		out += ": " + short(group[0].name) + " and " + short(group[1].name)
	case s.name != "":
		out += ": only in " + short(s.name)
	}
	return out
}

// alike is how many encodings of the model have this one's scheme.
func alike(s subject) (n int) {
	for _, other := range s.model.Sites() {
		if e := other.Encoding(); e.Scheme != nil && e.Scheme.Name() == s.encoding.Scheme.Name() {
			n++
		}
	}
	return n
}

// place is which of the encodings of its scheme this one is, from 1.
func (s subject) place() int {
	n := 0
	for _, other := range s.model.Sites()[:s.index+1] {
		if e := other.Encoding(); e.Scheme != nil && e.Scheme.Name() == s.encoding.Scheme.Name() {
			n++
		}
	}
	return n
}

// label puts the model's name before a series where two are drawn.
func label(s subject, what string) string {
	if s.name == "" {
		return what
	}
	if what == "" {
		return short(s.name)
	}
	return short(s.name) + ", " + what
}

// short is a model's name that fits into a legend: its last 32 characters.
func short(name string) string {
	const most = 32
	if r := []rune(name); len(r) > most {
		return "…" + string(r[len(r)-most+1:])
	}
	return name
}

// length is how many positions a picture of an encoding is about: what the
// file says, else what it encodes, else fallback.
func (s subject) length(fallback int) int {
	if n := s.report.Length.Stated; n != nil && *n > 0 {
		return *n
	}
	if s.encoding.Capacity > 0 {
		return s.encoding.Capacity
	}
	return fallback
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// fit drops series that have no colour left, and says so.
func fit(f *figure.Figure, p *figure.Panel) {
	if n := len(p.Series); n > figure.MaxSeries {
		p.Series = p.Series[:figure.MaxSeries]
		f.Notes = append(f.Notes, fmt.Sprintf("%s: %d of %d lines are drawn", p.Title, figure.MaxSeries, n))
	}
}
