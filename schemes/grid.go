package schemes

import (
	"fmt"
	"slices"
)

// Grid is how many patches of a picture or a video lie along time, along its height and along its
// width. A picture has one along time.
type Grid [3]int

// GridOf is a grid of two sizes, rows and columns, or of three; zeros for other numbers of sizes.
func GridOf(sizes []int) (g Grid) {
	if len(sizes) == 2 || len(sizes) == 3 {
		g[0] = 1
		copy(g[3-len(sizes):], sizes)
	}
	return g
}

// Sides are the rows and columns.
func (g Grid) Sides() [2]int { return [2]int(g[1:]) }

// Places is how many patches there are.
func (g Grid) Places() int { return g[0] * g[1] * g[2] }

// WithSides is the grid with other rows and columns.
func (g Grid) WithSides(rows, columns int) Grid { return Grid{g[0], rows, columns} }

// Axes are the sizes of the last n axes.
func (g Grid) Axes(n int) []int { return slices.Clone(g[len(g)-n:]) }

// String writes rows×columns, after the patches along time where there are several.
func (g Grid) String() string {
	if g[0] > 1 {
		return Sizes(g[:])
	}
	return Sizes(g[1:])
}

// NearestSizes says which sizes of a picture are possible next to one that is not.
func NearestSizes(pixels, patch, over int) string {
	below := (pixels - over) / patch * patch
	if below < patch {
		return fmt.Sprintf("the nearest possible is %d pixels", patch+over)
	}
	return fmt.Sprintf("the nearest possible are %d and %d pixels", below+over, below+over+patch)
}
