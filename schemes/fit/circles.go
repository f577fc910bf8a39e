package fit

import "math"

// OnCircles reports whether the columns of a table are sines and cosines of angles, whatever these are:
// but for columns of one number, each has another with which the squares sum to the same in every row.
// Trained rows do that nowhere.
func OnCircles(m Matrix, p Precision) bool {
	n := min(m.Rows(), circleRows)
	if n < 4 {
		return false
	}
	var columns [][]float64 // squares, of columns that vary
	for c := range m.Cols() {
		squares, varies := make([]float64, n), false
		for r := range n {
			x := m.At(r*(m.Rows()-1)/(n-1), c)
			squares[r] = x * x
			varies = varies || math.Abs(x) != math.Abs(m.At(0, c)) // numbers of one size, of either sign, are no turn
		}
		if varies {
			columns = append(columns, squares)
		}
	}
	if len(columns) < minWaves || len(columns) > maxWaves {
		return false
	}
	taken, single := make([]bool, len(columns)), 0
	for i, a := range columns {
		if taken[i] {
			continue
		}
		found := false
		for j := i + 1; j < len(columns) && !found; j++ {
			if found = !taken[j] && sumTo(a, columns[j], p.circleError()); found {
				taken[j] = true
			}
		}
		if !found {
			single++ // coordinates beside their waves
		}
	}
	return single*4 <= len(columns)
}

// Bounds of the rows and columns that are looked at, and the fewest columns that are no chance.
const (
	circleRows = 64
	minWaves   = 8
	maxWaves   = 4096
)

// sumTo reports whether two columns of squares sum to one number, as those of a sine and a cosine do.
func sumTo(a, b []float64, within float64) bool {
	radius := a[0] + b[0]
	if radius == 0 {
		return false
	}
	for r := range a {
		if math.Abs(a[r]+b[r]-radius) > 2*within*radius {
			return false
		}
	}
	return true
}
