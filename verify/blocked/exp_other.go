//go:build !amd64

package blocked

// exponentials replaces scores by exp(score − highest) and returns their sum.
func exponentials(scores []float64, highest float64) float64 {
	return plainExponentials(scores, highest)
}
