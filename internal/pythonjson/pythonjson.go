// Package pythonjson reads JSON as Python's json module writes it.
package pythonjson

import "bytes"

// Plain returns a text in which NaN, Infinity and -Infinity, which JSON does not have and Python
// writes, are zeros of the same length: offsets stay. The text itself is not changed.
func Plain(text []byte) []byte {
	out := text
	for i := 0; i < len(text); i++ {
		word := ""
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		case 'N':
			word = "NaN"
		case 'I':
			word = "Infinity"
		default:
			continue
		}
		if !bytes.HasPrefix(text[i:], []byte(word)) || i > 0 && bytes.IndexByte([]byte(" \t\r\n:,[-"), text[i-1]) < 0 {
			continue
		}
		if &out[0] == &text[0] {
			out = bytes.Clone(text)
		}
		copy(out[i:], bytes.Repeat([]byte{' '}, len(word)))
		out[i] = '0'
		i += len(word) - 1
	}
	return out
}
