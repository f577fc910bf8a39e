package fit

import "math"

// Matrix is a table of numbers, read as it is asked for.
type Matrix interface {
	Rows() int
	Cols() int
	At(r, c int) float64
}

// Dense is a matrix in memory, row after row.
func Dense(rows, cols int, values []float64) Matrix { return dense{rows, cols, values} }

// Func is a matrix whose elements a function gives.
func Func(rows, cols int, at func(r, c int) float64) Matrix { return funcMatrix{rows, cols, at} }

type dense struct {
	rows, cols int
	values     []float64
}

// Rows is the number of rows.
func (d dense) Rows() int { return d.rows }

// Cols is the length of a row.
func (d dense) Cols() int { return d.cols }

// At is an element, by row and column.
func (d dense) At(r, c int) float64 { return d.values[r*d.cols+c] }

type funcMatrix struct {
	rows, cols int
	at         func(r, c int) float64
}

// Rows is the number of rows.
func (f funcMatrix) Rows() int { return f.rows }

// Cols is the length of a row.
func (f funcMatrix) Cols() int { return f.cols }

// At asks the function.
func (f funcMatrix) At(r, c int) float64 { return f.at(r, c) }

// columns is a matrix of some columns of another.
func columns(m Matrix, n int, column func(c int) int) Matrix {
	return Func(m.Rows(), n, func(r, c int) float64 { return m.At(r, column(c)) })
}

// Reordered is a matrix with its rows in another order: row i is row order[i] of m.
func Reordered(m Matrix, order []int) Matrix {
	return Func(len(order), m.Cols(), func(r, c int) float64 { return m.At(order[r], c) })
}

// wholeTable is the number of elements up to which every row is looked at.
const wholeTable = 1 << 21

// someRows are the rows to compare: all of a table of reasonable size, else
// evenly spaced ones with the first and the last.
func someRows(m Matrix) []int {
	return spread(m.Rows(), max(wholeTable/max(m.Cols(), 1), 64))
}

// spread returns up to most numbers of 0 … n−1, evenly, with both ends.
func spread(n, most int) []int {
	rows := make([]int, 0, min(n, most))
	if n <= most {
		for i := range n {
			rows = append(rows, i)
		}
		return rows
	}
	for i := range most {
		rows = append(rows, int(math.Round(float64(i)*float64(n-1)/float64(most-1))))
	}
	return rows
}
