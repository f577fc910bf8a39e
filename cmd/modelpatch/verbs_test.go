package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Verbs that a place does not have. What stands here may only go.
var without = map[string][]string{
	"undo":    {"js/library.mjs", "js/index.d.ts"},                                // of changes in place, of which JavaScript has none
	"recover": {"js/library.mjs", "js/index.d.ts", "python/modelpatch/_verbs.py"}, // the same
}

// TestVerbsAreEverywhere holds that each command which changes models has what a new one would lack without
// anything failing: a script, a row in README, and functions in Python and JavaScript.
func TestVerbsAreEverywhere(t *testing.T) {
	scripts := ""
	found, _ := filepath.Glob("testdata/script/*.txtar")
	for _, path := range found {
		scripts += readRoot(t, filepath.Join("cmd/modelpatch", path))
	}
	verbs := 0
	for _, c := range newRoot(&console{}, "").Commands() {
		if c.GroupID != groupChange {
			continue
		}
		verbs++
		verb := c.Name()
		python, camel := strings.ReplaceAll(verb, "-", "_"), regexp.MustCompile(`-(.)`).ReplaceAllStringFunc(verb, func(s string) string { return strings.ToUpper(s[1:]) })
		if !strings.Contains(scripts, "exec modelpatch "+verb+" ") {
			t.Errorf("%s: no script in testdata/script runs it", verb)
		}
		for path, pattern := range map[string]string{
			"README.md":                   "`" + verb + "[ `]",
			"python/modelpatch/_verbs.py": `(?m)^def ` + python + `\(`,
			"js/library.mjs":              `(?m)^ +` + camel + `: `,
			"js/index.d.ts":               `export function ` + camel + `\(`,
		} {
			lacks := !regexp.MustCompile(pattern).MatchString(readRoot(t, path))
			excused := strings.Contains(strings.Join(without[verb], " "), path)
			if lacks != excused {
				t.Errorf("%s: %s: it is missing there: %v, and said to be: %v", verb, path, lacks, excused)
			}
		}
	}
	if verbs < 10 {
		t.Errorf("%d verbs", verbs)
	}
}
