package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// inspect prints a report for people, within 80 columns where names allow.
func (c *console) inspect(r report.Inspect, verbose bool) {
	c.printf("%s\n", c.bold(text(r.Path)))
	c.field("format", r.Format+", "+r.Kind+", "+bytesText(r.Bytes))
	if len(r.Files) > 0 {
		total := r.Bytes
		for _, f := range r.Files {
			total += f.Bytes
		}
		c.field("files", fmt.Sprintf("%d, %s in all", len(r.Files)+1, bytesText(total)))
	}
	switch {
	case r.Architecture != nil:
		c.field("architecture", text(*r.Architecture))
	case r.Format == "gguf":
		c.field("architecture", "not stated")
	}
	if r.Producer != nil {
		c.field("producer", text(*r.Producer))
	}
	c.field("length", lengthText(r.Length))
	for _, e := range r.Encodings {
		c.encoding(e, verbose)
	}
	if len(r.Encodings) == 0 {
		c.field("encodings", "none: this file encodes no positions itself")
	}
	c.findings(r.Findings)
}

// field prints one labelled line, folded at 80 columns.
func (c *console) field(label, value string) {
	const indent = 15
	c.printf("  %-12s %s\n", label, fold(value, 80-indent, strings.Repeat(" ", indent)))
}

// fold breaks a text at spaces so that lines have at most width runes where
// words allow.
func fold(s string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}

func lengthText(l report.Length) string {
	stated := "not stated"
	if l.Stated != nil {
		stated = fmt.Sprintf("%d stated", *l.Stated)
	}
	if l.Capacity == nil {
		if l.Beyond == report.BeyondUnknown {
			return stated
		}
		return stated + "; nothing in the file bounds it"
	}
	return fmt.Sprintf("%s; %d encoded; beyond: %s", stated, *l.Capacity, beyondText(l.Beyond))
}

func beyondText(b string) string {
	switch b {
	case report.BeyondError:
		return "the engine fails"
	case report.BeyondClamps:
		return "the last position is used again"
	case report.BeyondWrong:
		return "silently wrong numbers"
	case report.BeyondContinues:
		return "goes on"
	}
	return "not known"
}

// encoding prints one mechanism.
func (c *console) encoding(e report.Encoding, verbose bool) {
	head := e.Scheme
	if e.Form != nil {
		head += " (" + *e.Form + ")"
	}
	if e.Layers != nil {
		head += ", layers " + layersText(e.Layers)
	}
	if e.Capacity != nil {
		head += fmt.Sprintf(", %d positions", *e.Capacity)
	}
	c.field(e.ID, head)
	if p := parametersText(e.Parameters); p != "" {
		c.field("", p)
	}
	most := 3
	if verbose {
		most = len(e.Where)
	}
	for i, w := range e.Where {
		if i == most {
			c.field("", "and "+plural(len(e.Where)-most, "more place"))
			break
		}
		c.field("", "at "+whereText(w))
	}
	for _, a := range e.Also {
		c.field("", "or, as "+a.Why+": "+a.Scheme+" "+parametersText(a.Parameters))
	}
	if verbose {
		for _, v := range e.Evidence {
			c.field("", "because ("+v.Kind+") "+text(v.Says))
		}
	}
}

// layersText says a list of layers with ranges: 0-4, 6.
func layersText(layers []int) string {
	var parts []string
	for i := 0; i < len(layers); {
		j := i
		for j+1 < len(layers) && layers[j+1] == layers[j]+1 {
			j++
		}
		part := strconv.Itoa(layers[i])
		if j > i {
			part += "-" + strconv.Itoa(layers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

func whereText(w report.Where) string {
	var parts []string
	for _, p := range []struct{ label, value string }{{"key", w.Key}, {"tensor", w.Tensor}, {"node", w.Node}, {"of", w.File}} {
		if p.value != "" {
			parts = append(parts, p.label+" "+text(p.value))
		}
	}
	if w.Range != nil && w.Range[1] > w.Range[0] {
		parts = append(parts, fmt.Sprintf("bytes %d-%d", w.Range[0], w.Range[1]-1))
	}
	return strings.Join(parts, ", ")
}

// findings prints what is wrong, at most a hundred of a rule.
func (c *console) findings(all []report.Finding) {
	const most = 100
	count := map[string]int{}
	for _, f := range all {
		count[f.Rule]++
		if count[f.Rule] > most {
			continue
		}
		c.printf("  %s\n", c.level(f.Level)+": "+fold(text(f.Message)+" ["+f.Rule+"]", 70, "           "))
		if f.Hint != "" {
			c.printf("    hint: %s\n", fold(text(f.Hint), 70, "          "))
		}
	}
	for _, f := range all {
		if n := count[f.Rule]; n > most {
			c.printf("  and %d more [%s]\n", n-most, f.Rule)
			count[f.Rule] = 0
		}
	}
}

func bytesText(n int64) string {
	const unit = 1000
	switch {
	case n < unit:
		return fmt.Sprintf("%d bytes", n)
	case n < unit*unit:
		return fmt.Sprintf("%.1f kB", float64(n)/unit)
	case n < unit*unit*unit:
		return fmt.Sprintf("%.1f MB", float64(n)/unit/unit)
	}
	return fmt.Sprintf("%.2f GB", float64(n)/unit/unit/unit)
}
