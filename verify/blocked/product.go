package blocked

import "math"

// Rows and columns of a product that are computed at once: they fill the registers.
const (
	rowsAtOnce    = 8
	columnsAtOnce = 16
)

// product adds a (rows by k) times the panels of b (each k by columnsAtOnce) to c, whose
// rows are stride apart: so many columns as panels are needed for.
func product(c []float64, stride int, a []float64, k int, b []float64, rows, columns int) {
	for panel := 0; panel < columns; panel += columnsAtOnce {
		for row := 0; row < rows; row += rowsAtOnce {
			tile(c[row*stride+panel:], stride, a[row*k:], k, b[panel*k:], k)
		}
	}
}

// accumulate adds a (rows by k, stride apart) times the panels of values to c.
func accumulate(c []float64, columns int, a []float64, stride int, b []float64, rows, k int) {
	for panel := 0; panel < columns; panel += columnsAtOnce {
		for row := 0; row < rows; row += rowsAtOnce {
			tile(c[row*columns+panel:], columns, a[row*stride:], stride, b[panel*keyBlock:], k)
		}
	}
}

// plainTile adds rowsAtOnce rows of a times a panel of b to c. Rows of a and c are as far
// apart as is said.
func plainTile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	for r := range rowsAtOnce {
		for half := 0; half < columnsAtOnce; half += 8 {
			row := (*[8]float64)(c[r*strideC+half:])
			s0, s1, s2, s3, s4, s5, s6, s7 := row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
			for i, x := range a[r*strideA : r*strideA+k] {
				p := (*[8]float64)(b[i*columnsAtOnce+half:])
				s0 += x * p[0]
				s1 += x * p[1]
				s2 += x * p[2]
				s3 += x * p[3]
				s4 += x * p[4]
				s5 += x * p[5]
				s6 += x * p[6]
				s7 += x * p[7]
			}
			row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7] = s0, s1, s2, s3, s4, s5, s6, s7
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
