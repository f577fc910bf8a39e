//go:build !amd64

package matrix

// tiles are the ways to multiply a tile that this processor has.
func tiles() map[string]func(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	return map[string]func(c []float64, strideC int, a []float64, strideA int, b []float64, k int){"as chosen": Tile}
}
