package blocked

import "golang.org/x/sys/cpu"

// fast reports that the processor has vectors of four with multiply-add.
var fast = cpu.X86.HasAVX2 && cpu.X86.HasFMA

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
