package answer

import (
	"strings"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
)

// fields are the options that the page's form has, by the names that they have there.
var fields = map[string]string{
	"len": "Length", "original-length": "Original length", "base": "Base", "scaling": "Scaling", "factor": "Factor", "method": "Method",
}

// labels are the page's names of its changes; "" is the one that was asked for.
var labels = map[string]string{"": "", "extend": "a longer context", "rope": "another RoPE base or scaling"}

// remedy says a remedy as what is to be chosen in the form, or as a command where the form
// does not have it.
func remedy(r report.Remedy) string {
	var set []string
	for _, o := range r.Options {
		name, ok := fields[o.Name]
		if !ok {
			return "on the command line: " + r.CommandLine()
		}
		if placeholder := o.Value == strings.ToUpper(o.Value) && o.Value != strings.ToLower(o.Value); !placeholder {
			name += " " + strings.ReplaceAll(o.Value, "|", " or ")
		}
		set = append(set, name)
	}
	label, ok := labels[r.Verb]
	switch {
	case !ok:
		return "on the command line: " + r.CommandLine()
	case label != "" && len(set) > 0:
		label = "choose “" + label + "” with "
	case label != "":
		label = "choose “" + label + "”"
	}
	return strings.TrimSpace(label + strings.Join(set, " and ") + " " + r.Says)
}

// optionWords are how sentences of the library name the form's options.
var optionWords = strings.NewReplacer("(option len)", "(Length)", "inspect says", "the report says", "put all ", "choose all ", " into one folder", " at once", "--original-length", "Original length", "--len", "Length", "--base", "Base",
	"--scaling", "Scaling", "--factor ", "Factor ", "--method", "Method")

// sentence is a message of the library for the page.
func sentence(s string) string { return report.Printable(optionWords.Replace(s)) }

// failure is an error with its advice.
func failure(err error) Failure {
	f := Failure{Error: sentence(err.Error()), Hints: []string{}}
	sentences, remedies := modelpatch.Advice(err)
	for _, says := range sentences {
		f.Hints = append(f.Hints, sentence(says))
	}
	for _, r := range remedies {
		f.Hints = append(f.Hints, report.Printable(remedy(r)))
	}
	return f
}

// mistake is a panic as an answer: it would end the page's worker, and is a mistake of ours.
func mistake(says string) Failure {
	return Failure{Error: "a mistake in modelpatch: " + report.Printable(says), Hints: []string{"please report it"}}
}
