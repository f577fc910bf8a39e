package relative

import "github.com/modelpatch/modelpatch/onnx/eval"

// clipped reports whether an index is the distance of query and key, in either direction,
// kept within the rows of a table.
func clipped(index *eval.Value, rows int) bool { return clippedAt(index, rows, rows/2) }

// clippedAt is clipped, where a pair of the same position has a row of its own choice.
func clippedAt(index *eval.Value, rows, zero int) bool {
	k := len(index.Shape)
	if !index.Known() || index.Ints == nil || k < 2 {
		return false
	}
	queries, keys := index.Shape[k-2], index.Shape[k-1]
	is := func(sign int) bool {
		for i, x := range index.Ints {
			if int(x) != min(max(sign*(i/keys%queries-i%keys)+zero, 0), rows-1) {
				return false
			}
		}
		return true
	}
	return queries > max(zero, rows-1-zero)+1 && (is(1) || is(-1))
}
