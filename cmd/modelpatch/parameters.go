package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// parametersText says an encoding's parameters in a line.
func parametersText(p report.Parameters) string {
	var l list
	l.int("rows", p.Rows)
	l.int("dim", p.Dim)
	if p.Offset != nil && *p.Offset != 0 {
		l.int("offset", p.Offset)
	}
	l.text("", p.Dtype)
	l.ints("grid", "×", p.Grid)
	if p.Prefix != nil && *p.Prefix != 0 {
		l.int("prefix", p.Prefix)
	}
	l.number("base", p.Base)
	if p.RotaryDim != nil && p.HeadDim != nil {
		l.add(fmt.Sprintf("%d of %d elements", *p.RotaryDim, *p.HeadDim))
	} else {
		l.int("elements", p.RotaryDim)
	}
	l.text("", p.Layout)
	l.text("denominator", p.Denominator)
	if p.Amplitude != nil && *p.Amplitude != 1 {
		l.number("amplitude", p.Amplitude)
	}
	sections := "sections"
	if p.InterleavedSections != nil && *p.InterleavedSections {
		sections = "interleaved sections"
	}
	l.ints(sections, "+", p.Sections)
	if p.Scaling != nil {
		l.add(scalingText(*p.Scaling))
	}
	l.int("heads", p.Heads)
	l.number("max bias", p.MaxBias)
	l.int("buckets", p.Buckets)
	l.int("max distance", p.MaxDistance)
	if p.Bidirectional != nil && *p.Bidirectional {
		l.add("bidirectional")
	}
	l.ints("window", "×", p.Window)
	return l.String()
}

func scalingText(s report.Scaling) string {
	if s.Type == "none" {
		if s.AttentionFactor != nil {
			return "no scaling, amplitude " + numberText(*s.AttentionFactor)
		}
		return "no scaling"
	}
	first := list{s.Type}
	first.number("factor", s.Factor)
	first.int("from", s.OriginalLength)
	l := list{strings.Join(first, " ")}
	l.number("amplitude", s.AttentionFactor)
	l.number("low", s.LowFreqFactor)
	l.number("high", s.HighFreqFactor)
	if n := len(s.LongFactor); n > 0 {
		l.add(fmt.Sprintf("%d long factors", n))
	}
	return l.String()
}

// list collects what is there.
type list []string

func (l *list) add(s string) { *l = append(*l, s) }

func (l *list) text(label, value string) {
	if value != "" {
		l.add(strings.TrimSpace(label + " " + value))
	}
}

func (l *list) int(label string, v *int) {
	if v != nil {
		l.add(fmt.Sprintf("%s %d", label, *v))
	}
}

func (l *list) number(label string, v *report.Number) {
	if v != nil {
		l.add(label + " " + numberText(*v))
	}
}

// ints adds numbers with a sign between them.
func (l *list) ints(label, between string, v []int) {
	if v == nil {
		return
	}
	words := make([]string, len(v))
	for i, n := range v {
		words[i] = strconv.Itoa(n)
	}
	l.add(label + " " + strings.Join(words, between))
}

// String joins with commas.
func (l list) String() string { return strings.Join(l, ", ") }

func numberText(n report.Number) string { return strconv.FormatFloat(float64(n), 'g', 7, 64) }
