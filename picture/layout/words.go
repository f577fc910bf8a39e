package layout

import "strings"

// advance is about how wide a character is, in parts of the size of its type:
// what common sans-serif types have (Arial, DejaVu Sans, Go), a little more than
// the narrow ones.
func advance(r rune) float64 {
	switch {
	case strings.ContainsRune("ijlIt.,:;'|!()[] f", r):
		return 0.34
	case strings.ContainsRune("mwMW@%—", r):
		return 0.9
	case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return 0.66
	case r < 0x80:
		return 0.6
	case r >= 0x2e80, r == '−', r == '…': // east Asian, wide signs
		return 1
	}
	return 0.7
}

// measure is about how wide a text is.
func measure(s string, size float64, bold bool) (w float64) {
	for _, r := range s {
		w += advance(r) * size
	}
	if bold {
		w *= 1.13
	}
	return w
}

// fold breaks a text into at most lines lines of a width; what is left ends in
// an ellipsis. Words longer than a line are broken.
func fold(text string, size, width float64, lines int, bold bool) (out []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for {
			next := word
			if line != "" {
				next = line + " " + word
			}
			if measure(next, size, bold) <= width {
				line = next
				break
			}
			if line != "" {
				if out = append(out, line); len(out) == lines {
					return ellipsis(out, size, width, bold)
				}
				line = ""
				continue
			}
			head := clip(word, size, width, bold)
			if out = append(out, head); len(out) == lines {
				return ellipsis(out, size, width, bold)
			}
			word = word[len(head):]
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}

// clip is as much of a word as fits, one character at least.
func clip(word string, size, width float64, bold bool) string {
	w, n := 0.0, 0
	for i, r := range word {
		w += measure(string(r), size, bold)
		if w > width && i > 0 {
			break
		}
		n = i + len(string(r))
	}
	return word[:n]
}

// ellipsis shows that the last line is not the end.
func ellipsis(lines []string, size, width float64, bold bool) []string {
	last := &lines[len(lines)-1]
	*last = clip(*last, size, width-size, bold) + "…"
	return lines
}

// shorten is a text cut to a width.
func shorten(s string, size, width float64) string {
	if measure(s, size, false) <= width {
		return s
	}
	return clip(s, size, width-size, false) + "…"
}
