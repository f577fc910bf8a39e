//go:build !amd64

package blocked

// exponentials replaces scores by exp(score − highest) and returns their sum.
func exponentials(scores []float64, highest float64) float64 {
	return plainExponentials(scores, highest)
}

// tile adds rowsAtOnce rows of a times a panel of b to c.
func tile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	plainTile(c, strideC, a, strideA, b, k)
}
