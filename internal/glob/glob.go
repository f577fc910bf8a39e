// Package glob matches paths against patterns from files of strangers. A pattern becomes a regular
// expression of package regexp, which takes time in proportion to pattern times path: alternatives are
// never expanded and nothing is tried twice.
//
// A pattern has * (any characters but /), ? (one such), ** as a whole component (any number of
// components), [a-z] and [!a-z], {a,b} (nested too), and \ before a character that stands for itself.
package glob

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 1024

// Pattern is a pattern that was read. It may be used by several goroutines.
type Pattern struct {
	re   *regexp.Regexp
	name bool // it has no slash
}

// Parse reads a pattern.
func Parse(pattern string) (*Pattern, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("%d bytes, more than %d", len(pattern), maxPattern)
	}
	if !utf8.ValidString(pattern) {
		return nil, errors.New("not UTF-8")
	}
	t := translator{in: []rune(pattern)}
	t.out.WriteString(`(?s)\A(?:`)
	for t.at < len(t.in) {
		if err := t.next(); err != nil {
			return nil, err
		}
	}
	if t.depth > 0 {
		return nil, errors.New("{ without }")
	}
	t.out.WriteString(`)\z`)
	re, err := regexp.Compile(t.out.String())
	if err != nil {
		return nil, err
	}
	return &Pattern{re, !strings.Contains(pattern, "/")}, nil
}

// Match reports whether a path with slashes matches as a whole.
func (p *Pattern) Match(path string) bool { return p.re.MatchString(path) }

// MatchFile reports whether a path with slashes matches as a whole or, where the pattern has
// no slash, by its last name.
func (p *Pattern) MatchFile(file string) bool {
	return p.Match(file) || p.name && p.Match(path.Base(file))
}

// translator writes a pattern as a regular expression.
type translator struct {
	in    []rune
	at    int
	depth int // of braces
	out   strings.Builder
}

// next translates what stands at t.at.
func (t *translator) next() error {
	c := t.in[t.at]
	switch {
	case c == '/' && t.stars(t.at+1) && t.at+3 == len(t.in): // a/** is a, too
		t.out.WriteString(`(?:/.*)?`)
		t.at += 3
	case c == '*' && t.stars(t.at):
		if t.at += 2; t.at < len(t.in) && t.in[t.at] == '/' {
			t.out.WriteString(`(?:.*/)?`)
			t.at++
		} else {
			t.out.WriteString(`.*`)
		}
	case c == '*':
		for t.at < len(t.in) && t.in[t.at] == '*' && !t.stars(t.at) {
			t.at++
		}
		t.out.WriteString(`[^/]*`)
	case c == '?':
		t.out.WriteString(`[^/]`)
		t.at++
	case c == '[':
		return t.class()
	case c == '{':
		t.depth++
		t.out.WriteString(`(?:`)
		t.at++
	case c == '}':
		if t.depth--; t.depth < 0 {
			return errors.New("} without {")
		}
		t.out.WriteString(`)`)
		t.at++
	case c == ',' && t.depth > 0:
		t.out.WriteString(`|`)
		t.at++
	default:
		literal, err := t.literal()
		if err != nil {
			return err
		}
		t.out.WriteString(regexp.QuoteMeta(string(literal)))
	}
	return nil
}

// stars reports whether ** stands at i as a whole component.
func (t *translator) stars(i int) bool {
	edge := func(i int, others string) bool {
		return i < 0 || i >= len(t.in) || t.in[i] == '/' || t.depth > 0 && strings.ContainsRune(others, t.in[i])
	}
	return i+1 < len(t.in) && t.in[i] == '*' && t.in[i+1] == '*' && edge(i-1, "{,") && edge(i+2, ",}")
}

// literal reads one character that stands for itself.
func (t *translator) literal() (rune, error) {
	c := t.in[t.at]
	if c == '\\' {
		if t.at++; t.at == len(t.in) {
			return 0, errors.New(`\ at the end`)
		}
		c = t.in[t.at]
	}
	t.at++
	return c, nil
}

// class translates [a-z]. A slash is never in it.
func (t *translator) class() error {
	t.at++
	negated := t.at < len(t.in) && (t.in[t.at] == '!' || t.in[t.at] == '^')
	var ranges strings.Builder
	add := func(low, high rune) {
		if low <= high {
			fmt.Fprintf(&ranges, `\x{%x}-\x{%x}`, low, high)
		}
	}
	if negated {
		t.at++
		add('/', '/')
	}
	for first := true; ; first = false {
		if t.at == len(t.in) {
			return errors.New("[ without ]")
		}
		if t.in[t.at] == ']' {
			if first {
				return errors.New("[] is empty")
			}
			break
		}
		low, err := t.literal()
		if err != nil {
			return err
		}
		high := low
		if t.at+1 < len(t.in) && t.in[t.at] == '-' && t.in[t.at+1] != ']' {
			t.at++
			if high, err = t.literal(); err != nil {
				return err
			}
		}
		if low > high {
			return fmt.Errorf("the range %c-%c is empty", low, high)
		}
		if negated || high < '/' || low > '/' {
			add(low, high)
			continue
		}
		add(low, '/'-1)
		add('/'+1, high)
	}
	t.at++
	switch {
	case negated:
		t.out.WriteString(`[^` + ranges.String() + `]`)
	case ranges.Len() == 0: // of a slash alone
		t.out.WriteString(`[^\x00-\x{10ffff}]`)
	default:
		t.out.WriteString(`[` + ranges.String() + `]`)
	}
	return nil
}
