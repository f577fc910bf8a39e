// Package ranges reads and writes lists of numbers such as 0-11,14.
package ranges

import (
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a list of numbers up to most; not ok where it is no such list.
func Parse(text string, most int) (numbers map[int]bool, ok bool) {
	numbers = map[int]bool{}
	for part := range strings.SplitSeq(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		a, err := strconv.Atoi(first)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(last)
		}
		if err != nil || a < 0 || b < a || b > most {
			return nil, false
		}
		for i := a; i <= b; i++ {
			numbers[i] = true
		}
	}
	return numbers, true
}

// Text writes numbers in ascending order as ranges.
func Text(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if i == j {
			out = append(out, strconv.Itoa(numbers[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", numbers[i], numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
