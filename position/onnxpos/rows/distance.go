package rows

import "slices"

// ByDistance has a row for each distance between the places along two axes of a value: those
// from 1−n to n−1, of n places. The numbers of a row stand along the other axes.
type ByDistance struct {
	shape []int
	a, b  int
	rows  [][]float64
}

// ReadByDistance reads a value whose elements depend on how far the place along axis a lies behind that
// along axis b, and on their places along the other axes; it is false where others differ, or the two axes in size.
func ReadByDistance(shape []int, values []float64, a, b int) (r *ByDistance, ok bool) {
	n := shape[a]
	if shape[b] != n || n < 1 || len(values) < n*n {
		return nil, false
	}
	r, ok = &ByDistance{shape: shape, a: a, b: b, rows: make([][]float64, 2*n-1)}, true
	for i := range r.rows {
		r.rows[i] = make([]float64, len(values)/(n*n))
	}
	walk := r.walk(shape)
	for i, x := range values {
		distance, behind, column := walk(i)
		x0 := &r.rows[distance+n-1][column]
		if behind == 0 || behind == distance {
			*x0 = x
		}
		ok = ok && *x0 == x
	}
	return r, ok
}

// walk returns where element i of a value of the given shape stands: the distance of its places, the place along the
// first of the axes, and the number of its row.
func (r *ByDistance) walk(shape []int) func(i int) (distance, behind, column int) {
	return func(i int) (distance, behind, column int) {
		beside := 1
		for d := len(shape) - 1; d >= 0; d-- {
			at := i % shape[d]
			i /= shape[d]
			switch d {
			case r.a:
				distance, behind = distance+at, at
			case r.b:
				distance -= at
			default:
				column += at * beside
				beside *= shape[d]
			}
		}
		return distance, behind, column
	}
}

// Len is the number of distances.
func (r *ByDistance) Len() int { return len(r.rows) }

// Dim is the length of a row.
func (r *ByDistance) Dim() int { return len(r.rows[0]) }

// Row reads the row of distance i + 1 − n.
func (r *ByDistance) Row(i int, dst []float64) error {
	copy(dst, r.rows[i])
	return nil
}

// Places is n.
func (r *ByDistance) Places() int { return (len(r.rows) + 1) / 2 }

// Reach returns the distances in either direction beyond which all have the row of the farthest: of n places
// n−1 where the last one has a row of its own.
func (r *ByDistance) Reach() (before, after int) {
	n := r.Places()
	before, after = n-1, n-1
	for before > 0 && slices.Equal(r.rows[n-1-before], r.rows[n-before]) {
		before--
	}
	for after > 0 && slices.Equal(r.rows[n-1+after], r.rows[n-2+after]) {
		after--
	}
	return before, after
}

// Between returns the shape and the elements of such a value between n places, with a row for each distance that
// rows gives by its number from 1−n on; nil: those of r, and the farthest beyond.
func (r *ByDistance) Between(n int, rows func(distance int) []float64) (shape []int, fill FillFunc) {
	if rows == nil {
		most := r.Places() - 1
		rows = func(distance int) []float64 { return r.rows[min(max(distance, -most), most)+most] }
	}
	shape = slices.Clone(r.shape)
	shape[r.a], shape[r.b] = n, n
	walk := r.walk(shape)
	return shape, func(first int64, dst []float64) error {
		for i := range dst {
			distance, _, column := walk(int(first) + i)
			dst[i] = rows(distance)[column]
		}
		return nil
	}
}
