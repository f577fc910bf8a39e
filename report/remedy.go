package report

import "strings"

// Remedy is something to do about a refusal or a finding: a verb of modelpatch
// with options, as values, so that a command line, a page and a library can each
// word it in their own way. Verb is "" where options of the same verb are meant.
type Remedy struct {
	Verb    string   `json:"verb,omitempty"`
	Options []Option `json:"options,omitempty"`
	Says    string   `json:"says,omitempty"` // what it does: "states the length only"
}

// Option is an option of a Remedy. Value is "" for a switch; letters stand for
// what the caller has to choose (N, L, S).
type Option struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Do is the remedy of a verb with options, given as names and values in turns.
func Do(verb, says string, options ...string) Remedy {
	r := Remedy{Verb: verb, Says: says}
	for i := 0; i+1 < len(options); i += 2 {
		r.Options = append(r.Options, Option{options[i], options[i+1]})
	}
	return r
}

// String says the remedy without the syntax of a command line.
func (r Remedy) String() string {
	var parts []string
	for _, o := range r.Options {
		parts = append(parts, strings.TrimSpace(strings.ReplaceAll(o.Name, "-", " ")+" "+o.Value))
	}
	out := strings.Join(parts, ", ")
	switch {
	case r.Verb != "" && out != "":
		out = r.Verb + " with " + out
	case r.Verb != "":
		out = r.Verb
	}
	return strings.TrimSpace(out + " " + r.Says)
}

// CommandLine says the remedy as the command line that it is.
func (r Remedy) CommandLine() string {
	var parts []string
	if r.Verb != "" {
		parts = append(parts, "modelpatch "+r.Verb)
	}
	for _, o := range r.Options {
		flag := "--" + o.Name
		switch o.Name {
		case "output":
			flag = "-o"
		case "key": // KEY=VALUE
			flag = ""
		}
		parts = append(parts, strings.TrimSpace(flag+" "+o.Value))
	}
	return strings.TrimSpace(strings.Join(parts, " ") + " " + r.Says)
}

// FixPicture is what a model with free axes for its picture wants before it takes another: sides are the name of each, and a letter
// for its number.
func FixPicture(sides []string) Remedy {
	return Do("extend", "fixes the picture at the size that it was exported with, and that file may take another", "fix", strings.Join(sides, ","))
}
