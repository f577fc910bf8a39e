package report

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestPrintableForRunners: a CI runner takes "::" for a command where only white
// space of any kind stands before it in a line, and "##[" anywhere.
func TestPrintableForRunners(t *testing.T) {
	for s, want := range map[string]string{
		"::error::x":          `:\:error::x`,
		" ::error::x":         ` :\:error::x`,
		"a ::error":           `a :\:error`,
		"a\u3000::error":      "a\u3000:\\:error",
		"a\u00a0\u2003::e":    "a\u00a0\u2003:\\:e",
		"a\u1680 :: :::":      "a\u1680 :\\: :\\::",
		"std::vector a:: b::": "std::vector a:: b::",
		"a##[error]##[":       `a##\[error]##\[`,
		"\u0085::x":           `\x85::x`,
		"x##vso[task.y]":      `x##vso\[task.y]`,
		"###teamcity[##VSO[":  `###teamcity\[##VSO\[`,
		"## a [b] #[c]":       "## a [b] #[c]",
		"##a b[##c.d-e[":      `##a b[##c.d-e\[`,
		"--- group":           `-\-- group`,
		"+++":                 `+\++`,
		"^^^ +++":             `^\^^ +++`,
		"~~~ x":               `~\~~ x`,
		"---x ~~~~ +++ ":      "---x ~~~~ +++ ",
		"::1":                 "::1",
		"to ::ffff:1.2.3.4 x": "to ::ffff:1.2.3.4 x",
		"[::1]:80 ::1: x":     "[::1]:80 ::1: x",
		"::add-mask::1":       `:\:add-mask::1`,
		"::1::":               `:\:1::`,
		"a\n::x\t::":          `a\x0a::x\x09::`,
	} {
		if got := Printable(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
	for r := range rune(unicode.MaxRune) {
		if !unicode.IsSpace(r) {
			continue
		}
		for _, s := range []string{string(r) + "::error", "a" + string(r) + "::error"} {
			if got := Printable(s); strings.HasPrefix(strings.TrimLeftFunc(got, unicode.IsSpace), "::") || strings.Contains(got, string(r)+"::") {
				t.Errorf("%q: %q", s, got)
			}
		}
	}
}

// TestLineForRunners: JSON is broken up in a way that readers do not see.
func TestLineForRunners(t *testing.T) {
	const path = "##[error]x###[##vso[task.x]##teamcity["
	line, err := Line(File{Path: path})
	if err != nil || strings.Contains(string(line), "##[") || strings.Contains(string(line), "vso[") || strings.Contains(string(line), "teamcity[") {
		t.Fatalf("%s, %v", line, err)
	}
	var f struct{ Path string }
	if err := json.Unmarshal(line, &f); err != nil || f.Path != path {
		t.Errorf("%s: %q, %v", line, f.Path, err)
	}
}

// FuzzPrintable: nothing that is printed is a command for an agent of CI, and no rune steers a terminal.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"::error::x", "a ##vso[task.x]", "##a##[", "--- x", "^^^ +++", "::1", "\x1b[0K", "\u2028::a1 ::", "###[[##é[", "###¹["} {
		f.Add(s)
	}
	anywhere := regexp.MustCompile(`##[\pL\pN._-]*\[`)
	begins := regexp.MustCompile(`^(---|\+\+\+|~~~|\^\^\^)( |$)|(^|[\s\p{Z}])::([^0-9a-fA-F.]|[0-9a-fA-F.]*(::|[g-zG-Z_-]))`)
	f.Fuzz(func(t *testing.T, s string) {
		out := Printable(s)
		if at := anywhere.FindString(out) + begins.FindString(out); at != "" {
			t.Errorf("%q is printed as %q: %q", s, out, at)
		}
		if strings.ContainsFunc(out, hidden) || !utf8.ValidString(out) {
			t.Errorf("%q is printed as %q", s, out)
		}
	})
}
