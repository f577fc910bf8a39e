package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
)

// stages groups attentions within windows that follow each other on one grid.
func stages(all []*windowed) (out [][]*windowed) {
	var last *windowed
	for _, w := range all {
		if w.place == nil {
			continue
		}
		if last == nil || last.grid != w.grid || last.side != w.side {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], w)
		last = w
	}
	return out
}

// shifting says, of the stages that have several windows along both axes, whether every second attention is shifted and
// no other (Liu et al. 2021, §3.2), in those that shift any; like is one that is shifted, nil where
// none is, and lacking are the stages that shift none: they may have been a single window when the graph was traced.
func shifting(all []*windowed) (alternates bool, like *windowed, lacking [][]*windowed) {
	alternates = true
	for _, stage := range stages(all) {
		first := slices.IndexFunc(stage, func(w *windowed) bool { return w.shift != [2]int{} })
		if first < 0 {
			if len(stage) > 1 {
				lacking = append(lacking, stage)
			}
			continue
		}
		like = stage[first]
		for i, w := range stage {
			alternates = alternates && (w.shift != [2]int{}) == (i%2 == 1)
		}
	}
	return alternates, like, lacking
}

// MasksWindows reports whether a node adds the mask of shifted windows to scores, which a change makes anew.
func MasksWindows(e *eval.Evaluator, n *onnx.Node) bool {
	return slices.ContainsFunc(findWindowed(e.Main), func(w *windowed) bool {
		return slices.ContainsFunc(w.added, func(a added) bool { return a.to == n })
	})
}

// WindowsLeft says what of the windows that a graph cuts a picture into is for another size than that of an evaluation: a single window
// that is rolled, which the libraries do not; a mask of other windows; several that are not rolled, though those of other grids are. changeable
// tells that a change of the size mends it.
func WindowsLeft(e *eval.Evaluator) (left string, changeable bool) {
	all := findWindowed(e.Main)
	for _, w := range all {
		count := w.count(w.grid)
		if w.shift[0] > 0 && count[0] == 1 || w.shift[1] > 0 && count[1] == 1 {
			return w.split.Title() + " shifts a single window", false
		}
	}
	for _, w := range all {
		if n := w.masked(e.Main); n != nil {
			return n.Title() + " masks other windows than there are", true
		}
	}
	_, like, lacking := shifting(all)
	for _, stage := range lacking {
		if count := stage[0].count(stage[0].grid); like != nil && count != [2]int{1, 1} {
			return fmt.Sprintf("%d windows are never shifted, as a single one is not (%s)", count[0]*count[1], stage[1].split.Title()), true
		}
	}
	return "", false
}

// masked is a node that adds a mask of other windows than there are, nil where there is none.
func (w *windowed) masked(s *eval.Scope) (other *onnx.Node) {
	if w.softmax == nil {
		return nil
	}
	count := w.count(w.grid)
	knownAdded(s, w.softmax, func(at given, v *eval.Value) {
		if axis := len(v.Shape) - 4; other == nil && axis >= 0 && v.Shape[axis] > 1 && v.Shape[axis] != count[0]*count[1] && v.Varies(axis) {
			other = at.node
		}
	})
	return other
}

// newShift is an attention that has to be shifted at the new size, as another one is.
type newShift struct{ at, like *windowed }

// shifts are the attentions of several windows that are to be shifted, and were not since there was one alone when
// the graph was traced.
func (f *windows) shifts() ([]newShift, error) {
	alternates, like, lacking := shifting(f.all)
	if like == nil {
		if w := f.wereAlone(); w != nil {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s cut a picture into one window: whether several are to be shifted is not in the file", w.split.Title()), Instead: "export the model for the wanted picture"}
		}
		return nil, nil
	}
	var out []newShift
	for _, stage := range lacking {
		grid, ok := f.grids[stage[0]]
		count := stage[0].counted(grid)
		why := ""
		switch {
		case !ok || count == [2]int{1, 1}:
			continue
		case !alternates:
			why = "which of them are to be shifted is not in the file"
		case count[0] == 1 || count[1] == 1:
			why = "whether windows in one row or column are to be shifted is not in the file"
		case like.now != stage[0].now:
			why = "how far windows of that size are to be shifted is not in the file"
		}
		if why != "" {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s cuts a picture into %d×%d windows: %s", stage[1].split.Title(), count[0], count[1], why), Instead: "export the model for the wanted picture"}
		}
		for i := 1; i < len(stage); i += 2 {
			out = append(out, newShift{stage[i], like})
		}
	}
	return out, nil
}

// writeWindows records the masks of the new windows, and shifts those that were a single one.
func (c *Change) writeWindows() error {
	f := c.followed.windows
	why := fmt.Sprintf("windows of a picture of %d×%d pixels", c.Image[0], c.Image[1])
	tables := map[maskTable]string{}
	for _, w := range f.all {
		for _, use := range f.made[w] {
			name, err := c.maskTable(tables, use, w, f.grids[w], why)
			if err != nil {
				return err
			}
			c.Graph.RenameInput(use.node, use.input, name, why)
		}
	}
	shifts, err := f.shifts()
	if err != nil {
		return err
	}
	for _, w := range f.all {
		if at := slices.IndexFunc(shifts, func(s newShift) bool { return s.at == w }); at >= 0 {
			if err := c.insertShift(tables, shifts[at], why); err != nil {
				return err
			}
		} else if f.cropAt(w) != nil {
			if err := c.insertBehind(w, nil, w.padLast, why); err != nil {
				return err
			}
		}
	}
	if c.alone = len(tables) > 0; c.alone { // no sizes for what made the old masks
		c.Graph.RemoveUnread(why)
	}
	return nil
}

// maskTable tells masks apart: layers share one.
type maskTable struct {
	of   string // the value that had the mask of the old windows
	axis int
	grid [2]int
}

func (c *Change) maskTable(tables map[maskTable]string, use windowUse, w *windowed, grid [2]int, why string) (string, error) {
	key := maskTable{use.node.Input(use.input), use.axis, grid}
	if name := tables[key]; name != "" {
		return name, nil
	}
	data, err := masks(use.was.Type, w, grid, use.outer(), use.numbers)
	if err != nil {
		return "", err
	}
	dims := make([]int64, len(use.was.Shape))
	for i, d := range use.was.Shape {
		dims[i] = int64(d)
	}
	count, k, places := w.counted(grid), len(dims), int64(w.now[0]*w.now[1])
	dims[use.axis], dims[k-2], dims[k-1] = int64(count[0]*count[1]), places, places
	name, err := c.Graph.AddTable(c.Graph.File.Graph, "modelpatch/window_mask", use.was.Type, dims, data, why)
	tables[key] = name
	return name, err
}

// insertShift rolls the picture before it is cut into windows and back behind, and adds the mask that
// another attention has.
func (c *Change) insertShift(tables map[maskTable]string, s newShift, why string) error {
	w, grid := s.at, c.followed.windows.grids[s.at]
	main := c.Graph.Eval.Main
	if w.softmax == nil || len(s.like.added) == 0 {
		return c.Refuse(w.split, "its windows are to be shifted, and where they are masked is not found")
	}
	scores := main.Input(w.softmax, 0).Shape
	use := windowUse{s.like.added[0], main.Enlarge(s.like.added[0].node.Input(s.like.added[0].input)), nil}
	if why := use.renumber(s.like); why != "" {
		return c.Refuse(use.node, why)
	}
	if len(scores) != 4 {
		return c.Refuse(w.softmax, fmt.Sprintf("its windows are to be shifted, and its scores are of %v, not of windows and heads", scores))
	}
	count, places := w.counted(grid), int64(w.now[0]*w.now[1])
	key := maskTable{use.node.Input(use.input), -1, grid}
	if tables[key] == "" {
		data, err := masks(use.was.Type, s.like, grid, 1, use.only())
		if err != nil {
			return err
		}
		if tables[key], err = c.Graph.AddTable(c.Graph.File.Graph, "modelpatch/shift_mask", use.was.Type, []int64{int64(count[0] * count[1]), 1, places, places}, data, why); err != nil {
			return err
		}
	}
	size := c.sizesFor(why)
	split := main.Output(w.split, 0).Shape
	if len(split) != 6 || w.rows != 1 {
		return c.Refuse(w.split, fmt.Sprintf("its windows are to be shifted, and its picture is cut into %v, not (batch, rows, columns, channels)", split))
	}
	at, picture := w.split, grid
	if s.like.padLast && w.pad != nil {
		at, picture = w.pad, c.followed.windows.whole[w]
	}
	from := c.Graph.FreshName("modelpatch/picture")
	nodes := []onnx.NewNode{{Op: "Reshape", Inputs: []string{at.Input(0), size(-1, int64(picture[0]), int64(picture[1]), int64(split[5]))}, Outputs: []string{from}}}
	rolledTo, rolls := c.rolls(from, s.like.shiftNow(), size)
	c.Graph.InsertNodes(at, append(nodes, rolls...), why)
	c.Graph.RenameInput(at, 0, rolledTo, why)
	shift := s.like.shiftNow()
	if err := c.insertBehind(w, &shift, s.like.padLast, why); err != nil {
		return err
	}

	fresh := func(part string) string { return c.Graph.FreshName("modelpatch/window_" + part) }
	each, all := size(-1, int64(count[0]*count[1]), int64(scores[1]), places, places), size(-1, int64(scores[1]), places, places)
	apart, sum, masked := fresh("scores"), fresh("masked"), fresh("masked_scores")
	c.Graph.InsertNodes(w.softmax, []onnx.NewNode{
		{Op: "Reshape", Inputs: []string{w.softmax.Input(0), each}, Outputs: []string{apart}},
		{Op: "Add", Inputs: []string{apart, tables[key]}, Outputs: []string{sum}},
		{Op: "Reshape", Inputs: []string{sum, all}, Outputs: []string{masked}},
	}, why)
	c.Graph.RenameInput(w.softmax, 0, masked, why)
	return nil
}

// sizesFor makes constants of whole numbers.
func (c *Change) sizesFor(why string) func(...int64) string {
	return func(sizes ...int64) string {
		raw, _ := onnx.EncodeInts(onnx.Int64, sizes, nil)
		return c.Graph.AddInitializer(c.Graph.File.Graph, c.Graph.FreshName("modelpatch/sizes"), onnx.Int64, []int64{int64(len(sizes))}, raw, why)
	}
}

// insertBehind cuts off what was filled up of a picture that is put together of windows, and rolls it back, where
// back says how far it was rolled: first, or, where it is filled up behind the roll, last.
func (c *Change) insertBehind(w *windowed, back *[2]int, padLast bool, why string) error {
	f, size := c.followed.windows, c.sizesFor(why)
	join := c.Graph.Eval.Main.Input(w.unswap, 0).Shape
	at := f.cropAt(w)
	crops := at != nil
	switch {
	case at != nil:
	case padLast && w.cut != nil:
		at = w.cut
	default:
		at = w.merge
	}
	if len(join) != 6 || w.placed != 1 || at == nil || back != nil && at == w.rollBack {
		return c.Refuse(w.place, "it places windows in a picture that is not (batch, rows, columns, channels)")
	}
	grid, whole := f.grids[w], f.whole[w]
	from := at.Output(0)
	var nodes []onnx.NewNode
	if at == w.merge { // as a picture, however it is merged
		from = c.Graph.FreshName("modelpatch/picture")
		nodes = append(nodes, onnx.NewNode{Op: "Reshape", Inputs: []string{w.merge.Input(0), size(-1, int64(grid[0]), int64(grid[1]), int64(join[5]))}, Outputs: []string{from}})
	}
	crop := func() {
		if crops {
			cut := c.Graph.FreshName("modelpatch/cropped")
			nodes = append(nodes, onnx.NewNode{Op: "Slice", Inputs: []string{from, size(0, 0), size(int64(whole[0]), int64(whole[1])), size(1, 2)}, Outputs: []string{cut}})
			from = cut
		}
	}
	if padLast {
		crop()
	}
	if back != nil {
		of := grid
		if padLast {
			of = whole
		}
		var rolls []onnx.NewNode
		from, rolls = c.rolls(from, [2]int{of[0] - back[0], of[1] - back[1]}, size)
		nodes = append(nodes, rolls...)
	}
	if !padLast {
		crop()
	}
	if at == w.merge {
		c.Graph.InsertNodes(at, nodes, why)
		c.Graph.RenameInput(at, 0, from, why)
		return nil
	}
	all := c.Graph.Eval.Main.Consumers(at.Output(0))
	if len(all) == 0 {
		return c.Refuse(at, "nothing reads it")
	}
	c.Graph.InsertNodes(all[0], nodes, why)
	for _, n := range all {
		for i, in := range n.Inputs {
			if in == at.Output(0) {
				c.Graph.RenameInput(n, i, from, why)
			}
		}
	}
	return nil
}

// rolls move so many rows and columns from the beginning to the end.
func (c *Change) rolls(from string, by [2]int, size func(...int64) string) (made string, nodes []onnx.NewNode) {
	fresh := func() string { return c.Graph.FreshName("modelpatch/rolled") }
	for i, n := range by {
		axis, at := int64(i+1), size(int64(n))
		later, earlier, joined := fresh(), fresh(), fresh()
		nodes = append(nodes,
			onnx.NewNode{Op: "Slice", Inputs: []string{from, at, size(1 << 31), size(axis)}, Outputs: []string{later}},
			onnx.NewNode{Op: "Slice", Inputs: []string{from, size(0), at, size(axis)}, Outputs: []string{earlier}},
			onnx.NewNode{Op: "Concat", Inputs: []string{later, earlier}, Outputs: []string{joined}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: axis}}})
		from = joined
	}
	return from, nodes
}

// wereAlone is an attention of several windows now, where all were of a single one; nil where there is none.
func (f *windows) wereAlone() (several *windowed) {
	for _, w := range f.all {
		if w.place == nil || w.softmax == nil {
			continue
		}
		if w.count(w.grid) != [2]int{1, 1} {
			return nil
		}
		if grid, ok := f.grids[w]; ok && several == nil && w.counted(grid) != [2]int{1, 1} {
			several = w
		}
	}
	return several
}
