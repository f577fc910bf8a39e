// Package nearest finds the word that a misspelt one was meant to be.
package nearest

import "strings"

// Of returns the word that is the fewest letters away from a misspelt one, or the first that
// contains it; "" where more than half of the letters would have to change.
func Of(misspelt string, words []string) string {
	best, least := "", len(misspelt)/2+1
	for _, w := range words {
		if d := distance(misspelt, w); d < least || strings.Contains(w, misspelt) && misspelt != "" && best == "" {
			best, least = w, min(d, least)
		}
	}
	return best
}

// Hint returns "did you mean WORD?" before a hint that lists the words, and that hint alone where
// no word is near.
func Hint(misspelt string, words []string, list string) string {
	near := Of(misspelt, words)
	switch {
	case near == "":
		return list
	case list == "":
		return "did you mean " + near + "?"
	}
	return "did you mean " + near + "? " + list
}

// Words returns a hint for a value that is none of the words: the nearest one first.
func Words(misspelt string, words []string) string {
	return Hint(misspelt, words, "known: "+strings.Join(words, ", "))
}

// distance is the number of letters to insert, delete or replace (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
