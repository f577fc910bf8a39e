package blocked

import (
	"math"

	"github.com/modelpatch/modelpatch/internal/matrix"
)

// Rows and columns of a product that are computed at once.
const (
	rowsAtOnce    = matrix.RowsAtOnce
	columnsAtOnce = matrix.ColumnsAtOnce
)

// product adds a (rows by k) times the panels of b (each k by columnsAtOnce) to c, whose
// rows are stride apart: so many columns as panels are needed for.
func product(c []float64, stride int, a []float64, k int, b []float64, rows, columns int) {
	for panel := 0; panel < columns; panel += columnsAtOnce {
		for row := 0; row < rows; row += rowsAtOnce {
			matrix.Tile(c[row*stride+panel:], stride, a[row*k:], k, b[panel*k:], k)
		}
	}
}

// accumulate adds a (rows by k, stride apart) times the panels of values to c.
func accumulate(c []float64, columns int, a []float64, stride int, b []float64, rows, k int) {
	for panel := 0; panel < columns; panel += columnsAtOnce {
		for row := 0; row < rows; row += rowsAtOnce {
			matrix.Tile(c[row*columns+panel:], columns, a[row*stride:], stride, b[panel*keyBlock:], k)
		}
	}
}

// plainExponentials replaces scores by exp(score − highest) and returns their sum.
func plainExponentials(scores []float64, highest float64) float64 {
	sum := 0.0
	for i, x := range scores {
		scores[i] = math.Exp(x - highest)
		sum += scores[i]
	}
	return sum
}
