package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// excuse says why a binding does not have some flags.
type excuse struct {
	reason string
	flags  []string
}

// withoutFlag are flags that a binding does not have. What stands here may only go.
var withoutFlag = map[string][]excuse{
	"Python": {
		{"of what is printed", []string{"help", "json", "verbose"}},
	},
	"JavaScript": {
		{"of what is printed", []string{"help", "json", "verbose", "progress"}},
		{"of changes in place, of which there are none", []string{"in-place", "no-undo", "reserve"}},
		{"a change without output is what they make: a plan, a patch, edits and their bytes", []string{"dry-run", "patch-only", "edits", "digest", "full-digest"}},
		{"of files beside the new one", []string{"backup", "follow", "provenance", "sidecars", "to"}},
		{"addresses are read by fetch, not by the command", []string{"allow-private", "max-bytes", "offline", "scan"}},
		{"WebAssembly starts no engine", []string{"llama-server", "require-engine"}},
	},
}

// TestOptionsAreEverywhere holds the options that Python and JavaScript list of each verb that changes models against
// the flags of the command: one that is missing on either side fails.
func TestOptionsAreEverywhere(t *testing.T) {
	for binding, verbs := range map[string]map[string][]string{"Python": pythonOptions(t), "JavaScript": javaScriptOptions(t)} {
		compared, excused := 0, map[string]bool{}
		for _, c := range newRoot(&console{}, "").Commands() {
			options, ok := verbs[c.Name()]
			if !ok {
				continue // TestVerbsAreEverywhere finds a verb that is missing
			}
			compared++
			flags := flagsOf(c)
			for _, name := range options {
				if !slices.Contains(flags, name) {
					t.Errorf("%s: %s has the option %s, and the command no such flag", binding, c.Name(), name)
				}
			}
			for _, name := range flags {
				may := slices.ContainsFunc(withoutFlag[binding], func(e excuse) bool { return slices.Contains(e.flags, name) })
				switch has := slices.Contains(options, name); {
				case has && may:
					t.Errorf("%s: %s has --%s, which is said to be missing", binding, c.Name(), name)
				case !has && !may:
					t.Errorf("%s: %s lacks --%s", binding, c.Name(), name)
				}
				excused[name] = excused[name] || may
			}
		}
		if compared < 8 || compared != len(verbs) {
			t.Errorf("%s: %d verbs compared, of %d: %v", binding, compared, len(verbs), slices.Sorted(maps.Keys(verbs)))
		}
		for _, e := range withoutFlag[binding] {
			for _, name := range e.flags {
				if !excused[name] {
					t.Errorf("%s: --%s is excused (%s), and no verb has it", binding, name, e.reason)
				}
			}
		}
	}
}

// flagsOf returns the names of a command's flags.
func flagsOf(c *cobra.Command) (names []string) {
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// pythonOptions returns the options of each verb of python/modelpatch/_verbs.py, in the words of the flags.
func pythonOptions(t *testing.T) map[string][]string {
	classes := map[string][]string{}
	for _, class := range regexp.MustCompile(`(?m)^class (\w+)\((\w+), total=False\):\n((?:    .*\n|\n)+)`).FindAllStringSubmatch(readRoot(t, "python/modelpatch/_options.py"), -1) {
		classes[class[1]] = slices.Clone(classes[class[2]]) // of the class that it extends, which stands before it
		for _, field := range regexp.MustCompile(`(?m)^    (\w+): `).FindAllStringSubmatch(class[3], -1) {
			classes[class[1]] = append(classes[class[1]], strings.ReplaceAll(field[1], "_", "-"))
		}
	}
	arguments := []string{"model", "path", "patch", "keys"}
	out := map[string][]string{}
	for _, f := range regexp.MustCompile(`(?ms)^def ([a-z]\w*)\((.*?)\) -> Change:$`).FindAllStringSubmatch(readRoot(t, "python/modelpatch/_verbs.py"), -1) {
		for _, p := range regexp.MustCompile(`(\w+): (Unpack\[(\w+)\])?`).FindAllStringSubmatch(f[2], -1) {
			switch name := p[1]; {
			case p[3] != "":
				out[f[1]] = append(out[f[1]], classes[p[3]]...)
			case name == "length":
				out[f[1]] = append(out[f[1]], "len")
			case !slices.Contains(arguments, name):
				out[f[1]] = append(out[f[1]], strings.ReplaceAll(strings.TrimSuffix(name, "_"), "_", "-"))
			}
		}
	}
	return out
}

// javaScriptOptions returns the options of each verb of js/index.d.ts, in the words of the flags.
func javaScriptOptions(t *testing.T) map[string][]string {
	kebab := func(name string) string {
		return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(name, func(s string) string { return "-" + strings.ToLower(s) })
	}
	text := readRoot(t, "js/index.d.ts")
	interfaces := map[string][]string{"Named": nil} // what models are called, of which the command knows nothing
	for _, i := range regexp.MustCompile(`(?ms)^export interface (\w+) extends (\w+) \{$(.*?)^\}$`).FindAllStringSubmatch(text, -1) {
		interfaces[i[1]] = slices.Clone(interfaces[i[2]])
		for _, field := range regexp.MustCompile(`(?m)^  (\w+)\?: `).FindAllStringSubmatch(i[3], -1) {
			interfaces[i[1]] = append(interfaces[i[1]], kebab(field[1]))
		}
	}
	out := map[string][]string{}
	for _, f := range regexp.MustCompile(`(?m)^export function (\w+)\((.*)options\??: (\w+)\): Promise<Change>;$`).FindAllStringSubmatch(text, -1) {
		options := slices.Clone(interfaces[f[3]])
		if strings.Contains(f[2], "length: ") {
			options = append(options, "len")
		}
		out[kebab(f[1])] = options
	}
	return out
}

// readRoot returns the text of a file of the repository.
func readRoot(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
