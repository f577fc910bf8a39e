package figure

import (
	"math"
	"strconv"
)

// Table is the numbers of a panel, as text of four digits.
type Table struct {
	Heads []string
	Rows  [][]string
}

// Table returns the panel's series as columns beside their x. Heat maps and
// dials, which show far more numbers than anybody reads, have none.
func (p Panel) Table() Table {
	if len(p.Series) == 0 {
		return Table{}
	}
	t := Table{Heads: []string{p.X.Label}}
	at := map[float64]int{} // row of an x
	var order []float64
	for _, s := range p.Series {
		t.Heads = append(t.Heads, s.Name)
		for _, x := range s.X {
			if _, ok := at[x]; !ok && !math.IsNaN(x) {
				at[x] = len(order)
				order = append(order, x)
			}
		}
	}
	for _, x := range order {
		row := make([]string, len(t.Heads))
		row[0] = Number(x)
		t.Rows = append(t.Rows, row)
	}
	for k, s := range p.Series {
		for i, x := range s.X {
			if row, ok := at[x]; ok && i < len(s.Y) {
				t.Rows[row][k+1] = s.Text(i)
			}
		}
	}
	return t
}

// Text is sample i of a series in words: one number, or the range that it
// stands for.
func (s Series) Text(i int) string {
	if i < len(s.Low) && i < len(s.High) && s.Low[i] < s.High[i] {
		return Number(s.Low[i]) + " … " + Number(s.High[i])
	}
	return Number(s.Y[i])
}

// Number is a number with four digits, whole ones in full, without powers of ten where it
// is below 1,000,000,000 and above 0.0001.
func Number(x float64) string {
	const most = 1e9 // from which on powers of ten are written
	switch {
	case x == 0:
		return "0" // of either sign
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "∞"
	case math.IsInf(x, -1):
		return "−∞"
	case math.Abs(x) < most && x == math.Trunc(x):
		return minus(strconv.FormatFloat(x, 'f', -1, 64))
	case math.Abs(x) < most && math.Abs(x) >= 1e4:
		unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-3)
		return minus(strconv.FormatFloat(math.Round(x/unit)*unit, 'f', 0, 64))
	}
	return minus(strconv.FormatFloat(x, 'g', 4, 64))
}

// minus writes the sign that stands before numbers in print.
func minus(s string) string {
	if len(s) > 0 && s[0] == '-' {
		return "−" + s[1:]
	}
	return s
}
