package glob

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.gguf", "m.gguf", true}, {"*.gguf", "a/m.gguf", false}, {"*", "", true}, {"?", "/", false}, {"a?c", "aéc", true},
		{"**/*.gguf", "m.gguf", true}, {"**/*.gguf", "a/b/m.gguf", true}, {"**", "a/b", true}, {"a/**", "a", true}, {"a/**", "a/b/c", true},
		{"a/**", "ab", false}, {"a/**/b", "a/b", true}, {"a/**/b", "a/x/y/b", true}, {"a**", "ab", true}, {"a**", "a/b", false},
		{"{a,b/c}.gguf", "b/c.gguf", true}, {"{a,{b,c}}", "c", true}, {"{,x}a", "a", true}, {"{**/a,b}", "x/y/a", true}, {"a,b", "a,b", true},
		{"[a-c]", "b", true}, {"[!a-c]", "b", false}, {"[^a]", "b", true}, {"[!a]", "/", false}, {"[+-9]", "/", false}, {"[+-9]", "5", true},
		{"[/]", "/", false}, {"[a-]", "-", true}, {`[\]]`, "]", true}, {`\*`, "*", true}, {`\*`, "a", false}, {"a.b", "axb", false},
		{"(a|b)+$", "(a|b)+$", true}, {"*", "a\nb", true}, {"*", "\xff", true},
	} {
		p, err := Parse(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if got := p.Match(c.path); got != c.want {
			t.Errorf("%s on %q: %v", c.pattern, c.path, got)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, pattern := range []string{"[", "[a", "[]", "[!]", "[b-a]", "{a", "}", "a{b}}", `a\`, `[\`, "\xff", strings.Repeat("a", maxPattern+1)} {
		if _, err := Parse(pattern); err == nil {
			t.Errorf("%q was read", pattern)
		}
	}
}

// TestTime has patterns that a matcher with backtracking tries in exponentially many ways.
func TestTime(t *testing.T) {
	path := strings.Repeat("a", 4000) + "b"
	for _, piece := range []string{"{a,a}", "*a", "{*,**}", "{a*,*a}", "**/"} {
		pattern := strings.Repeat(piece, maxPattern/len(piece)/2)
		p, err := Parse(pattern)
		if err != nil {
			t.Fatal(piece, err)
		}
		start := time.Now()
		p.Match(path)
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s…: %v", piece, d)
		}
	}
}

// FuzzParse: what is read matches without a panic, a path matches its own quotation, and no
// pattern without ** or a slash matches a path with one.
func FuzzParse(f *testing.F) {
	f.Add("**/{a,[!b-c]?}\\*", "x/y/az*")
	f.Add("{a,a}{a,a}*a*a", "aaaa")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if len(path) > 4096 {
			return
		}
		if p, err := Parse(pattern); err == nil && p.Match(path) && strings.Contains(path, "/") &&
			!strings.Contains(pattern, "/") && !strings.Contains(pattern, "**") {
			t.Fatalf("%q matches %q", pattern, path)
		}
		if !utf8.ValidString(path) {
			return
		}
		var quoted strings.Builder
		for _, c := range path {
			quoted.WriteRune('\\')
			quoted.WriteRune(c)
		}
		if p, err := Parse(quoted.String()); err != nil && quoted.Len() <= maxPattern || err == nil && !p.Match(path) {
			t.Fatalf("%q does not match itself: %v", path, err)
		}
	})
}
