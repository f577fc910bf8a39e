package report

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Name makes a model's name fit for JSON: bytes that are not UTF-8 become
// \xNN text, everything else stays.
func Name(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return escape(s, func(rune) bool { return false })
}

// Printable makes a model's name fit for a terminal or a log: control
// characters, bidirectional overrides, zero-width and tag characters and bytes
// that are not UTF-8 become \xNN or \uNNNN text (facts/BAD-INPUTS G01). What
// agents of CI take for a command is broken up by a backslash (G02): "##vso[" and
// its like, which they take anywhere in a line; "::error" at the start and after
// white space of any kind, for runners skip that, and a fold may put what follows
// first on a line; "--- " and its like at the start.
func Printable(s string) string {
	out := broken(escape(s, hidden), `\[`)
	for _, fold := range []string{"---", "+++", "~~~", "^^^"} { // Buildkite's groups
		if rest, ok := strings.CutPrefix(out, fold); ok && (rest == "" || rest[0] == ' ') {
			out = fold[:1] + `\` + fold[1:] + rest
		}
	}
	if !strings.Contains(out, "::") {
		return out
	}
	var b strings.Builder
	first := true // nothing or white space stands before
	for i, r := range out {
		if first && strings.HasPrefix(out[i:], "::") && !isAddress(out[i+2:]) {
			b.WriteString(`:\`)
		} else {
			b.WriteRune(r)
		}
		first = unicode.IsSpace(r)
	}
	return b.String()
}

// broken puts what stands for a bracket in place of the one that ends "##[", "##vso[",
// "##teamcity[" and any other name.
func broken(s, bracket string) string {
	var b strings.Builder
	done := 0
	for i := strings.Index(s, "##"); i >= 0; {
		i += len("##")
		name := strings.TrimLeftFunc(s[i:], func(r rune) bool {
			return r == '#' || unicode.IsLetter(r) || unicode.IsNumber(r) || strings.ContainsRune("._-", r)
		})
		i = len(s) - len(name)
		if strings.HasPrefix(name, "[") {
			b.WriteString(s[done:i] + bracket)
			done = i + 1
		}
		next := strings.Index(name, "##")
		if next < 0 {
			break
		}
		i += next
	}
	return b.String() + s[done:]
}

// isAddress reports whether what follows "::" makes it an address of IPv6, which no
// runner has a command for.
func isAddress(rest string) bool {
	after := strings.TrimLeft(rest, "0123456789abcdefABCDEF.")
	group := rest[:len(rest)-len(after)]
	next, _ := utf8.DecodeRuneInString(after)
	if group == "" || strings.HasPrefix(after, "::") || after != "" && (unicode.IsLetter(next) || strings.ContainsRune("_-", next)) {
		return false
	}
	return strings.ContainsAny(group, "0123456789") || len(after) > 1 && after[0] == ':' && after[1] != ' '
}

// escape writes the runes that bad picks, and broken bytes, as text.
func escape(s string, bad func(rune) bool) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !bad(r):
			b.WriteString(s[i : i+n])
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// hidden reports whether a rune could steer a terminal or hide text.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0: // C0, DEL, C1
		return true
	case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co): // bidi, zero width, tags, U+2028/9
		return true
	}
	return false
}

// plain replaces hidden runes in JSON text by their \u escapes, and breaks up
// "##[" and its like: the same values, and nothing that steers a terminal or a CI runner
// (facts/BAD-INPUTS G01, G02).
func plain(json []byte) []byte {
	if bytes.Contains(json, []byte("##")) {
		json = []byte(broken(string(json), `\u005b`))
	}
	if !bytes.ContainsFunc(json, hiddenInJSON) {
		return json
	}
	var b bytes.Buffer
	for _, r := range string(json) {
		switch {
		case !hiddenInJSON(r):
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.Bytes()
}

// hiddenInJSON is hidden, but for the line end that ends an object.
func hiddenInJSON(r rune) bool { return r != '\n' && hidden(r) }

// EncodingName is the field's name for a scheme of the reports: those of
// transformers' and llama.cpp's documentation.
func EncodingName(scheme string) string {
	switch scheme {
	case SchemeLearned:
		return "position table"
	case SchemeSinusoidal:
		return "sinusoids"
	case SchemeRope:
		return "RoPE"
	case SchemeAlibi:
		return "ALiBi"
	case SchemeT5Bias:
		return "T5 bias"
	case SchemeRelativeTable:
		return "relative table"
	case SchemeRelativeSinusoid:
		return "relative sines"
	case SchemeDisentangled:
		return "disentangled"
	case SchemeConv:
		return "convolution"
	case SchemeNone:
		return "no encoding"
	}
	return "unrecognised"
}
