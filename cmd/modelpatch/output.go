package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/report"
)

// inspect prints a report for people: what was found first, in a sentence.
// norms are lines about encodings, by their ids.
func (c *console) inspect(r report.Inspect, verbose bool, norms map[string]string) {
	c.headline(text(r.Path), r.Headline())
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
	if pictures := r.PicturesText(); pictures != "" {
		c.field("pictures", pictures)
	}
	for _, e := range r.Encodings {
		c.encoding(e, verbose)
		if line := norms[e.ID]; line != "" {
			c.field("", "norms by row "+line)
		}
	}
	c.findings(r.Findings)
}

// headline prints the first line of an output: what it is about, and a sentence.
func (c *console) headline(about, says string) {
	const indent = 4
	if c.width > 0 {
		says = fold(says, max(c.width-indent, minFold), len([]rune(about))+len(": ")-indent, strings.Repeat(" ", indent))
	}
	c.printf("%s: %s\n", c.bold(about), says)
}

// labelWidth is the width of the column of labels, and where their texts begin.
const labelWidth = 14

// field prints one labelled line, cut at the length of a sentence, and folded at the
// terminal's width.
func (c *console) field(label, value string) {
	const indent = labelWidth + 3
	value = clip(value, mostSentence)
	c.printf("  %-*s %s\n", labelWidth, label, c.fold(value, indent))
}

// fold breaks a text for the terminal, behind an indentation. A pipe gets long
// lines: whoever reads them may fold them.
func (c *console) fold(s string, indent int) string {
	if c.width == 0 {
		return strings.Join(strings.Fields(s), " ")
	}
	return fold(s, max(c.width-indent, minFold), 0, strings.Repeat(" ", indent))
}

// minFold is the least width at which text is folded.
const minFold = 24

// fold breaks a text at spaces so that lines have at most width runes where
// words allow. The first one begins at a column of its own.
func fold(s string, width, column int, indent string) string {
	var b strings.Builder
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

// encoding prints one mechanism; its places and on what it rests with verbose.
func (c *console) encoding(e report.Encoding, verbose bool) {
	var l list
	l.text("", e.Source())
	if e.Layers != nil {
		l.add("layers " + layersText(e.Layers))
	}
	if e.Capacity != nil {
		l.add(fmt.Sprintf("%d positions", *e.Capacity))
	}
	c.field(e.Name(), l.String())
	if p := parametersText(e.Parameters, e.Scheme); p != "" {
		c.field("", p)
	}
	for _, a := range e.Also {
		c.field("", "or, as "+a.Why+": "+a.Scheme+" "+parametersText(a.Parameters, a.Scheme))
	}
	for _, says := range e.Notes {
		c.field("", sentence(says))
	}
	if e.Scheme == report.SchemeUnknown && !verbose {
		for _, v := range e.Evidence {
			c.field("", sentence(v.Says))
		}
	}
	if !verbose {
		return
	}
	for _, w := range e.Where {
		c.field("", "at "+whereText(w))
	}
	for _, v := range e.Evidence {
		c.field("", "because ("+v.Kind+") "+sentence(v.Says))
	}
}

// layersText says a list of layers with ranges: 0-4, 6. Of many it says the first ones, and
// how many there are.
func layersText(layers []int) string {
	const most = 16
	var parts []string
	for i := 0; i < len(layers); {
		j := i
		for j+1 < len(layers) && layers[j+1] == layers[j]+1 {
			j++
		}
		if len(parts) == most {
			return strings.Join(parts, ", ") + fmt.Sprintf(", … (%d layers)", len(layers))
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
		c.printf("  %s: %s\n", c.level(f.Level), c.fold(sentence(f.Message)+" ["+f.Rule+"]", len(f.Level)+4))
		if f.Hint != "" {
			c.printf("    hint: %s\n", c.fold(sentence(f.Hint), len("    hint: ")))
		}
		for _, r := range f.Remedies {
			c.printf("    hint: %s\n", c.fold(sentence(r.CommandLine()), len("    hint: ")))
		}
	}
	for _, f := range all {
		if n := count[f.Rule]; n > most {
			c.printf("  and %d more [%s]\n", n-most, f.Rule)
			count[f.Rule] = 0
		}
	}
}
