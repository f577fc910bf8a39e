package attention

import "github.com/modelpatch/modelpatch/internal/matrix"

// multiplied are the rows of x times weights of dim rows, plus a bias.
func multiplied(x [][]float64, w, bias []float64, dim int) [][]float64 {
	out := matrix.Rows(x, w, dim)
	for _, row := range out {
		for c, b := range bias {
			row[c] += b
		}
	}
	return out
}
