// Package spelling finds the word that a misspelt one was meant to be.
package spelling

import "strings"

// Nearest returns the word that is the fewest letters away from a misspelt one, or the first that
// contains it; "" where more than half of the letters would have to change.
func Nearest(misspelt string, words []string) string {
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
	near := Nearest(misspelt, words)
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

// distance is the number of letters to insert, delete, replace or swap with the next (optimal string
// alignment, a restricted Damerau-Levenshtein distance).
func distance(a, b string) int {
	var before2, before []int // rows of the table
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before2, before, row = before, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(before[j-1]+cost, before[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before2[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
