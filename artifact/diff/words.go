package diff

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/verify"
)

// encodings lists the encodings that differ. was and is are the reports about the sites
// of a and b, in their order.
func encodings(a, b position.Model, was, is []report.Encoding) []report.EncodingDiff {
	out := []report.EncodingDiff{}
	before, after := a.Sites(), b.Sites()
	if len(before) != len(was) || len(after) != len(is) { // a report has one encoding for every site
		return out
	}
	for _, p := range verify.Pairs(before, after) {
		var e report.EncodingDiff
		switch {
		case p.After < 0:
			from := was[p.Before]
			e = report.EncodingDiff{ID: from.ID, Change: report.DiffRemoved, From: &from, Says: []string{"removed"}}
		case p.Before < 0:
			to := is[p.After]
			e = report.EncodingDiff{ID: to.ID, Change: report.DiffAdded, To: &to, Says: []string{"added"}}
		default:
			from, to := was[p.Before], is[p.After]
			says := changes(from, to)
			if len(says) == 0 {
				continue
			}
			e = report.EncodingDiff{ID: from.ID, Change: report.DiffChanged, From: &from, To: &to, Says: says}
		}
		out = append(out, e)
	}
	return out
}

// arrow says that one text became another.
func arrow(label, from, to string) string {
	return strings.TrimSpace(label + " " + from + " → " + to)
}

// changes says in words in what two encodings differ. Evidence and places are left out: the
// parts of the file tell those.
func changes(from, to report.Encoding) (out []string) {
	if from.Scheme != to.Scheme {
		out = append(out, arrow("", report.EncodingName(from.Scheme), report.EncodingName(to.Scheme)))
	}
	if a, b := formOf(from.Form), formOf(to.Form); a != b {
		out = append(out, arrow("", a, b))
	}
	was, is := from.Limit(), to.Limit()
	if was != is {
		out = append(out, was.To(is))
	}
	if from.Beyond != to.Beyond {
		out = append(out, arrow("longer input", beyond(from.Beyond), beyond(to.Beyond)))
	}
	if !reflect.DeepEqual(from.Layers, to.Layers) {
		out = append(out, arrow("layers", layers(from.Layers), layers(to.Layers)))
	}
	a, b := from.Parameters, to.Parameters
	if was != is && a.Rows != nil && b.Rows != nil && was.Known() && is.Known() && *b.Rows-*a.Rows == int(is-was) {
		a.Rows, b.Rows = nil, nil // said as positions
	}
	x, y := scaling(a.Scaling), scaling(b.Scaling)
	if x != y {
		out = append(out, arrow("scaling", x, y))
	}
	if a.Scaling != nil && b.Scaling != nil && a.Scaling.Type == b.Scaling.Type {
		p, q := *a.Scaling, *b.Scaling
		p.Factor, q.Factor, p.OriginalLength, q.OriginalLength = nil, nil, nil, nil // said
		out = append(out, fields(reflect.ValueOf(p), reflect.ValueOf(q))...)
	}
	a.Scaling, b.Scaling = nil, nil
	return append(out, fields(reflect.ValueOf(a), reflect.ValueOf(b))...)
}

// scaling is a type of scaling with its factor and original length.
func scaling(s *report.Scaling) string {
	if s == nil {
		return report.SchemeNone
	}
	out := s.Type
	if s.Factor != nil {
		out += " ×" + schemes.Text(float64(*s.Factor))
	}
	if s.OriginalLength != nil {
		out += fmt.Sprintf(" from %d", *s.OriginalLength)
	}
	return out
}

// fields says which fields of two values of one struct differ, by their names in JSON.
func fields(a, b reflect.Value) (out []string) {
	t := a.Type()
	for i := range t.NumField() {
		x, y := a.Field(i), b.Field(i)
		if reflect.DeepEqual(x.Interface(), y.Interface()) {
			continue
		}
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		name = strings.ReplaceAll(name, "_", " ")
		if s, u := value(x), value(y); s != u {
			out = append(out, arrow(name, s, u))
		} else {
			out = append(out, name+" differ") // lists that are too long to be told
		}
	}
	return out
}

// mostListed is the longest list whose elements are told.
const mostListed = 8

// value is a field of a report in words.
func value(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "none"
		}
		return value(v.Elem())
	case reflect.Float64:
		return schemes.Text(v.Float())
	case reflect.Slice:
		if v.Len() == 0 {
			return "none"
		}
		if v.Len() > mostListed {
			return fmt.Sprintf("%d values", v.Len())
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = value(v.Index(i))
		}
		return strings.Join(parts, ", ")
	case reflect.String:
		if v.String() == "" {
			return "none"
		}
	}
	return fmt.Sprint(v.Interface())
}

func layers(l report.Layers) string {
	if l == nil {
		return "all"
	}
	return value(reflect.ValueOf([]int(l)))
}

// formOf says where an encoding's numbers come from.
func formOf(form *string) string {
	if form == nil {
		return "no form"
	}
	switch *form {
	case report.FormKeys:
		return "computed from keys"
	case report.FormTable:
		return "table"
	case report.FormCache:
		return "cosine and sine tables"
	case report.FormRuntime:
		return "computed by the graph"
	case report.FormBaked:
		return "folded for one length"
	}
	return *form
}

// beyond says what input does that is longer than what is encoded.
func beyond(word string) string {
	switch word {
	case report.BeyondError:
		return "fails"
	case report.BeyondClamps:
		return "repeats the last position"
	case report.BeyondWrong:
		return "is silently wrong"
	case report.BeyondContinues:
		return "continues"
	}
	return "is not known"
}

// summary is the sentence that a reviewer needs: what became of encodings and lengths, how much of
// the files differs, and what became of the weights.
func summary(d report.Diff, t tally) string {
	if d.Same {
		if d.Identical {
			return "the files are identical"
		}
		return fmt.Sprintf("the same model: all %d parts are equal; the files differ in what no part tells (order, padding, names of nodes, documentation)", d.Parts)
	}
	out := encodingSummary(d)
	parts := fmt.Sprintf("%d of %d parts differ", d.Differ, d.Parts)
	if t.inner > 0 {
		parts += fmt.Sprintf(", %d of them types stated of inner values", t.inner)
	}
	out = append(out, parts)
	switch {
	case t.tensors == 0:
	case t.tensorsDiffer == 0:
		out = append(out, "all tensors byte-identical"+underOtherNames(t))
	case t.weights > 0 && t.weightsDiffer == 0:
		out = append(out, "all other weights byte-identical"+underOtherNames(t))
	case t.weights > 0:
		out = append(out, fmt.Sprintf("%d of %d weights differ", t.weightsDiffer, t.weights))
	}
	return strings.Join(out, "; ")
}

// encodingSummary says what became of encodings and lengths.
func encodingSummary(d report.Diff) (out []string) {
	for _, e := range d.Encodings {
		scheme := e.To
		if scheme == nil || e.From != nil {
			scheme = e.From
		}
		says := strings.Join(e.Says, ", ")
		if e.From == nil || e.To == nil || e.From.Scheme == e.To.Scheme {
			says = report.EncodingName(scheme.Scheme) + " " + says
		}
		out = append(out, says)
	}
	if l := d.Length; l != nil && !equalNumber(l.From.Stated, l.To.Stated) {
		out = append(out, arrow("stated length", stated(l.From.Stated), stated(l.To.Stated)))
	}
	if len(out) == 0 {
		out = append(out, "position encodings and lengths are equal")
	}
	return out
}

// formatName is a format as its own documentation writes it.
func formatName(format string) string { return strings.ToUpper(format) }

func underOtherNames(t tally) string {
	if t.renamed == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d parts have another name)", t.renamed)
}

func stated(n *int) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}
