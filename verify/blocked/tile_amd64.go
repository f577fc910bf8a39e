package blocked

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

// fastExp replaces n numbers x, a multiple of 4, by exp(x − highest), and returns their
// sum: within 2 units in the last place, and 0 where x − highest is below −708.
//
//go:noescape
func fastExp(x *float64, n int, highest float64) float64

// exponentials replaces scores by exp(score − highest) and returns their sum.
func exponentials(scores []float64, highest float64) float64 {
	n := len(scores) &^ 3
	if !fast || n == 0 {
		return plainExponentials(scores, highest)
	}
	return fastExp(&scores[0], n, highest) + plainExponentials(scores[n:], highest)
}

// tile adds rowsAtOnce rows of a times a panel of b to c.
func tile(c []float64, strideC int, a []float64, strideA int, b []float64, k int) {
	if !fast || k == 0 {
		plainTile(c, strideC, a, strideA, b, k)
		return
	}
	// What is read and written lies within: or this panics before it does.
	_, _, _ = c[(rowsAtOnce-1)*strideC+columnsAtOnce-1], a[(rowsAtOnce-1)*strideA+k-1], b[k*columnsAtOnce-1]
	if faster {
		tile8(&c[0], strideC, &a[0], strideA, &b[0], k)
		return
	}
	for row := 0; row < rowsAtOnce; row += 4 {
		for column := 0; column < columnsAtOnce; column += 8 {
			tile4(&c[row*strideC+column], strideC, &a[row*strideA], strideA, &b[column], k)
		}
	}
}
