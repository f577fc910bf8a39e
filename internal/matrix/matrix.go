// Package matrix multiplies matrices of float64 by tiles whose sums stay in registers: in
// vectors where the processor has them, with one rounding for each multiply-add then.
//
// The attention of package verify/blocked is made of them, and so are the projections of package
// position/ggufpos/attention.
package matrix

// Rows and columns of a product that are computed at once: they fill the registers.
const (
	RowsAtOnce    = 8
	ColumnsAtOnce = 16
)

// depth is how many elements of rows and columns are multiplied before the next tile: a panel
// of so many stays in the first cache.
const depth = 256

// Padded is a number of columns with those that fill the last panel.
func Padded(columns int) int { return padded(columns, ColumnsAtOnce) }

func padded(n, step int) int { return (n + step - 1) / step * step }

// Rows multiplies each row of x by the rows of w, a matrix of n rows as long as those of x:
// x·wᵀ, as a linear layer does. It has a row of n elements for each row of x, which are of one length.
func Rows(x [][]float64, w []float64, n int) [][]float64 {
	out := make([][]float64, len(x))
	if len(x) == 0 {
		return out
	}
	k, rows, width := len(x[0]), padded(len(x), RowsAtOnce), Padded(n)
	flat := make([]float64, rows*k)
	for i, row := range x {
		copy(flat[i*k:(i+1)*k], row)
	}
	sums := make([]float64, rows*width)
	panel := make([]float64, depth*ColumnsAtOnce)
	for first := 0; first < k; first += depth {
		d := min(depth, k-first)
		for column := 0; column < n; column += ColumnsAtOnce {
			pack(panel, w, k, first, d, column, min(ColumnsAtOnce, n-column))
			for row := 0; row < rows; row += RowsAtOnce {
				Tile(sums[row*width+column:], width, flat[row*k+first:], k, panel, d)
			}
		}
	}
	for i := range out {
		out[i] = sums[i*width : i*width+n : i*width+n]
	}
	return out
}

// pack copies d elements, from one on, of some rows of w into the columns of a panel; those that are left are 0.
func pack(panel, w []float64, k, first, d, row, rows int) {
	for c := range ColumnsAtOnce {
		if c >= rows {
			for i := range d {
				panel[i*ColumnsAtOnce+c] = 0
			}
			continue
		}
		for i, x := range w[(row+c)*k+first:][:d] {
			panel[i*ColumnsAtOnce+c] = x
		}
	}
}

// plainTile adds RowsAtOnce rows of a times a panel of b to c. Rows of a and c are as far
// apart as is said.
func plainTile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	for r := range RowsAtOnce {
		for half := 0; half < ColumnsAtOnce; half += 8 {
			row := (*[8]float64)(c[r*strideC+half:])
			s0, s1, s2, s3, s4, s5, s6, s7 := row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]
			for i, x := range a[r*strideA : r*strideA+k] {
				p := (*[8]float64)(b[i*ColumnsAtOnce+half:])
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
