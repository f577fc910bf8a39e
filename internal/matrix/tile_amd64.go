package matrix

import "golang.org/x/sys/cpu"

// What the processor has: vectors of four with multiply-add, and of eight.
var (
	fast   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	faster = fast && cpu.X86.HasAVX512F
)

// tile4 adds four rows of a times eight columns of a panel to c.
//
//go:noescape
func tile4(c *float64, strideC int, a *float64, strideA int, b *float64, k int)

// tile8 adds eight rows of a times a panel to c.
//
//go:noescape
func tile8(c *float64, strideC int, a *float64, strideA int, b *float64, k int)

// Tile adds RowsAtOnce rows of a times a panel of b, k by ColumnsAtOnce, to c. Rows of a and c are as far apart as is said.
func Tile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	if !fast || k == 0 {
		plainTile(c, strideC, a, strideA, b, k)
		return
	}
	// What is read and written lies within: or this panics before it does.
	_, _, _ = c[(RowsAtOnce-1)*strideC+ColumnsAtOnce-1], a[(RowsAtOnce-1)*strideA+k-1], b[k*ColumnsAtOnce-1]
	if faster {
		tile8(&c[0], strideC, &a[0], strideA, &b[0], k)
		return
	}
	for row := 0; row < RowsAtOnce; row += 4 {
		for column := 0; column < ColumnsAtOnce; column += 8 {
			tile4(&c[row*strideC+column], strideC, &a[row*strideA], strideA, &b[column], k)
		}
	}
}
