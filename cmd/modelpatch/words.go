package main

import (
	"fmt"
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// remedyText words a remedy as the command line that it is.
func remedyText(r report.Remedy) string {
	var parts []string
	if r.Verb != "" {
		parts = append(parts, "modelpatch "+r.Verb)
	}
	for _, o := range r.Options {
		flag := "--" + o.Name
		if o.Name == "output" {
			flag = "-o"
		}
		parts = append(parts, strings.TrimSpace(flag+" "+o.Value))
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " " + r.Says)
}

// optionWords are how sentences of the library name options of writing.
var optionWords = strings.NewReplacer("force replaces", "--force replaces", "backup also keeps", "--backup also keeps", "(option len)", "(--len)",
	"it is changed where sidecars are asked for", "--sidecars changes it")

// advice is what an error advises, in lines.
func advice(err error) []string {
	out, remedies := modelpatch.Advice(err)
	for i := range out {
		out[i] = optionWords.Replace(out[i])
	}
	for _, r := range remedies {
		out = append(out, remedyText(r))
	}
	return out
}

// encodingName names an encoding. Its id (e0) is for programs.
func encodingName(e report.Encoding) string {
	if e.Scheme == report.SchemeLearned && e.Parameters.Grid != nil {
		return "patch table"
	}
	return report.EncodingName(e.Scheme)
}

// formText says where an encoding's numbers come from.
func formText(e report.Encoding) string {
	form := ""
	if e.Form != nil {
		form = *e.Form
	}
	trained := e.Scheme == report.SchemeLearned || e.Scheme == report.SchemeRelativeTable
	switch {
	case e.Scheme == report.SchemeUnknown && form == report.FormRuntime:
		return "positions act in the graph in a way that is not known"
	case e.Scheme == report.SchemeNone:
		return orderText(e.Parameters.Order)
	case form == report.FormKeys:
		return "computed by the engine from metadata keys"
	case form == report.FormTable && trained:
		return "trained rows"
	case form == report.FormTable:
		return "table in the file"
	case form == report.FormCache:
		return "cosine and sine tables in the file"
	case form == report.FormRuntime:
		return "computed by the graph"
	case form == report.FormBaked && trained:
		return "trained rows, folded for one length"
	case form == report.FormBaked:
		return "folded for one length"
	}
	return form
}

// orderText says what tells positions apart in a model without an encoding.
func orderText(order string) string {
	switch order {
	case "equivariant":
		return "positions make no difference: permuting the input permutes the output"
	case "mask":
		return "only masks tell positions apart"
	case "operators":
		return "operators tell positions apart (recurrence, convolution, shifts)"
	}
	return "none"
}

// beyondText says what input does that is larger than what is encoded.
func beyondText(larger, b string) string {
	switch b {
	case report.BeyondError:
		return larger + " fails in the engine"
	case report.BeyondClamps:
		return larger + " repeats the last position"
	case report.BeyondWrong:
		return larger + " gives silently wrong numbers"
	case report.BeyondContinues:
		return larger + " runs as well"
	}
	return "what " + larger + " does is not known"
}

// isPicture reports whether what bounds a model is the grid of a picture.
func isPicture(r report.Inspect) bool {
	grid := false
	for _, e := range r.Encodings {
		if e.Capacity != nil && e.Parameters.Grid == nil {
			return false
		}
		grid = grid || e.Parameters.Grid != nil
	}
	return grid
}

// lengthText says how far a model reaches.
func lengthText(r report.Inspect) string {
	l := r.Length
	var parts []string
	unit, larger := "positions", "longer input"
	if isPicture(r) {
		unit, larger = "patches", "a larger picture"
	}
	if l.Stated != nil {
		if r.Format == "onnx" {
			parts = append(parts, fmt.Sprintf("exported for %d tokens", *l.Stated))
		} else {
			parts = append(parts, fmt.Sprintf("context length %d", *l.Stated))
		}
	}
	switch {
	case l.Capacity != nil:
		if l.Stated == nil || *l.Stated != *l.Capacity {
			parts = append(parts, fmt.Sprintf("%d %s", *l.Capacity, unit))
		}
		parts = append(parts, beyondText(larger, l.Beyond))
	case l.Beyond == report.BeyondContinues:
		parts = append(parts, "nothing in the file limits the length")
	case len(parts) == 0 && l.Beyond == report.BeyondError:
		parts = append(parts, "inputs of one size; others fail in the engine")
	case len(parts) == 0 && len(r.Encodings) > 0:
		parts = append(parts, "how far it reaches is not known")
	}
	return strings.Join(parts, "; ")
}

// pairing names a layout of rotated pairs as engines do.
func pairing(layout string) string {
	switch layout {
	case "half":
		return "NeoX pairing (half)"
	case "interleaved":
		return "GPT-J pairing (interleaved)"
	}
	return layout
}

// headline says in a line what a model has.
func headline(r report.Inspect) string {
	out := encodingNames(r)
	if l := lengthText(r); l != "" {
		out += "; " + l
	}
	return out
}

// encodingNames lists the encodings that a model has, those of one name once.
func encodingNames(r report.Inspect) string {
	var names []string
	count := map[string]int{}
	for _, e := range r.Encodings {
		name := encodingName(e)
		if e.Scheme == report.SchemeNone {
			name = "no position encoding"
		} else if e.Scheme == report.SchemeUnknown {
			name = "an unrecognised position encoding"
		}
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%d × %s", count[name], name)
		}
	}
	switch {
	case len(names) > 0:
	case r.Kind == report.KindModel:
		names = []string{"no position encoding"}
	default:
		names = []string{"a file of kind " + r.Kind + ", which encodes no positions itself"}
	}
	return strings.Join(names, " and ")
}

// classTokens says how many rows stand before those of the patches.
func classTokens(n int) string {
	if n == 1 {
		return "1 class token"
	}
	return fmt.Sprintf("%d tokens before the patches", n)
}

// plural is a number of things.
func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// bytesText is a size in decimal units.
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
