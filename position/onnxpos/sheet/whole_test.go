package sheet

import "testing"

func TestWhole(t *testing.T) {
	for _, c := range []struct {
		name   string
		rows   int64
		row    []int
		prefix int
		whole  [2]int
		ahead  int
		ok     bool
	}{
		{"the first rows and columns", 20, []int{0, 1, 5, 6}, 0, [2]int{4, 5}, 0, true},
		{"behind a row of the table", 21, []int{0, 1, 2, 6, 7}, 1, [2]int{4, 5}, 1, true},
		{"behind a row of another", 20, []int{-1, 0, 1, 5, 6}, 1, [2]int{4, 5}, 0, true},
		{"the middle", 20, []int{6, 7, 11, 12}, 0, [2]int{4, 5}, 0, true},
		{"rows one behind the other", 20, []int{0, 1, 2, 3}, 0, [2]int{10, 2}, 0, true},
		{"columns first", 20, []int{0, 5, 1, 6}, 0, [2]int{}, 0, false},
		{"a table of no such columns", 21, []int{0, 1, 5, 6}, 0, [2]int{}, 0, false},
		{"a place without a row", 20, []int{0, 1, 5, -1}, 0, [2]int{}, 0, false},
		{"one row", 20, []int{0, 0, 0, 0}, 0, [2]int{}, 0, false},
	} {
		whole, ahead, ok := ofTable(c.rows, c.row...).Whole([2]int{2, 2}, c.prefix)
		if ok != c.ok || ok && (whole != c.whole || ahead != c.ahead) {
			t.Errorf("%s: %v behind %d, %t", c.name, whole, ahead, ok)
		}
	}
	if !Rising([]int{0, 1, 5}) || Rising([]int{0, 1, 1}) || Rising([]int{-1, 0}) || Rising(nil) {
		t.Error("what rises")
	}
}
