package sheet

import (
	"slices"

	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
)

// Join reads shares of one sheet as one table whose rows stand in several constants that the graph joins: each but the last is
// used up to its end where the next one begins with its first row. It is nil where they are no such table.
func Join(shares []*Share) *Share {
	if len(shares) < 2 {
		return nil
	}
	begins := func(s *Share) int { return slices.IndexFunc(s.Row, func(r int) bool { return r >= 0 }) }
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b *Share) int { return begins(a) - begins(b) })
	whole := *shares[0]
	whole.Row = slices.Repeat([]int{-1}, len(whole.Row))
	place, before := begins(shares[0]), 0
	for i, s := range shares {
		n := s.Table.Len()
		if s.Columns != whole.Columns || s.Table.Dim() != s.Columns || begins(s) != place || i > 0 && s.Row[place] != 0 {
			return nil
		}
		for ; place < len(s.Row) && s.Row[place] >= 0; place++ {
			if whole.Row[place] = before + s.Row[place]; place > 0 && whole.Row[place-1] >= 0 && whole.Row[place] != whole.Row[place-1]+1 {
				return nil
			}
		}
		if s.Places() != place-begins(s) || i < len(shares)-1 && s.Row[place-1] != n-1 {
			return nil
		}
		if i > 0 {
			whole.Table.Next = append(whole.Table.Next, s.Table)
		}
		before += n
	}
	return &whole
}

// JoinColumns reads shares of one sheet, of which each place gets the same row, as one table whose columns stand in several constants that
// the graph joins; nil where they are no such table.
func JoinColumns(shares []*Share, columns int) *Share {
	if len(shares) < 2 {
		return nil
	}
	shares = slices.Clone(shares)
	slices.SortStableFunc(shares, func(a, b *Share) int { return a.From - b.From })
	whole := *shares[0]
	whole.Columns = 0
	for i, s := range shares {
		if s.From != whole.Columns || s.Table.Dim() != s.Columns || s.Table.Len() != whole.Table.Len() || s.Table.Planar || s.Table.InParts() || s.Places() != len(s.Row) || !slices.Equal(s.Row, whole.Row) {
			return nil
		}
		if whole.Columns += s.Columns; i > 0 {
			whole.Table.Beside = append(whole.Table.Beside, s.Table)
		}
	}
	if whole.Columns != columns {
		return nil
	}
	return &whole
}

// MostlyBeside reports whether more places than those that are marked have rows, and these differ from place to place.
func (s *Sheet) MostlyBeside(marked []bool) bool {
	var beside []int
	for p, m := range marked {
		if !m {
			beside = append(beside, p)
		}
	}
	return 2*len(beside) > len(marked) && slices.ContainsFunc(s.Columns, func(c int) bool {
		first := s.Value.Number(s.Places[beside[0]] + c)
		return slices.ContainsFunc(beside, func(p int) bool { return s.Value.Number(s.Places[p]+c) != first })
	})
}

// Cleared returns rows of which those at the ends that are marked are zeros: as many at the end of m, where it has more rows than there are
// marks.
func Cleared(m rows.Matrix, marked []bool) rows.Matrix {
	out := slices.Clone(m)
	for i := 0; i < min(len(marked), len(out)) && marked[i]; i++ {
		out[i] = make([]float64, len(out[i]))
	}
	for i := 1; i <= min(len(marked), len(out)) && marked[len(marked)-i]; i++ {
		out[len(out)-i] = make([]float64, len(out[len(out)-i]))
	}
	return out
}

// Sides are the axes of a grid, of places that lie row after row, along which the rows differ.
func (s *Share) Sides(grid []int) (axes []int) {
	inner := len(s.Row)
	for d, n := range grid {
		inner /= n
		for p, r := range s.Row {
			if p/inner%n > 0 && r != s.Row[p-inner] {
				axes = append(axes, d)
				break
			}
		}
	}
	return axes
}

// Turns reports whether places take n rows of s again and again, of the last turn perhaps some, and one of slow for each turn.
func (s *Share) Turns(slow *Share) (n int, ok bool) {
	row := s.Row
	for n = 1; n < len(row) && row[n] == row[n-1]+1; n++ {
	}
	if n < 2 || n == len(row) {
		return 0, false
	}
	for p := range row {
		if row[p] != row[p%n] || slow.Row[p] != slow.Row[0]+p/n {
			return 0, false
		}
	}
	return n, true
}
