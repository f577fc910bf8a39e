package schemes

import (
	"fmt"
	"math"
	"slices"
)

// Ways to resize the bias table of an image window, the usual one first.
const (
	// WindowBilinear is transformers' for BEiT: half-pixel centres, no antialias.
	WindowBilinear = "bilinear"
	// WindowBicubic is timm's resize_rel_pos_bias_table_simple: half-pixel centres, no antialias.
	WindowBicubic = "bicubic"
	// WindowGeometric is timm's resize_rel_pos_bias_table: the old distances stand in a geometric
	// progression that ends at the largest new one, so that near ones stay as they are, and new
	// ones are read linearly in between. (BEiT's own code puts cubic splines there.)
	WindowGeometric = "geometric"
)

// WindowMethods are the ways to resize the bias table of a window.
var WindowMethods = []string{WindowBilinear, WindowBicubic, WindowGeometric}

// ResizeWindow resizes a bias table, a row for each row of WindowIndex with a number a head, from a
// window's height and width to another's. Rows behind those of pairs of places stay: a class token's.
func ResizeWindow(table [][]float64, from, to [2]int, method string) ([][]float64, error) {
	if from[0] < 1 || from[1] < 1 || to[0] < 1 || to[1] < 1 {
		return nil, fmt.Errorf("a window of %d×%d cannot become one of %d×%d", from[0], from[1], to[0], to[1])
	}
	old, new := [2]int{2*from[0] - 1, 2*from[1] - 1}, [2]int{2*to[0] - 1, 2*to[1] - 1}
	if len(table) < old[0]*old[1] {
		return nil, fmt.Errorf("a table of %d rows is not that of a window of %d×%d", len(table), from[0], from[1])
	}
	if int64(new[0])*int64(new[1]) > maxGridElements/int64(max(len(table[0]), 1)) {
		return nil, fmt.Errorf("a window of %d×%d is too large", to[0], to[1])
	}
	if from == to {
		return slices.Clone(table), nil
	}
	var taps func(old, new int) [][]tap
	switch method {
	case WindowBilinear:
		taps = Kernel{}.taps
	case WindowBicubic:
		taps = Kernel{Cubic: true}.taps
	case WindowGeometric:
		taps = geometric
	default:
		return nil, fmt.Errorf("no method %q", method)
	}
	vertical, horizontal := taps(old[0], new[0]), taps(old[1], new[1])
	out := make([][]float64, 0, new[0]*new[1]+len(table)-old[0]*old[1])
	for y := range new[0] {
		for x := range new[1] {
			row := make([]float64, len(table[0]))
			for _, v := range vertical[y] {
				for _, h := range horizontal[x] {
					for c, b := range table[v.at*old[1]+h.at] {
						row[c] += v.weight * h.weight * b
					}
				}
			}
			out = append(out, row)
		}
	}
	for _, row := range table[old[0]*old[1]:] {
		out = append(out, slices.Clone(row))
	}
	return out, nil
}

// Bounds of the ratio of a geometric progression of distances, and how exactly it is searched (timm).
const (
	leastRatio = 1.01
	mostRatio  = 1.5
	ratioSteps = 1e-6
)

// geometric reads new distances off old ones that stand in a geometric progression, both counted from
// −n to n with zero in the middle. Beyond the outermost, that one counts. An axis that stays beside one that changes is read so, too
// (resize_rel_pos_bias_table of timm).
func geometric(old, new int) [][]tap {
	out := make([][]tap, new)
	n, far := old/2, new/2
	left, right := leastRatio, mostRatio
	q := left
	for right-left > ratioSteps {
		q = (left + right) / 2
		if (1-math.Pow(q, float64(n)))/(1-q) > float64(far) {
			right = q
		} else {
			left = q
		}
	}
	at := make([]float64, old) // where each old distance stands
	place := 1.0
	for i := 1; i <= n; i++ {
		at[n+i], at[n-i] = place, -place
		place += math.Pow(q, float64(i))
	}
	for i := range out {
		x := float64(i - far)
		right, found := slices.BinarySearch(at, x)
		switch {
		case found:
			out[i] = []tap{{right, 1}}
		case right == 0:
			out[i] = []tap{{0, 1}}
		case right == old:
			out[i] = []tap{{old - 1, 1}}
		default:
			part := (x - at[right-1]) / (at[right] - at[right-1])
			out[i] = []tap{{right - 1, 1 - part}, {right, part}}
		}
	}
	return out
}

// ShiftedWindowMask is what is added to the scores between the places of a window of a picture that was rolled by shift rows and columns
// before it was cut into windows of a side (Liu et al. 2021, "Swin Transformer", §3.2): places of the last row or column of windows that
// come from opposite borders do not see each other. last says of which the window is; hidden is added to what is not seen. Query by key.
func ShiftedWindowMask(side, shift [2]int, last [2]bool, hidden float64) []float64 {
	part := func(place int) (p [2]bool) {
		for axis, at := range [2]int{place / side[1], place % side[1]} {
			p[axis] = last[axis] && at >= side[axis]-shift[axis]
		}
		return p
	}
	places := side[0] * side[1]
	out := make([]float64, places*places)
	for i := range out {
		if part(i/places) != part(i%places) {
			out[i] = hidden
		}
	}
	return out
}
