// Package formula reads the sizes of axes that exporters write as formulas of the names of others.
package formula

import (
	"strconv"
	"strings"
)

// Size is the size that a formula of other names says, as torch.export writes them ("s25 + 1", "2*s0", "s1//4"); false for what is
// none, or has names of no axis.
func Size(text string, named map[string]int) (int, bool) {
	if !strings.ContainsAny(text, "+-*/") || strings.Contains(text, "**") || len(text) > 256 { // 256: parentheses nest no deeper
		return 0, false
	}
	f := reader{strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "//", "/"), named}
	if n, ok := f.sum(); ok && f.rest == "" {
		return n, true
	}
	return 0, false
}

// reader is what is left to read of sums and products of names and whole numbers.
type reader struct {
	rest  string
	named map[string]int
}

// next takes one of some characters from the front, if one stands there.
func (f *reader) next(of string) (is byte) {
	if f.rest != "" && strings.IndexByte(of, f.rest[0]) >= 0 {
		is, f.rest = f.rest[0], f.rest[1:]
	}
	return is
}

func (f *reader) sum() (int, bool) {
	n, ok := f.product()
	for op := f.next("+-"); ok && op != 0; op = f.next("+-") {
		var m int
		if m, ok = f.product(); op == '-' {
			m = -m
		}
		n += m
	}
	return n, ok
}

func (f *reader) product() (int, bool) {
	n, ok := f.operand()
	for op := f.next("*/"); ok && op != 0; op = f.next("*/") {
		m, is := f.operand()
		switch {
		case !is || op == '/' && m == 0:
			return 0, false
		case op == '/':
			n /= m
		default:
			n *= m
		}
	}
	return n, ok
}

func (f *reader) operand() (int, bool) {
	if f.next("(") != 0 {
		n, ok := f.sum()
		return n, ok && f.next(")") != 0
	}
	end := strings.IndexAny(f.rest+")", "+-*/()")
	name := f.rest[:end]
	f.rest = f.rest[end:]
	if n, ok := f.named[name]; ok && name != "" {
		return n, true
	}
	n, err := strconv.Atoi(name)
	return n, err == nil
}
