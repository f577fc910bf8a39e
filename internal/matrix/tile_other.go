//go:build !amd64

package matrix

// Tile adds RowsAtOnce rows of a times a panel of b, k by ColumnsAtOnce, to c. Rows of a and c are as far apart as is said.
func Tile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	plainTile(c, strideC, a, strideA, b, k)
}
