package sheet

// Whole reads off a part that the places of a grid get, behind a prefix of others, the rows and columns of the whole table, and how many
// of its rows stand ahead of these. It is false where places get no part of that form. Where they get whole rows of the table, its columns are
// those of the grid, or it has none: any grid takes as many of its rows as it has places.
func (s *Share) Whole(grid [2]int, prefix int) (whole [2]int, ahead int, ok bool) {
	n := size(grid[:])
	if n == 0 || prefix+n > len(s.Row) {
		return whole, 0, false
	}
	for ahead < prefix && s.Row[ahead] == ahead {
		ahead++
	}
	for _, r := range s.Row[ahead:prefix] {
		if r >= 0 {
			return whole, 0, false
		}
	}
	row, all := s.Row[prefix:prefix+n], s.Table.Len()-ahead
	whole[1] = grid[1]
	switch {
	case s.Table.Planar:
		first := s.Table.Axis
		whole = [2]int{int(s.Table.Tensor.Dims[first]), int(s.Table.Tensor.Dims[first+1])}
	case grid[0] > 1:
		whole[1] = row[grid[1]] - row[0]
	}
	if whole[1] < grid[1] || all%whole[1] != 0 && whole[1] != grid[1] {
		return whole, 0, false
	}
	if whole[0] = all / whole[1]; whole[0] < grid[0] {
		return whole, 0, false
	}
	start := row[0] - ahead
	for p, r := range row {
		if start < 0 || r != row[0]+p/grid[1]*whole[1]+p%grid[1] {
			return whole, 0, false
		}
	}
	return whole, ahead, true
}

// Rising reports whether places have a row each, that of the next one always behind.
func Rising(row []int) bool {
	for p, r := range row {
		if r < 0 || p > 0 && r <= row[p-1] {
			return false
		}
	}
	return len(row) > 0
}
