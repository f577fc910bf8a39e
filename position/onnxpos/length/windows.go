package length

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// windowed is an attention between the places of the windows that a picture is cut into (Liu et al.
// 2021, §3.2): a Reshape and a Transpose cut it, another pair puts it together again.
type windowed struct {
	split, swap   *onnx.Node   // the picture cut into windows; the windows side by side
	place, unswap *onnx.Node   // windows by rows and columns; the picture again; nil where it stays cut
	rows          int          // the axis of split's output that counts windows by rows; window rows, columns of windows, window columns follow
	placed        int          // the axis of place's output that counts windows by rows; columns of windows and the window follow
	grid          [2]int       // the picture that is cut, in places
	side          [2]int       // of a window, in places
	shift         [2]int       // how far the picture is rolled before it is cut
	pad           *onnx.Node   // fills the picture up to whole windows; nil where none does
	padLast       bool         // it does so behind the roll
	merge         *onnx.Node   // a Reshape that joins rows and columns of windows to those of the picture; nil where none does
	rollBack      *onnx.Node   // the last Concat that rolls it back; nil where none does
	cut           *onnx.Node   // the last Slice that cuts off what was filled up; nil where none does
	softmax       *onnx.Node   // of the scores; nil where none was found
	added         []added      // known numbers that are added to the scores and differ between windows
	rolls         []*onnx.Node // the Concats that roll it there and back
	mask          bool         // numbers of the graph's own are cut, for the mask of shifted windows
	tied          bool         // numbers stand in the file for windows of this side
	stays         string       // why it cannot have another side; "": nothing that was found
	now           [2]int       // the side that windows are to have
}

// added is an input of a node that differs between windows along an axis.
type added struct {
	given
	axis int
	to   *onnx.Node // what adds it to the scores
}

// count is how many windows a picture is cut into, by rows and columns.
func (w *windowed) count(grid [2]int) [2]int {
	return [2]int{grid[0] / w.side[0], grid[1] / w.side[1]}
}

// counted is how many windows the new picture is cut into.
func (w *windowed) counted(grid [2]int) [2]int {
	return [2]int{grid[0] / w.now[0], grid[1] / w.now[1]}
}

// tie notes whether numbers stand in the file for the windows' side: biases or masks between their places, a roll or a filling;
// sides are those of sites. asked is the side that windows are to have, zeros where that was not said.
func (w *windowed) tie(s *eval.Scope, sides map[int]bool, asked [2]int) {
	w.now = w.side
	w.tied = w.mask || w.shift != [2]int{} || w.pad != nil || len(w.added) > 0 || sides[w.side[0]]
	if w.softmax != nil {
		for _, n := range s.Graph.Nodes {
			if n.Index() > w.swap.Index() && n.Index() < w.softmax.Index() && eval.Is(n, eval.Product) && slices.ContainsFunc(n.Inputs, func(in string) bool {
				v := s.Value(in)
				return len(v.Shape) == 3 && v.Shape[0] == v.Shape[1] && slices.Contains(w.side[:], v.Shape[0]) && v.Known()
			}) {
				w.tied, w.stays = true, n.Title()+" takes vectors by distance along their sides"
			}
		}
		knownAdded(s, w.softmax, func(_ given, v *eval.Value) {
			k := len(v.Shape)
			w.tied = w.tied || k > 1 && v.Shape[k-1] == w.places()
		})
	}
	for axis, by := range w.shift {
		if by != w.side[axis]/2 && w.shift != [2]int{} {
			w.stays = fmt.Sprintf("they are shifted by %d of %d places: how far those of another side are to be is not in the file", by, w.side[axis])
		}
	}
	if w.shift != [2]int{} && len(w.rolls) != 4 {
		w.stays = "they are shifted, and what shifts them back is not found"
	}
	if asked != [2]int{} && w.stays == "" && (w.shift != [2]int{} || w.pad != nil) { // which are met before the picture is cut
		w.now = asked
	}
}

// shiftNow is how far the picture is to be rolled before it is cut: by half a window (Liu et al. 2021, §3.2) of another side than before.
func (w *windowed) shiftNow() [2]int {
	if w.now == w.side || w.shift == [2]int{} {
		return w.shift
	}
	return [2]int{w.now[0] / 2, w.now[1] / 2}
}

// places is the number of places of one window.
func (w *windowed) places() int { return w.side[0] * w.side[1] }

// findWindowed finds the attentions within windows of the main graph, in file order.
func findWindowed(s *eval.Scope) []*windowed {
	var out []*windowed
	var open *windowed
	for _, n := range s.Graph.Nodes {
		switch n.Op {
		case "Softmax":
			if open == nil || open.softmax != nil {
				continue
			}
			if shape := s.Input(n, 0).Shape; len(shape) > 2 && slices.Equal(shape[len(shape)-2:], []int{open.places(), open.places()}) {
				open.softmax = n
				open.added = addedByWindow(s, n, open)
			}
		case "Transpose":
			shape, axis := s.Input(n, 0).Shape, middleSwapped(n)
			if axis < 1 || axis+4 > len(shape) { // behind a batch: heads are swapped with positions in the same way
				continue
			}
			made, at := s.Find(n.Input(0))
			if made == nil || at != s || made.Op != "Reshape" {
				continue
			}
			d := [4]int(shape[axis : axis+4])
			if open != nil && open.count(open.grid) == [2]int{d[0], d[1]} && open.side == [2]int{d[2], d[3]} {
				open.place, open.unswap, open.placed = made, n, axis
				open.merged(s)
				open.cut = cutOff(s, n.Output(0), open.grid)
				open = nil
				continue
			}
			w := &windowed{split: made, swap: n, rows: axis, grid: [2]int{d[0] * d[1], d[2] * d[3]}, side: [2]int{d[1], d[3]}}
			picture := s.Input(made, 0)
			from := picture.Shape
			if w.side[0] < 2 || w.side[1] < 2 || !(len(from) > axis+1 && from[axis] == w.grid[0] && from[axis+1] == w.grid[1] || len(from) > axis && from[axis] == w.grid[0]*w.grid[1]) {
				continue
			}
			if w.mask = picture.Known(); w.mask {
				out = append(out, w)
				continue
			}
			w.rolled(s)
			open, out = w, append(out, w)
		}
	}
	return out
}

// middleSwapped is the first of four axes of which a Transpose swaps the middle two and moves nothing
// else, −1 for others.
func middleSwapped(n *onnx.Node) int {
	perm := n.Ints("perm")
	first := -1
	for i := 0; i < len(perm); i++ {
		switch {
		case perm[i] == int64(i):
		case first < 0 && i > 0 && i+2 < len(perm) && perm[i] == int64(i+1) && perm[i+1] == int64(i):
			first = i - 1
			i++
		default:
			return -1
		}
	}
	return first
}

// maxRolls bounds the nodes between a picture and where it is cut.
const maxRolls = 6

// rolled finds how far rows and columns are rolled before the picture is cut, the last part of each axis after the
// first joined before it, and where it is filled up.
func (w *windowed) rolled(s *eval.Scope) {
	at := 1 // columns are rolled last
	name := w.split.Input(0)
	for range maxRolls {
		n, scope := s.Find(name)
		switch {
		case n == nil || scope != s:
			return
		case n.Op == "Concat" && len(n.Inputs) == 2 && at >= 0:
			start, from := trace.RollStart(s, n)
			if shape := s.Value(from).Shape; start == 0 || at+w.rows >= len(shape) || 2*start > shape[at+w.rows] {
				return
			}
			w.shift[at], name, w.rolls = start, from, append(w.rolls, n)
			at--
		case n.Op == "Pad":
			if w.pad != nil {
				return
			}
			w.pad, w.padLast, name = n, at == 1, n.Input(0)
		case n.Op == "Identity", n.Op == "Slice":
			name = n.Input(0)
		default:
			return
		}
	}
}

// cutOff is the last Slice behind a value that ends rows or columns where they end, which cuts off nothing where
// there is nothing to cut off.
func cutOff(s *eval.Scope, name string, grid [2]int) (last *onnx.Node) {
	queue := []string{name}
	for i := 0; i < len(queue) && i < maxRolls; i++ {
		for _, n := range s.Consumers(queue[i]) {
			switch {
			case n.Op == "Slice":
				starts, ends, axes := trace.ListOf(s, n, "starts", 1), trace.ListOf(s, n, "ends", 2), trace.ListOf(s, n, "axes", 3)
				shape := s.Input(n, 0).Shape
				if len(starts) == 1 && len(ends) == 1 && len(axes) == 1 && starts[0] == 0 && axes[0] >= 0 && int(axes[0]) < len(shape) && ends[0] == int64(shape[axes[0]]) && slices.Contains(grid[:], shape[axes[0]]) {
					last = n
				}
				queue = append(queue, n.Output(0))
			case last == nil && eval.Is(n, eval.Layout|eval.Joining):
				queue = append(queue, n.Output(0))
			}
		}
	}
	return last
}

// merged finds where the picture is put together and rolled back.
func (w *windowed) merged(s *eval.Scope) {
	merge := trace.Only(s, w.unswap.Output(0))
	if merge == nil || merge.Op != "Reshape" {
		return
	}
	w.merge = merge
	name := merge.Output(0)
	for range maxRolls { // what was filled up is cut off, or nothing is
		cut := trace.Only(s, name)
		if cut == nil || cut.Op != "Slice" && cut.Op != "Identity" {
			break
		}
		name = cut.Output(0)
	}
	for range 2 { // rows and columns
		parts := trace.Readers(s, name)
		if len(parts) != 2 {
			return
		}
		joined := trace.Only(s, parts[0].Output(0))
		if joined == nil || joined.Op != "Concat" {
			return
		}
		if start, from := trace.RollStart(s, joined); start == 0 || from != name {
			return
		}
		name, w.rollBack, w.rolls = joined.Output(0), joined, append(w.rolls, joined)
	}
}

// maxAdded is how many numbers are added to scores one after another.
const maxAdded = 6

// addedByWindow are the known numbers added to scores that differ from window to window: the masks of
// shifted windows, alone or with biases.
func addedByWindow(s *eval.Scope, softmax *onnx.Node, w *windowed) (out []added) {
	count := w.count(w.grid)
	byWindow := func(v *eval.Value) int {
		for axis := range max(len(v.Shape)-2, 0) {
			if k := len(v.Shape); v.Shape[axis] == count[0]*count[1] && v.Shape[axis] > 1 && v.Shape[k-1] == w.places() && v.Shape[k-2] == w.places() && v.Varies(axis) {
				return axis
			}
		}
		return -1
	}
	knownAdded(s, softmax, func(at given, v *eval.Value) {
		axis := byWindow(v)
		if axis < 0 {
			return
		}
		to := at.node
		for range maxAdded { // to the mask alone, of one picture
			n, in := s.Find(at.node.Input(at.input))
			if n == nil || in != s || n.Index() < w.split.Index() || !eval.Is(n, eval.Addition|eval.Layout|eval.Repetition) {
				break
			}
			next, part := given{n, 0}, byWindow(s.Enlarge(n.Input(0)))
			if eval.Is(n, eval.Addition) {
				if part < 0 {
					next, part = given{n, 1}, byWindow(s.Enlarge(n.Input(1)))
				}
				if other := s.Enlarge(n.Input(1 - next.input)); !other.Known() || byWindow(other) >= 0 {
					break
				}
			}
			if part < 0 {
				break
			}
			at, axis = next, part
		}
		out = append(out, added{at, axis, to})
	})
	return out
}

// knownAdded visits the known numbers that are added to scores before a Softmax.
func knownAdded(s *eval.Scope, softmax *onnx.Node, visit func(at given, v *eval.Value)) {
	name := softmax.Input(0)
	for range maxAdded {
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Addition|eval.Layout) {
			return
		}
		name = n.Input(0)
		if !eval.Is(n, eval.Addition) {
			continue
		}
		for i, in := range n.Inputs {
			if v := s.Enlarge(in); v.Known() {
				visit(given{n, i}, v)
			} else {
				name = in
			}
		}
	}
}

// windows follow the attentions within windows of a graph through one evaluation at another size.
type windows struct {
	old     *eval.Scope
	all     []*windowed
	roles   map[*onnx.Node][]*windowed
	grids   map[*windowed][2]int      // the picture that each cuts now
	whole   map[*windowed][2]int      // and what of it is no filling
	made    map[*windowed][]windowUse // its masks that stayed, to be made anew
	picture [2][2]int                 // its height and width, before and now
	side    [2]int                    // of windows, as was asked for; zeros: not
	sides   []report.Remedy           // of which the caller has to choose
}

// windowUse is a mask with the numbers that it had, and those of windows of another side.
type windowUse struct {
	added
	was  *eval.Value
	made windowNumbers // nil where the old ones stay
}

func newWindows(old *eval.Scope, all []*windowed) *windows {
	f := &windows{old: old, all: all, roles: map[*onnx.Node][]*windowed{}, grids: map[*windowed][2]int{}, whole: map[*windowed][2]int{}, made: map[*windowed][]windowUse{}}
	for _, w := range all {
		nodes := append([]*onnx.Node{w.split, w.place, w.pad, w.merge}, w.rolls...)
		for _, a := range w.added {
			nodes = append(nodes, a.node)
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
		case w.split:
			was := f.old.Input(n, 0).Shape
			if len(now) != len(was) {
				return nil, ""
			}
			grid, ok := w.grid, len(pairs[w.grid]) > 0
			if ok {
				grid = pairs[w.grid][0]
			}
			if was[w.rows] == w.grid[0] && len(was)+2 == len(made) {
				grid, ok = [2]int{now[w.rows], now[w.rows+1]}, true
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
				if grid[axis]%w.now[axis] != 0 {
					return nil, fmt.Sprintf("%d×%d places cannot be cut into windows of %d×%d", grid[0], grid[1], w.now[0], w.now[1])
				}
			}
			f.grids[w] = grid
			if why := f.doubt(w, grid); why != "" && !w.mask {
				return nil, why
			}
			if w.now != w.side {
				pairs[w.side] = slices.Insert(slices.DeleteFunc(pairs[w.side], func(p [2]int) bool { return p == w.now }), 0, w.now)
			}
			count := w.counted(grid)
			made[w.rows], made[w.rows+1], made[w.rows+2], made[w.rows+3] = count[0], w.now[0], count[1], w.now[1]
			return made, ""
		case w.place:
			grid, ok := f.grids[w]
			if !ok {
				return nil, ""
			}
			count := w.counted(grid)
			made[w.placed], made[w.placed+1], made[w.placed+2], made[w.placed+3] = count[0], count[1], w.now[0], w.now[1]
			return made, ""
		}
	}
	return nil, ""
}

// untold says why it cannot be told whether windows keep their side or their number, and takes the side that was asked for: one window
// is no larger than the picture.
func (f *windows) untold(w *windowed, grid [2]int) string {
	if f.side != [2]int{} {
		whole := f.whole[w]
		side := [2]int{min(f.side[0], whole[0]), min(f.side[1], whole[1])}
		if side != f.side && (w.pad != nil || w.count(w.grid) != [2]int{1, 1}) {
			return fmt.Sprintf("%d×%d places are less than a window of %d×%d, and whether they are filled up or the window becomes smaller is not in the file", whole[0], whole[1], f.side[0], f.side[1])
		}
		if w.stays != "" && side != w.side {
			return fmt.Sprintf("its windows are of %d×%d places: %s", w.side[0], w.side[1], w.stays)
		}
		w.now = side
		return ""
	}
	if w.tied {
		return ""
	}
	count := w.count(w.grid)
	other := [2]int{grid[0] / count[0], grid[1] / count[1]}
	if other == w.side {
		return ""
	}
	f.sides = nil
	for _, c := range []struct {
		side [2]int
		does string
	}{{w.side, "keeps the windows' side"}, {other, "keeps their number"}} {
		if min(c.side[0], c.side[1]) > 0 && grid[0]%c.side[0] == 0 && grid[1]%c.side[1] == 0 {
			f.sides = append(f.sides, report.Do("", c.does, "window", fmt.Sprintf("%dx%d", c.side[0], c.side[1])))
		}
	}
	if f.sides == nil {
		return fmt.Sprintf("%d×%d places can be cut neither into windows of %d×%d nor into %d×%d windows", grid[0], grid[1], w.side[0], w.side[1], count[0], count[1])
	}
	return fmt.Sprintf("whether windows stay of %d×%d places, or their number of %d×%d, is not in the file", w.side[0], w.side[1], count[0], count[1])
}

// several is how many windows the picture is cut into now where a node stands in an attention that was of
// a single one, 0 elsewhere.
func (f *windows) several(n *onnx.Node) int {
	for _, w := range f.all {
		if w.place != nil && w.swap.Index() < n.Index() && n.Index() <= w.place.Index() && w.count(w.grid) == [2]int{1, 1} {
			count := w.counted(f.grids[w])
			return count[0] * count[1]
		}
	}
	return 0
}

// padded notes a picture before it is filled up to whole windows.
func (f *windows) padded(n *onnx.Node, inputs []*eval.Value) {
	for _, w := range f.roles[n] {
		if n == w.pad && inputs[0] != nil && len(inputs[0].Shape) > w.rows+1 {
			f.whole[w] = [2]int(inputs[0].Shape[w.rows:])
		}
	}
}

// merged are shapes that a node reads with the rows and columns of windows as those of the picture that
// they are put together to, where it does so.
func (f *windows) merged(n *onnx.Node, was []int, inputs []*eval.Value) (from, to []int) {
	now := inputs[0].Shape
	for _, w := range f.roles[n] {
		at := w.placed
		if n != w.merge || len(was) != len(now) || len(was) < at+4 {
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
		if n != w.rollBack || f.cropAt(w) != n || len(inputs) != 2 || w.placed != 1 || slices.ContainsFunc(inputs, func(v *eval.Value) bool { return v == nil || len(v.Shape) != 4 }) {
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
func (f *windows) cropAt(w *windowed) *onnx.Node {
	switch {
	case w.place == nil || w.cut != nil || f.whole[w] == f.grids[w]:
		return nil
	case w.rollBack != nil && !w.padLast:
		return w.rollBack
	}
	return w.merge
}

// mask gives a node that adds a mask of the old windows the one of the new: windows have the mask of
// the last row, the last column, both or neither, as they had before. It returns why it cannot.
func (f *windows) mask(n *onnx.Node, inputs []*eval.Value) (why string) {
	for _, w := range f.roles[n] {
		grid, ok := f.grids[w]
		if !ok || grid == w.grid && w.now == w.side {
			continue
		}
		for _, a := range w.added {
			if a.node != n || inputs[a.input] == nil {
				continue
			}
			if w.shift == [2]int{} {
				return "it masks windows that are not shifted: what of them it masks is not in the file"
			}
			was, is := f.old.Enlarge(n.Input(a.input)), inputs[a.input]
			use := windowUse{a, was, nil}
			if why := use.classes(w); why != "" {
				return why
			}
			if why := use.renumber(w); why != "" {
				return why
			}
			shape, now := slices.Clone(was.Shape), w.counted(grid)
			k := len(shape)
			shape[a.axis], shape[k-2], shape[k-1] = now[0]*now[1], w.now[0]*w.now[1], w.now[0]*w.now[1]
			if use.made == nil && !slices.Equal(is.Shape, was.Shape) { // the graph computes it
				if !slices.Equal(is.Shape, shape) || is.Known() && !use.same(w, grid, is) {
					return "it masks the windows of the new size otherwise than those of the old one"
				}
				continue
			}
			inputs[a.input] = eval.Shaped(was.Type, shape...)
			f.made[w] = append(f.made[w], use)
		}
	}
	return ""
}

// of is the window of the old picture that has the mask of one of the new.
func (w *windowed) of(row, column int, now [2]int) int {
	before, at := w.count(w.grid), [2]int{}
	for axis, i := range [2]int{row, column} {
		if i == now[axis]-1 {
			at[axis] = before[axis] - 1
		}
	}
	return at[0]*before[1] + at[1]
}

// block are the numbers of a window, by what stands before its axis.
func (u windowUse) block(before, window int) []float64 {
	inner := product(u.was.Shape[u.axis+1:])
	out := make([]float64, inner)
	for i := range out {
		out[i] = u.was.Number((before*u.was.Shape[u.axis]+window)*inner + i)
	}
	return out
}

// numbers are those of a window of the new picture that has the mask of one of the old.
func (u windowUse) numbers(before, window int) []float64 {
	if u.made != nil {
		return u.made(before, window)
	}
	return u.block(before, window)
}

// outer is the number of elements of the axes before that of the windows.
func (u windowUse) outer() int { return product(u.was.Shape[:u.axis]) }

// classes says where windows that should have one mask have several.
func (u windowUse) classes(w *windowed) (why string) {
	count := w.count(w.grid)
	for before := range u.outer() {
		for row := range count[0] {
			for column := range count[1] {
				i := row*count[1] + column
				if same := w.of(row, column, count); same != i && !slices.Equal(u.block(before, i), u.block(before, same)) {
					return fmt.Sprintf("it adds other numbers to window %d than to window %d: the mask is none of shifted windows", i, same)
				}
			}
		}
	}
	return ""
}

// renumber makes the mask of windows of another side, where the old one hides the parts of a shifted window from each other, which
// come from opposite borders of the picture (Liu et al. 2021, §3.2), and nothing else. It returns why it cannot.
func (u *windowUse) renumber(w *windowed) (why string) {
	if w.now == w.side {
		return ""
	}
	count, hidden := w.count(w.grid), 0.0
	of := func(window int, side, shift [2]int) []float64 {
		return schemes.ShiftedWindowMask(side, shift, [2]bool{window/count[1] == count[0]-1, window%count[1] == count[1]-1}, hidden)
	}
	for _, x := range u.block(0, count[0]*count[1]-1) {
		hidden = min(hidden, x)
	}
	for before := range u.outer() {
		for window := range count[0] * count[1] {
			if !slices.Equal(u.block(before, window), of(window, w.side, w.shift)) {
				return fmt.Sprintf("what it adds to window %d is not the mask of shifted windows alone: that of another side is not in the file", window)
			}
		}
	}
	u.made = func(_, window int) []float64 { return of(window, w.now, w.shiftNow()) }
	return ""
}

// same reports whether a value is the mask of the windows of a grid.
func (u windowUse) same(w *windowed, grid [2]int, is *eval.Value) bool {
	now := w.counted(grid)
	other := windowUse{u.added, is, nil}
	for before := range u.outer() {
		for row := range now[0] {
			for column := range now[1] {
				if !slices.Equal(other.block(before, row*now[1]+column), u.numbers(before, w.of(row, column, now))) {
					return false
				}
			}
		}
	}
	return true
}

// windowNumbers are those of a window of the old picture, by what stands before the axis of the windows.
type windowNumbers func(before, window int) []float64

// masks writes what numbers give for each window of a grid, outer times.
func masks(t onnx.DataType, w *windowed, grid [2]int, outer int, of windowNumbers) (patch.Source, error) {
	now, was := w.counted(grid), w.count(w.grid)
	old := was[0] * was[1]
	blocks := map[int][]byte{} // of four windows at most, outer times
	var sequence []int
	for before := range outer {
		for row := range now[0] {
			for column := range now[1] {
				window := w.of(row, column, now)
				at := before*old + window
				sequence = append(sequence, at)
				if blocks[at] != nil {
					continue
				}
				raw, err := onnx.EncodeFloats(t, of(before, window), nil)
				if err != nil {
					return nil, &position.Refusal{Why: fmt.Sprintf("the mask of shifted windows is of type %s: %v", t, err)}
				}
				blocks[at] = raw
			}
		}
	}
	size := int64(len(sequence)) * int64(len(blocks[sequence[0]]))
	return patch.Func(size, func() io.Reader {
		readers := make([]io.Reader, len(sequence))
		for i, at := range sequence {
			readers[i] = bytes.NewReader(blocks[at])
		}
		return io.MultiReader(readers...)
	}), nil
}

// only is the mask without biases that stand in the same numbers: what a window has of the first head beyond
// those of one that is not masked.
func (u windowUse) only() windowNumbers {
	if u.made != nil {
		return u.made
	}
	places := product(u.was.Shape[len(u.was.Shape)-2:])
	return func(_, window int) []float64 {
		out := u.block(0, window)[:places]
		for i, x := range u.block(0, 0)[:places] {
			out[i] -= x
		}
		return out
	}
}

// doubt says why it cannot be told what becomes of a picture that is cut into windows.
func (f *windows) doubt(w *windowed, grid [2]int) string {
	before, now := w.count(w.grid), w.counted(grid)
	for axis := range now {
		if w.shift != [2]int{} && (before[axis] == 1) != (now[axis] == 1) {
			return fmt.Sprintf("%d×%d windows are shifted and %d×%d are to be: what of one window alone is shifted is not in the file", before[0], before[1], now[0], now[1])
		}
	}
	if now != before && before == [2]int{1, 1} {
		for _, other := range f.all {
			if other.side[0] > w.side[0] || other.side[1] > w.side[1] {
				return fmt.Sprintf("its single window of %d×%d is smaller than others of %d×%d: whether it grows with the picture is not in the file", w.side[0], w.side[1], other.side[0], other.side[1])
			}
		}
	}
	whole := f.whole[w]
	for axis := range grid {
		off := whole[axis]*f.picture[0][axis] - w.grid[axis]*f.picture[1][axis]
		if w.pad == nil && max(off, -off) > f.picture[0][axis] {
			return fmt.Sprintf("its picture of %d×%d places became %d×%d, and the picture changes otherwise", w.grid[0], w.grid[1], whole[0], whole[1])
		}
	}
	return ""
}

// farther is how much farther than before a picture is rolled along an axis of the Concat that does it.
func (f *windows) farther(roll *onnx.Node, axis int) int {
	for _, w := range f.roles[roll] {
		if at := axis - w.rows; slices.Contains(w.rolls, roll) && (at == 0 || at == 1) {
			return w.shiftNow()[at] - w.shift[at]
		}
	}
	return 0
}

// filledTo is the other side of windows to whole ones of which a Pad fills a picture up along an axis, −1: either; 0 where it does not.
func (f *windows) filledTo(pad *onnx.Node, axis int) (side int) {
	for _, w := range f.roles[pad] {
		if at := axis - w.rows; pad == w.pad && (axis < 0 || at == 0 || at == 1) && w.now != w.side {
			return w.now[max(at, 0)]
		}
	}
	return 0
}

// cuts reports whether a node reads or gives a picture that is cut into windows, whose sizes are none of a picture.
func (f *windows) cuts(n *onnx.Node) bool {
	return slices.ContainsFunc(f.all, func(w *windowed) bool { return n == w.swap || n == w.place || n == w.unswap || n == w.merge })
}
