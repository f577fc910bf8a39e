package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func expecting(expr string) string {
	return "version: 1\nfor:\n - files: '**'\n   expect:\n    - id: a\n      expr: |-\n        " + expr
}

// TestHostileExpressions end soon, by an error of the policy: when it is read or when it is run.
func TestHostileExpressions(t *testing.T) {
	for name, expr := range map[string]string{
		"nested loops":     "all(1..2000, all(1..2000, all(1..2000, all(1..2000, true))))",
		"empty loops":      strings.Repeat("all(1..900, ", 6) + "true" + strings.Repeat(")", 6),
		"doubling reduce":  "len(reduce(1..60, #acc + #acc, 'xxxxxxxx')) > 0",
		"doubling let":     doubling("v%[1]d + v%[1]d", `"xxxxxxxx"`),
		"doubling arrays":  doubling("[v%[1]d, v%[1]d]", `["x"]`),
		"doubling concat":  doubling("concat(v%[1]d, v%[1]d)", `["x"]`),
		"doubling in maps": doubling("{a: v%[1]d, b: v%[1]d}", `{a: "x"}`),
		"repeat":           `len(repeat("x", 999999)) > 0`,
		"replace":          `len(replace("aaaa", "a", "bbbb")) > 0`,
		"join":             `len(join(["a", "b"], "c")) > 0`,
		"uniq":             "len(uniq(1..999999)) > 0",
		"in a range":       "all(1..900000, # in 1..999)",
		"equal arrays":     "all(1..900000, encodings == encodings)",
		"memory of ranges": "all(1..9000, len(1..9000) > 0)",
		"a wide range":     "len(0..99999999) > 0",
		"expressions":      `all(1..900000, path matches "(a{5}){3}")`,
		"large expression": `path matches "(a{1000}){1000}"`,
		"many of them":     `path matches "` + strings.Repeat("a{1000}b", 101) + `"`,
		"made expressions": `path matches (path + "*")`,
		"parentheses":      strings.Repeat("(", 200000) + "true" + strings.Repeat(")", 200000),
		"depth":            strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 1999) + " ",
		"nodes":            "0" + strings.Repeat("+0", 1500) + " == 0",
		"its own charge":   "_charge(1, 4194305)",
	} {
		start := time.Now()
		p, err := Parse("p.yaml", []byte(expecting(expr)), today)
		if err == nil {
			_, err = p.Judge(facts("aaaaaaaaaaaaaaaa"), nil)
		}
		if err == nil {
			t.Errorf("%s: nothing was said", name)
		} else if !strings.Contains(err.Error(), ": the expression ") {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// doubling is an expression of forty steps, each of the value before it twice.
func doubling(step, first string) string {
	var s strings.Builder
	fmt.Fprintf(&s, "let v0 = %s; ", first)
	for i := range 40 {
		fmt.Fprintf(&s, "let v%d = "+step+"; ", i+1, i)
	}
	return strings.ReplaceAll(s.String(), "%!(EXTRA int=0)", "") + "len(string(v40)) > 0"
}

// TestUsefulExpressions keep their meaning: the charges change no value and no type.
func TestUsefulExpressions(t *testing.T) {
	for expr, holds := range map[string]bool{
		`all(encodings, .scheme in ["rope", "alibi"])`:                                true,
		`len(filter(encodings, .scaling.type == "yarn" and .base > 10000)) == 1`:      true,
		`architecture matches "^(llama|qwen[0-9]*)$" && !(path contains "tmp")`:       true,
		`let s = map(encodings, .scaling.factor); sum(s) == 4 and max(s) == min(s)`:   true,
		`upper(architecture) + "-" + format == "LLAMA-gguf"`:                          true,
		`reduce(encodings, #acc + .capacity, 0) == 0 ? length.stated == 4096 : false`: true,
		`find(encodings, .scheme == "alibi") != nil`:                                  false,
		`length.stated % 1024 == 0 and any(0..20, 2 ** # == length.stated)`:           true,
		`{"llama": 4096, "qwen2": 32768}[architecture] == length.stated`:              true,
		`encodings[0]?.scaling.type startsWith "ya" and path[-5:] == ".gguf"`:         true,
	} {
		found := judged(t, parse(t, expecting(expr)), "m.gguf")
		if (len(found) == 0) != holds {
			t.Errorf("%s: %v", expr, found)
		}
	}
}

// TestPolicyBounds: a policy of too many expressions or patterns is refused, not held.
func TestPolicyBounds(t *testing.T) {
	for _, text := range []string{
		"version: 1\nfor:\n - files: '**'\n   expect:\n" + strings.Repeat("    - {id: a, expr: 'true'}\n", maxCompiled+1),
		"version: 1\nfor:\n - files: [" + strings.Repeat("a,", maxPatterns+1) + "]\n",
	} {
		if _, err := Parse("p.yaml", []byte(text), today); err == nil || !strings.Contains(err.Error(), "more than") {
			t.Error(err)
		}
	}
}
