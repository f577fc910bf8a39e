package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/partition"
	"github.com/modelpatch/modelpatch/report"
)

// windows follow the attentions within windows of a graph through one evaluation at another size.
type windows struct {
	old     *eval.Scope
	all     []*partition.Partition
	roles   map[*onnx.Node][]*partition.Partition
	grids   map[*partition.Partition][2]int           // the picture that each cuts now
	whole   map[*partition.Partition][2]int           // and what of it is no filling
	made    map[*partition.Partition][]partition.Mask // its masks that stayed, to be made anew
	picture [2][2]int                                 // its height and width, before and now
	side    [2]int                                    // of windows, as was asked for; zeros: not
	rows    map[int]int                               // see sizes.rows
	sides   []report.Remedy                           // of which the caller has to choose
}

func newWindows(old *eval.Scope, all []*partition.Partition) *windows {
	f := &windows{old: old, all: all, roles: map[*onnx.Node][]*partition.Partition{}, grids: map[*partition.Partition][2]int{}, whole: map[*partition.Partition][2]int{}, made: map[*partition.Partition][]partition.Mask{}}
	for _, w := range all {
		nodes := append([]*onnx.Node{w.Split, w.Place, w.Pad, w.Merge}, w.Rolls...)
		for _, a := range w.Added {
			nodes = append(nodes, a.Node)
		}
		for _, n := range nodes {
			if n != nil && !slices.Contains(f.roles[n], w) {
				f.roles[n] = append(f.roles[n], w)
			}
		}
	}
	return f
}

// target is the shape that a Reshape gives which cuts a picture into windows or places windows in a
// picture; nil for others. why says what cannot be.
func (f *windows) target(n *onnx.Node, now []int, pairs map[[2]int][][2]int) (want []int, why string) {
	for _, w := range f.roles[n] {
		made := slices.Clone(f.old.Output(n, 0).Shape)
		switch n {
		case w.Split:
			was := f.old.Input(n, 0).Shape
			if len(now) != len(was) {
				return nil, ""
			}
			grid, ok := w.Grid, slices.Equal(was, now)
			if p := pairs[w.Grid]; len(p) > 0 && !ok {
				grid, ok = p[0], true
			}
			if was[w.Rows] == w.Grid[0] && len(was)+2 == len(made) {
				grid, ok = [2]int{now[w.Rows], now[w.Rows+1]}, true
			}
			if !ok {
				return nil, ""
			}
			if _, ok := f.whole[w]; !ok {
				f.whole[w] = grid
			}
			if why := f.untold(w, grid); why != "" {
				return nil, why
			}
			for axis := range grid {
				if grid[axis]%w.Now[axis] != 0 {
					return nil, fmt.Sprintf("%d×%d places cannot be cut into windows of %d×%d", grid[0], grid[1], w.Now[0], w.Now[1])
				}
			}
			f.grids[w] = grid
			w.Single = w.Shift != [2]int{} && w.Counted(grid) == [2]int{1, 1} && f.whole[w] == grid // known to the evaluations after the first
			if why := f.doubt(w, grid); why != "" && !w.Known {
				return nil, why
			}
			if w.Now != w.Side {
				pairs[w.Side] = slices.Insert(slices.DeleteFunc(pairs[w.Side], func(p [2]int) bool { return p == w.Now }), 0, w.Now)
			}
			count, before := w.Counted(grid), w.Count(w.Grid)
			f.rows[w.Places()] = w.Now[0] * w.Now[1] // where both are joined at once
			if n := before[0] * before[1]; n > 1 {
				f.rows[n] = count[0] * count[1]
			}
			made[w.Rows], made[w.Rows+1], made[w.Rows+2], made[w.Rows+3] = count[0], w.Now[0], count[1], w.Now[1]
			return made, ""
		case w.Place:
			grid, ok := f.grids[w]
			if !ok {
				return nil, ""
			}
			count := w.Counted(grid)
			made[w.Placed], made[w.Placed+1], made[w.Placed+2], made[w.Placed+3] = count[0], count[1], w.Now[0], w.Now[1]
			return made, ""
		}
	}
	return nil, ""
}

// untold says why it cannot be told whether windows keep their side or their number, and takes the side that was asked for: one window
// is no larger than the picture.
func (f *windows) untold(w *partition.Partition, grid [2]int) string {
	if f.side != [2]int{} {
		whole := f.whole[w]
		side := [2]int{min(f.side[0], whole[0]), min(f.side[1], whole[1])}
		if side != f.side && (w.Pad != nil || w.Count(w.Grid) != [2]int{1, 1}) {
			return fmt.Sprintf("%d×%d places are less than a window of %d×%d, and whether they are filled up or the window becomes smaller is not in the file", whole[0], whole[1], f.side[0], f.side[1])
		}
		if w.Stays != "" && side != w.Side {
			return fmt.Sprintf("its windows are of %d×%d places: %s", w.Side[0], w.Side[1], w.Stays)
		}
		w.Now = side
		return ""
	}
	if w.Tied {
		return ""
	}
	count := w.Count(w.Grid)
	other := [2]int{grid[0] / count[0], grid[1] / count[1]}
	if other == w.Side {
		return ""
	}
	f.sides = nil
	for _, c := range []struct {
		side [2]int
		does string
	}{{w.Side, "keeps the windows' side"}, {other, "keeps their number"}} {
		if min(c.side[0], c.side[1]) > 0 && grid[0]%c.side[0] == 0 && grid[1]%c.side[1] == 0 {
			f.sides = append(f.sides, report.Do("", c.does, "window", fmt.Sprintf("%dx%d", c.side[0], c.side[1])))
		}
	}
	if f.sides == nil {
		return fmt.Sprintf("%d×%d places can be cut neither into windows of %d×%d nor into %d×%d windows", grid[0], grid[1], w.Side[0], w.Side[1], count[0], count[1])
	}
	return fmt.Sprintf("whether windows stay of %d×%d places, or their number of %d×%d, is not in the file", w.Side[0], w.Side[1], count[0], count[1])
}

// anew reports whether a node cuts windows, or counts those that were cut, whose side may be another though the picture is not.
func (f *windows) anew(n *onnx.Node) bool {
	return f.side != [2]int{} && (f.within(n) != nil || slices.ContainsFunc(f.roles[n], func(w *partition.Partition) bool { return n == w.Split }))
}

// within is the attention in which a node stands whose windows have another side, or of which there was one alone and are several now;
// nil elsewhere.
func (f *windows) within(n *onnx.Node) *partition.Partition {
	for _, w := range f.all {
		grid, cut := f.grids[w]
		if cut && w.Place != nil && w.Swap.Index() < n.Index() && n.Index() <= w.Place.Index() && (w.Now != w.Side || w.Count(w.Grid) == [2]int{1, 1} && w.Counted(grid) != [2]int{1, 1}) {
			return w
		}
	}
	return nil
}

// apart are sizes of windows and of their places behind each other, as they are now; nil where they are not among the sizes.
func (f *windows) apart(w *partition.Partition, was []int) []int {
	if w == nil {
		return nil
	}
	before, now := w.Count(w.Grid), w.Counted(f.grids[w])
	windows, single := slices.Index(was, before[0]*before[1]), before == [2]int{1, 1}
	if len(was) < 2 || windows < 0 || single && windows > 0 {
		return nil
	}
	out := slices.Clone(was)
	out[windows] = now[0] * now[1]
	switch places := slices.Index(was[windows+1:], w.Places()); {
	case places >= 0:
		out[windows+1+places] = w.Now[0] * w.Now[1]
	case !single:
		return nil
	}
	return out
}

// padded notes a picture before it is filled up to whole windows.
func (f *windows) padded(n *onnx.Node, inputs []*eval.Value) {
	for _, w := range f.roles[n] {
		if n == w.Pad && inputs[0] != nil && len(inputs[0].Shape) > w.Rows+1 {
			f.whole[w] = [2]int(inputs[0].Shape[w.Rows:])
		}
	}
}

// merged are shapes that a node reads with the rows and columns of windows as those of the picture that
// they are put together to, where it does so.
func (f *windows) merged(n *onnx.Node, was []int, inputs []*eval.Value) (from, to []int) {
	now := inputs[0].Shape
	for _, w := range f.roles[n] {
		at := w.Placed
		if n != w.Merge || len(was) != len(now) || len(was) < at+4 {
			continue
		}
		join := func(shape []int) []int {
			return slices.Concat(shape[:at], []int{shape[at] * shape[at+1], shape[at+2] * shape[at+3]}, shape[at+4:])
		}
		from, to = join(was), join(now)
		if f.cropAt(w) == n {
			to[at], to[at+1] = f.whole[w][0], f.whole[w][1]
			inputs[0] = eval.Shaped(inputs[0].Type, to...)
		}
		return from, to
	}
	return was, now
}

// cropped gives the last Concat of a picture that is rolled back parts without what was filled up, where that is cut off
// behind it.
func (f *windows) cropped(n *onnx.Node, inputs []*eval.Value) {
	for _, w := range f.roles[n] {
		if n != w.RollBack || f.cropAt(w) != n || len(inputs) != 2 || w.Placed != 1 || slices.ContainsFunc(inputs, func(v *eval.Value) bool { return v == nil || len(v.Shape) != 4 }) {
			continue
		}
		for i, columns := range []int{f.whole[w][1], 0} {
			shape := slices.Clone(inputs[i].Shape)
			shape[1], shape[2] = f.whole[w][0], columns
			inputs[i] = eval.Shaped(inputs[i].Type, shape...)
		}
	}
}

// cropAt is the node behind which what was filled up has to be cut off: where the picture is filled up before it is rolled, behind what
// rolls it back. It is nil where nothing is to be cut off, or a node does it.
func (f *windows) cropAt(w *partition.Partition) *onnx.Node {
	switch {
	case w.Place == nil || w.Cut != nil || f.whole[w] == f.grids[w]:
		return nil
	case w.RollBack != nil && !w.PadLast:
		return w.RollBack
	}
	return w.Merge
}

// mask gives a node that adds a mask of the old windows the one of the new: windows have the mask of
// the last row, the last column, both or neither, as they had before. It returns why it cannot.
func (f *windows) mask(n *onnx.Node, inputs []*eval.Value) (why string) {
	for _, w := range f.roles[n] {
		grid, ok := f.grids[w]
		if !ok || grid == w.Grid && w.Now == w.Side {
			continue
		}
		for _, a := range w.Added {
			if a.Node != n || inputs[a.Input] == nil {
				continue
			}
			if w.Shift == [2]int{} {
				return "it masks windows that are not shifted: what of them it masks is not in the file"
			}
			was, is := f.old.Enlarge(n.Input(a.Input)), inputs[a.Input]
			use, why := partition.NewMask(w, a, was)
			if why != "" {
				return why
			}
			shape := use.Shape(grid)
			switch left := biasesLeft(was.Shape, is.Shape, a.Axis); {
			case left && use.Alone && n == a.To && n.Op == "Add" && len(n.Inputs) == 2:
				f.made[w] = append(f.made[w], use)
				continue
			case use.Alone:
				return "it adds masks and biases of windows in one constant, and where those of another side are to be added is not found"
			case w.Now == w.Side && !slices.Equal(is.Shape, was.Shape) && !w.Single: // the graph computes it
				if !slices.Equal(is.Shape, shape) || is.Known() && !use.Same(grid, is) {
					return "it masks the windows of the new size otherwise than those of the old one"
				}
				continue
			}
			inputs[a.Input] = eval.Shaped(was.Type, shape...)
			f.made[w] = append(f.made[w], use)
		}
	}
	return ""
}

// biasesLeft reports whether of numbers that differ between windows along an axis only biases are left, as relative.Window leaves them.
func biasesLeft(was, is []int, axis int) bool {
	return len(is) == len(was) && is[axis] == 1 && was[axis] > 1
}

// doubt says why it cannot be told what becomes of a picture that is cut into windows.
func (f *windows) doubt(w *partition.Partition, grid [2]int) string {
	before, now := w.Count(w.Grid), w.Counted(grid)
	for axis := range now {
		if w.Shift != [2]int{} && (before[axis] == 1) != (now[axis] == 1) && !w.Single {
			return fmt.Sprintf("%d×%d windows are shifted and %d×%d are to be: what of one window alone is shifted is not in the file", before[0], before[1], now[0], now[1])
		}
	}
	if now != before && before == [2]int{1, 1} {
		for _, other := range f.all {
			if other.Side[0] > w.Side[0] || other.Side[1] > w.Side[1] {
				return fmt.Sprintf("its single window of %d×%d is smaller than others of %d×%d: whether it grows with the picture is not in the file", w.Side[0], w.Side[1], other.Side[0], other.Side[1])
			}
		}
	}
	whole := f.whole[w]
	for axis := range grid {
		off := whole[axis]*f.picture[0][axis] - w.Grid[axis]*f.picture[1][axis]
		if w.Pad == nil && max(off, -off) > f.picture[0][axis] {
			return fmt.Sprintf("its picture of %d×%d places became %d×%d, and the picture changes otherwise", w.Grid[0], w.Grid[1], whole[0], whole[1])
		}
	}
	return ""
}

// farther is how much farther than before a picture is rolled along an axis of the Concat that does it.
func (f *windows) farther(roll *onnx.Node, axis int) int {
	for _, w := range f.roles[roll] {
		if at := axis - w.Rows; slices.Contains(w.Rolls, roll) && (at == 0 || at == 1) {
			return w.ShiftNow()[at] - w.Shift[at]
		}
	}
	return 0
}

// filledTo is the side of windows, before and now, to whole ones of which a Pad fills a picture up along an axis, −1: the rows; 0 where
// it does not.
func (f *windows) filledTo(pad *onnx.Node, axis int) (was, now int) {
	for _, w := range f.roles[pad] {
		if at := axis - w.Rows; pad == w.Pad && (axis < 0 || at == 0 || at == 1) {
			return w.Side[max(at, 0)], w.Now[max(at, 0)]
		}
	}
	return 0, 0
}

// cuts reports whether a node reads or gives a picture that is cut into windows, whose sizes are none of a picture.
func (f *windows) cuts(n *onnx.Node) bool {
	return slices.ContainsFunc(f.all, func(w *partition.Partition) bool { return n == w.Swap || n == w.Place || n == w.Unswap || n == w.Merge })
}
