package sheet

// Crop is the part of a table of rows and columns that a graph cuts out for its patches.
type Crop struct {
	Table [2]int // rows and columns of the table
	First [2]int // of them where the part begins
	Size  [2]int // of the part
}

// Crop reads the part off the rows that the places of a grid get, behind a prefix of others; false where they get all of the table,
// or no part of that form.
func (s *Share) Crop(grid []int, prefix int) (c Crop, ok bool) {
	if len(grid) != 2 || prefix+size(grid) > len(s.Row) || grid[0] < 2 {
		return c, false
	}
	row := s.Row[prefix : prefix+size(grid)]
	wide, n := row[grid[1]]-row[0], s.Table.Len()
	if row[0] < 0 || wide < grid[1] || n%wide != 0 || n == len(row) {
		return c, false
	}
	c = Crop{Table: [2]int{n / wide, wide}, First: [2]int{row[0] / wide, row[0] % wide}, Size: [2]int(grid)}
	for p, r := range row {
		if r != c.Row(p) {
			return c, false
		}
	}
	return c, c.First[1]+grid[1] <= wide
}

// Row is the row of the table that a place of the part gets.
func (c Crop) Row(place int) int {
	return (c.First[0]+place/c.Size[1])*c.Table[1] + c.First[1] + place%c.Size[1]
}

// To is a part of another size: at the first row and column, or in the middle, as the part was. It is false where either may be meant, or
// the part begins elsewhere.
func (c Crop) To(size [2]int) (Crop, bool) {
	was := c
	c.Size = size
	for axis, n := range size {
		first, middle, then := was.First[axis], (was.Table[axis]-was.Size[axis])/2, (was.Table[axis]-n)/2
		switch {
		case n == was.Size[axis]:
		case first == middle && (first > 0 || then == 0):
			c.First[axis] = then
		case first == 0 && middle > 0:
		default:
			return c, false
		}
	}
	return c, true
}
