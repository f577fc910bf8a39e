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
// that are not UTF-8 become \xNN or \uNNNN text (facts/BAD-INPUTS G01).
// "##[" is broken up, because a CI runner takes it anywhere in a line, and "::"
// at the start and after white space of any kind: runners skip that, and a fold
// may put what follows first on a line (G02).
func Printable(s string) string {
	out := strings.ReplaceAll(escape(s, hidden), "##[", `##\[`)
	if !strings.Contains(out, "::") {
		return out
	}
	var b strings.Builder
	first := true // nothing or white space stands before
	for i, r := range out {
		if first && r == ':' && strings.HasPrefix(out[i+1:], ":") {
			b.WriteString(`:\`)
		} else {
			b.WriteRune(r)
		}
		first = unicode.IsSpace(r)
	}
	return b.String()
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
// "##[": the same values, and nothing that steers a terminal or a CI runner
// (facts/BAD-INPUTS G01, G02).
func plain(json []byte) []byte {
	json = bytes.ReplaceAll(json, []byte("##["), []byte(`#\u0023[`))
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
