package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/position/parameters"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// parametersText says an encoding's parameters in a line.
func parametersText(p report.Parameters, scheme string) string {
	var l list
	switch {
	case p.Rows != nil && p.Dim != nil:
		l.add(fmt.Sprintf("%d rows of %d", *p.Rows, *p.Dim))
	case p.Rows != nil:
		l.count(p.Rows, "row")
	default:
		l.int("dim", p.Dim)
	}
	if p.Offset != nil && *p.Offset != 0 {
		l.add("the first " + plural(*p.Offset, "row") + " before position 0")
	}
	l.text("", p.Dtype)
	l.ints("grid", "×", p.Grid)
	if p.Prefix != nil && *p.Prefix != 0 {
		l.add(classTokens(*p.Prefix))
	}
	l.number("base", p.Base)
	l.assumed(p, report.DefaultBase, "not in the file: llama.cpp's default")
	switch {
	case p.RotaryDim != nil && p.HeadDim != nil:
		l.add(fmt.Sprintf("rotary dim %d of head size %d", *p.RotaryDim, *p.HeadDim))
	default:
		l.int("rotary dim", p.RotaryDim)
	}
	l.assumed(p, report.DefaultRotaryDim, "not in the file: the head size")
	if scheme == report.SchemeRope {
		l.text("", pairing(p.Layout))
	} else {
		l.text("", p.Layout)
	}
	if p.Denominator == "half-1" {
		l.add("exponents over dim/2 − 1")
	}
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
		l.assumed(p, report.DefaultOriginalLength, "original length not in the file: the context length")
	}
	l.count(p.Heads, "head")
	l.number("max bias", p.MaxBias)
	l.count(p.Buckets, "bucket")
	l.int("max distance", p.MaxDistance)
	if p.Bidirectional != nil && *p.Bidirectional {
		l.add("bidirectional")
	}
	l.ints("window", "×", p.Window)
	if p.WindowSinks != nil && len(l) > 0 {
		l[len(l)-1] += fmt.Sprintf(" and the first %d", *p.WindowSinks)
	}
	l.int("chunks of", p.Chunk)
	if p.WindowLayers != nil && len(l) > 0 {
		l[len(l)-1] += " in layers " + layersText(p.WindowLayers)
	}
	if t := p.Temperature; t != nil {
		says := "temperature " + numberText(t.Scale) + " from " + numberText(t.Length) + " positions on"
		if t.Logarithm {
			says = "temperature by the logarithm of the position from " + numberText(t.Length) + " on"
		}
		if t.Layers != nil {
			says += " in layers " + layersText(t.Layers)
		}
		l.add(says)
	}
	if p.Unrotated != nil {
		l.add("no rotation in layers " + layersText(p.Unrotated))
	}
	if p.Sinks {
		l.add("attention sinks")
	}
	return l.String()
}

func scalingText(s report.Scaling) string {
	first := "no scaling"
	if s.Type != "none" {
		first = s.Type
		if s.Factor != nil {
			first += " ×" + numberText(*s.Factor)
		}
		if s.OriginalLength != nil {
			first += fmt.Sprintf(" from %d", *s.OriginalLength)
		}
	}
	l := list{first}
	for _, n := range parameters.ScalingNumbers {
		if says := n.Text(s, numberText); says != "" && n.Brief != "" {
			l.add(n.Brief + " " + says)
		}
	}
	if n := len(s.LongFactor); n > 0 && slices.Equal(s.ShortFactor, s.LongFactor) {
		l.add(fmt.Sprintf("%d factors, the same at every length", n))
	} else if n > 0 {
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

// assumed adds to what was said last that it is a default.
func (l *list) assumed(p report.Parameters, name, why string) {
	if slices.Contains(p.Defaults, name) && len(*l) > 0 {
		(*l)[len(*l)-1] += " (" + why + ")"
	}
}

// count adds a number of things.
func (l *list) count(v *int, what string) {
	if v != nil {
		l.add(plural(*v, what))
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

// numberText has four digits, and all of a whole number; --json has every digit.
func numberText(n report.Number) string { return schemes.Text(float64(n)) }
