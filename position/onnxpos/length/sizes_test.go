package length

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/position/onnxpos/places"
)

// TestRegrouped holds what shapes become where sizes are cut and joined as in models of pictures.
func TestRegrouped(t *testing.T) {
	for _, c := range []struct {
		name          string
		from, to, now []int
		pairs         map[[2]int][][2]int
		stays         []int
		want          []int
		why           string
	}{
		{"patches in a row", []int{1, 32, 14, 14}, []int{1, 32, 196}, []int{1, 32, 24, 24}, nil, nil, []int{1, 32, 576}, ""},
		{"heads", []int{1, 196, 32}, []int{1, 196, 4, 8}, []int{1, 576, 32}, nil, nil, []int{1, 576, 4, 8}, ""},
		{"a row of patches as a grid", []int{1, 196, 32}, []int{1, 14, 14, 32}, []int{1, 192, 32}, map[[2]int][][2]int{{14, 14}: {{16, 12}}}, nil, []int{1, 16, 12, 32}, ""},
		{"windows", []int{1, 8, 8, 32}, []int{1, 2, 4, 2, 4, 32}, []int{1, 12, 16, 32}, nil, []int{4}, []int{1, 3, 4, 4, 4, 32}, ""},
		{"windows joined", []int{1, 2, 2, 4, 4, 32}, []int{4, 16, 32}, []int{1, 3, 4, 4, 4, 32}, nil, nil, []int{12, 16, 32}, ""},
		{"windows back", []int{4, 16, 32}, []int{1, 2, 2, 4, 4, 32}, []int{12, 16, 32}, map[[2]int][][2]int{{2, 2}: {{2, 2}, {3, 4}}, {4, 4}: {{4, 4}}}, nil, []int{1, 3, 4, 4, 4, 32}, ""},
		{"patches cut from pixels", []int{1, 3, 224, 224}, []int{1, 3, 14, 16, 14, 16}, []int{1, 3, 384, 384}, nil, []int{16}, []int{1, 3, 24, 16, 24, 16}, ""},
		{"no multiple of the window", []int{1, 8, 8, 32}, []int{1, 2, 4, 2, 4, 32}, []int{1, 9, 9, 32}, nil, []int{4}, nil, "9 places cannot be cut as [2 4] were"},
		{"axes that are not cut or joined", []int{1, 64, 32}, []int{1, 32, 64}, []int{1, 144, 32}, nil, nil, nil, "which"},
		{"an axis of one that goes", []int{1, 1, 196, 32}, []int{1, 196, 32}, []int{1, 1, 576, 32}, nil, nil, []int{1, 576, 32}, ""},
	} {
		z := &sizes{kept: map[int]bool{}, places: places.New(nil, nil, nil), pairs: c.pairs, rows: map[int]int{}, stays: map[int]bool{}, picture: [2][2]int{{1, 1}, {1, 1}}}
		for _, n := range c.stays {
			z.stays[n] = true
		}
		got, why := z.regrouped(c.from, c.to, c.now, make([]bool, len(c.to)))
		switch {
		case c.why == "which": // either: the graph has to say
			if z.either == nil && got != nil {
				t.Errorf("%s: %v, and nothing was left open", c.name, got)
			}
		case !slices.Equal(got, c.want) || !strings.Contains(why, c.why) || z.either != nil:
			t.Errorf("%s: %v, %q, want %v, %q", c.name, got, why, c.want, c.why)
		}
	}
}

// TestCut holds what axes are cut into.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		from, to []int
		axis     int
		want     int
	}{
		{[]int{1, 16, 16, 32}, []int{1, 4, 4, 4, 4, 32}, 1, 4},
		{[]int{1, 14, 21, 32}, []int{1, 2, 7, 3, 7, 32}, 2, 7},
		{[]int{1, 14, 21, 32}, []int{1, 14, 21, 32}, 1, 0},
		{[]int{1, 14, 14, 32}, []int{1, 196, 32}, 1, 0},
		{[]int{1, 196, 32}, []int{1, 196, 4, 8}, 2, 8},
	} {
		if got := cut(c.from, c.to, c.axis); got != c.want {
			t.Errorf("cut(%v, %v, %d) = %d, want %d", c.from, c.to, c.axis, got, c.want)
		}
	}
}

// TestParted holds that an axis which was joined of several stands for these where it is cut again.
func TestParted(t *testing.T) {
	for _, c := range []struct{ from, now, before, is, to, want []int }{
		{[]int{104, 32}, []int{120, 32}, []int{4, 26}, []int{12, 10}, []int{4, 26, 32}, []int{12, 10, 32}},
		{[]int{256, 48}, []int{64, 48}, []int{1, 4, 4, 4, 4}, []int{1, 2, 2, 4, 4}, []int{16, 16, 48}, []int{4, 16, 48}},
		{[]int{16, 32}, []int{64, 32}, []int{1, 16}, []int{4, 16}, []int{1, 16, 32}, []int{4, 16, 32}},
		{[]int{1, 784, 16}, []int{1, 1764, 16}, []int{28, 28}, []int{42, 42}, []int{1, 14, 2, 14, 2, 16}, []int{1, 21, 2, 21, 2, 16}},
		{[]int{16, 16, 3}, []int{4, 16, 3}, []int{4, 4}, []int{2, 2}, []int{16, 16, 3}, []int{4, 16, 3}}, // which of two was joined is not told
	} {
		z := &sizes{kept: map[int]bool{}, places: places.New(nil, nil, nil), rows: map[int]int{}, stays: map[int]bool{2: true}, picture: [2][2]int{{1, 1}, {1, 1}}}
		from, now := parted(c.from, c.now, [2][]int{c.before, c.is})
		if got, why := z.regrouped(from, c.to, now, make([]bool, len(c.to))); !slices.Equal(got, c.want) {
			t.Errorf("%v, joined of %v: %v, %q, want %v", c.from, c.before, got, why, c.want)
		}
	}
}
