package schemes

import (
	"math"
	"strconv"
	"strings"
)

// Text is a number as messages say it: whole numbers in full, others with four
// digits (at least one behind the point where they are large). Reports for
// programs have every digit.
func Text(x float64) string {
	const whole = 1e15
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x == math.Trunc(x) && math.Abs(x) < whole:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case math.Abs(x) >= 1000 && math.Abs(x) < whole:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// Sizes says the sizes of axes: 4×4.
func Sizes(n []int) string { return between("×", n) }

// between joins numbers with a sign: 4×4, 2+1+1.
func between(sign string, numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, sign)
}
