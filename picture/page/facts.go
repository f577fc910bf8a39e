package page

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/picture/figure"
	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
)

// Facts are what stands first in a report, as labels and values; what does not apply is
// left out.
func Facts(r report.Inspect) (out [][2]string) {
	text := func(label, s string) {
		if s != "" {
			out = append(out, [2]string{label, s})
		}
	}
	total := r.Bytes
	for _, f := range r.Files {
		total += f.Bytes
	}
	text("format", r.Format+", "+r.Kind+", "+report.Size(r.Bytes))
	if n := len(r.Files); n > 0 {
		text("files", fmt.Sprintf("%d, %s in all", n+1, report.Size(total)))
	}
	text("architecture", value(r.Architecture))
	text("producer", value(r.Producer))
	unit, larger := r.Units()
	text("stated", r.StatedText())
	limit := r.Length.Limit()
	text("longest input", limit.Of(unit))
	if limit != report.NoLimit && (limit.Known() || r.Length.Beyond != report.BeyondUnknown) {
		text(larger, report.BeyondText(r.Length.Beyond))
	}
	return out
}

// EncodingFacts are what a report says of an encoding, as labels and values.
func EncodingFacts(e report.Encoding) [][2]string {
	var out [][2]string
	if says := e.Source(); says != "" {
		out = append(out, [2]string{"numbers", says})
	}
	unit := "positions"
	if e.Parameters.Grid != nil {
		unit = "patches"
	}
	if e.Scheme != report.SchemeNone {
		out = append(out, [2]string{"longest input", e.Limit().Of(unit)})
	}
	if e.Scheme == report.SchemeUnknown { // the reasons are all that is known of it
		for _, v := range e.Evidence {
			out = append(out, [2]string{"because", v.Says})
		}
	}
	if e.Layers != nil {
		out = append(out, [2]string{"layers", joined(e.Layers, ", ")})
	}
	return append(out, parameterFacts(e.Parameters)...)
}

// Reasons are where an encoding is, and on what a report rests.
func Reasons(e report.Encoding) (out []string) {
	for _, at := range e.Where {
		out = append(out, where(at))
	}
	for _, v := range e.Evidence {
		out = append(out, v.Kind+": "+v.Says)
	}
	return out
}

// where says a place in a model.
func where(at report.Where) string {
	var parts []string
	for _, p := range [][2]string{{"key ", at.Key}, {"tensor ", at.Tensor}, {"node ", at.Node}, {"of ", at.File}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	if at.Range != nil && at.Range[1] > at.Range[0] {
		parts = append(parts, fmt.Sprintf("bytes %d–%d", at.Range[0], at.Range[1]-1))
	}
	return strings.Join(parts, ", ")
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// parameterFacts are a scheme's parameters as labels and values, in the order of the
// report; what does not apply is left out.
func parameterFacts(p report.Parameters) (out [][2]string) {
	whole := func(label string, n *int) {
		if n != nil && *n != 0 {
			out = append(out, [2]string{label, fmt.Sprint(*n)})
		}
	}
	number := func(label string, n *report.Number) {
		if n != nil {
			out = append(out, [2]string{label, numberText(*n)})
		}
	}
	text := func(label, s string) {
		if s != "" {
			out = append(out, [2]string{label, s})
		}
	}
	whole("rows", p.Rows)
	whole("dim", p.Dim)
	whole("rows before position 0", p.Offset)
	text("stored as", p.Dtype)
	text("grid", sizes(p.Grid))
	whole("tokens before the patches", p.Prefix)
	number("base", p.Base)
	whole("rotary dim", p.RotaryDim)
	whole("head size", p.HeadDim)
	text("layout", p.Layout)
	text("denominator", p.Denominator)
	number("amplitude", p.Amplitude)
	text("sections", sizes(p.Sections))
	if s := p.Scaling; s != nil {
		text("scaling", s.Type)
		for _, n := range parameters.ScalingNumbers {
			text(n.Label, n.Text(*s, numberText))
		}
	}
	whole("heads", p.Heads)
	number("max bias", p.MaxBias)
	whole("buckets", p.Buckets)
	whole("max distance", p.MaxDistance)
	text("window", sizes(p.Window))
	text("order", p.Order)
	return out
}

// numberText has four digits, and all of a whole number below 10⁹.
func numberText(n report.Number) string { return figure.Number(float64(n)) }

// sizes are the sides of a grid or a window.
func sizes(n []int) string { return joined(n, "×") }

// joined are whole numbers with a word between them.
func joined(n []int, by string) string {
	var parts []string
	for _, v := range n {
		parts = append(parts, strconv.Itoa(v))
	}
	return strings.Join(parts, by)
}
