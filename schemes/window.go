package schemes

// WindowIndex is the row of a bias table for each pair of the places of an
// image window, query by query: of height·width places, row after row, the row
// (Δy + h − 1)·(2w − 1) + Δx + w − 1 for Δ = query − key (Swin). With a class
// token, which stands first, three rows more are used: token to places, places
// to token, token to itself (BEiT; facts/NUMERICS §6).
func WindowIndex(height, width int, class bool) [][]int {
	places := height * width
	first := 0
	if class {
		first = 1
	}
	rows := WindowRows(height, width, false)
	out := make([][]int, places+first)
	for i := range out {
		out[i] = make([]int, places+first)
		for j := range out[i] {
			q, k := i-first, j-first
			switch {
			case q < 0 && k < 0:
				out[i][j] = rows + 2
			case q < 0:
				out[i][j] = rows
			case k < 0:
				out[i][j] = rows + 1
			default:
				out[i][j] = (q/width-k/width+height-1)*(2*width-1) + q%width - k%width + width - 1
			}
		}
	}
	return out
}

// SymmetricWindowIndex is WindowIndex of a table that tells no sides apart: the row
// |Δy|·w + |Δx|, of height·width rows (LeViT, Graham et al. 2021, eq. 1).
func SymmetricWindowIndex(height, width int) [][]int {
	places := height * width
	out := make([][]int, places)
	for q := range out {
		out[q] = make([]int, places)
		for k := range out[q] {
			dy, dx := q/width-k/width, q%width-k%width
			out[q][k] = max(dy, -dy)*width + max(dx, -dx)
		}
	}
	return out
}

// WindowRows is the number of rows of a window's bias table.
func WindowRows(height, width int, class bool) int {
	rows := (2*height - 1) * (2*width - 1)
	if class {
		rows += 3
	}
	return rows
}
