package length

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/partition"
)

// newShift is an attention that has to be shifted at the new size, as another one is.
type newShift struct{ at, like *partition.Partition }

// shifts are the attentions of several windows that are to be shifted, and were not since there was one alone when
// the graph was traced.
func (f *windows) shifts() ([]newShift, error) {
	alternates, like, lacking := partition.Shifting(f.all)
	if like == nil {
		if w := f.wereAlone(); w != nil {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s cut a picture into one window: whether several are to be shifted is not in the file", w.Split.Title()), Instead: "export the model for the wanted picture"}
		}
		return nil, nil
	}
	var out []newShift
	for _, stage := range lacking {
		grid, ok := f.grids[stage[0]]
		count := stage[0].Counted(grid)
		why := ""
		switch {
		case !ok || count == [2]int{1, 1}:
			continue
		case !alternates:
			why = "which of them are to be shifted is not in the file"
		case count[0] == 1 || count[1] == 1:
			why = "whether windows in one row or column are to be shifted is not in the file"
		case like.Now != stage[0].Now:
			why = "how far windows of that size are to be shifted is not in the file"
		}
		if why != "" {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s cuts a picture into %d×%d windows: %s", stage[1].Split.Title(), count[0], count[1], why), Instead: "export the model for the wanted picture"}
		}
		for i := 1; i < len(stage); i += 2 {
			out = append(out, newShift{stage[i], like})
		}
	}
	return out, nil
}

// unmasker is implemented by sites of biases that leave the masks in their numbers to be added anew.
type unmasker interface{ Unmasked() []string }

// writeWindows records the masks of the new windows, and shifts those that were a single one.
func (c *Change) writeWindows() error {
	f := c.followed.windows
	why := fmt.Sprintf("windows of a picture of %d×%d pixels", c.Image[0], c.Image[1])
	tables, added := map[maskTable]string{}, map[string]bool{}
	for _, w := range f.all {
		for _, use := range f.made[w] {
			name, err := c.maskTable(tables, use, f.grids[w], why)
			if err != nil {
				return err
			}
			if !use.Alone {
				c.Graph.RenameInput(use.Node, use.Input, name, why)
				continue
			}
			added[use.Node.Input(use.Input)] = true
			masked, scores := c.Graph.FreshName("modelpatch/masked_scores"), 1-use.Input
			c.Graph.InsertNodes(use.Node, []onnx.NewNode{{Op: "Add", Inputs: []string{use.Node.Input(scores), name}, Outputs: []string{masked}}}, why)
			c.Graph.RenameInput(use.Node, scores, masked, why)
		}
	}
	for _, s := range c.sites {
		if u, ok := s.(unmasker); ok {
			for _, name := range u.Unmasked() {
				if !added[name] {
					return &position.Refusal{Why: fmt.Sprintf("biases and masks of windows stand in one constant (%s), and where those of another side are to be added is not found", name), Instead: "export the model for the wanted picture"}
				}
			}
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
			if err := c.insertBehind(w, nil, w.PadLast, why); err != nil {
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
	of   string
	axis int
	grid [2]int
}

func (c *Change) maskTable(tables map[maskTable]string, use partition.Mask, grid [2]int, why string) (string, error) {
	key := maskTable{use.Of(), use.Axis, grid}
	if name := tables[key]; name != "" {
		return name, nil
	}
	data, err := use.Source(grid)
	if err != nil {
		return "", err
	}
	var dims []int64
	for _, d := range use.Shape(grid) {
		dims = append(dims, int64(d))
	}
	name, err := c.Graph.AddTable(c.Graph.File.Graph, "modelpatch/window_mask", use.Was.Type, dims, data, why)
	tables[key] = name
	return name, err
}

// insertShift rolls the picture before it is cut into windows and back behind, and adds the mask that
// another attention has.
func (c *Change) insertShift(tables map[maskTable]string, s newShift, why string) error {
	w, grid := s.at, c.followed.windows.grids[s.at]
	main := c.Graph.Eval.Main
	if w.Softmax == nil || len(s.like.Added) == 0 {
		return c.Refuse(w.Split, "its windows are to be shifted, and where they are masked is not found")
	}
	scores := main.Input(w.Softmax, 0).Shape
	use, cannot := partition.NewMask(s.like, s.like.Added[0], main.Enlarge(s.like.Added[0].Node.Input(s.like.Added[0].Input)))
	if cannot != "" {
		return c.Refuse(use.Node, cannot)
	}
	if len(scores) != 4 {
		return c.Refuse(w.Softmax, fmt.Sprintf("its windows are to be shifted, and its scores are of %v, not of windows and heads", scores))
	}
	count, places := w.Counted(grid), int64(w.Now[0]*w.Now[1])
	key := maskTable{use.Of(), -1, grid}
	if tables[key] == "" {
		data, cannot, err := use.Only(grid)
		if cannot != "" {
			return c.Refuse(use.Node, cannot)
		}
		if err != nil {
			return err
		}
		if tables[key], err = c.Graph.AddTable(c.Graph.File.Graph, "modelpatch/shift_mask", use.Was.Type, []int64{int64(count[0] * count[1]), 1, places, places}, data, why); err != nil {
			return err
		}
	}
	size := c.sizesFor(why)
	split := main.Output(w.Split, 0).Shape
	if len(split) != 6 || w.Rows != 1 {
		return c.Refuse(w.Split, fmt.Sprintf("its windows are to be shifted, and its picture is cut into %v, not (batch, rows, columns, channels)", split))
	}
	at, picture := w.Split, grid
	if s.like.PadLast && w.Pad != nil {
		at, picture = w.Pad, c.followed.windows.whole[w]
	}
	from := c.Graph.FreshName("modelpatch/picture")
	nodes := []onnx.NewNode{{Op: "Reshape", Inputs: []string{at.Input(0), size(-1, int64(picture[0]), int64(picture[1]), int64(split[5]))}, Outputs: []string{from}}}
	rolledTo, rolls := c.rolls(from, s.like.ShiftNow(), size)
	c.Graph.InsertNodes(at, append(nodes, rolls...), why)
	c.Graph.RenameInput(at, 0, rolledTo, why)
	shift := s.like.ShiftNow()
	if err := c.insertBehind(w, &shift, s.like.PadLast, why); err != nil {
		return err
	}

	fresh := func(part string) string { return c.Graph.FreshName("modelpatch/window_" + part) }
	each, all := size(-1, int64(count[0]*count[1]), int64(scores[1]), places, places), size(-1, int64(scores[1]), places, places)
	apart, sum, masked := fresh("scores"), fresh("masked"), fresh("masked_scores")
	c.Graph.InsertNodes(w.Softmax, []onnx.NewNode{
		{Op: "Reshape", Inputs: []string{w.Softmax.Input(0), each}, Outputs: []string{apart}},
		{Op: "Add", Inputs: []string{apart, tables[key]}, Outputs: []string{sum}},
		{Op: "Reshape", Inputs: []string{sum, all}, Outputs: []string{masked}},
	}, why)
	c.Graph.RenameInput(w.Softmax, 0, masked, why)
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
func (c *Change) insertBehind(w *partition.Partition, back *[2]int, padLast bool, why string) error {
	f, size := c.followed.windows, c.sizesFor(why)
	join := c.Graph.Eval.Main.Input(w.Unswap, 0).Shape
	at := f.cropAt(w)
	crops := at != nil
	switch {
	case at != nil:
	case padLast && w.Cut != nil:
		at = w.Cut
	default:
		at = w.Merge
	}
	if len(join) != 6 || w.Placed != 1 || at == nil || back != nil && at == w.RollBack {
		return c.Refuse(w.Place, "it places windows in a picture that is not (batch, rows, columns, channels)")
	}
	grid, whole := f.grids[w], f.whole[w]
	from := at.Output(0)
	var nodes []onnx.NewNode
	if at == w.Merge { // as a picture, however it is merged
		from = c.Graph.FreshName("modelpatch/picture")
		nodes = append(nodes, onnx.NewNode{Op: "Reshape", Inputs: []string{w.Merge.Input(0), size(-1, int64(grid[0]), int64(grid[1]), int64(join[5]))}, Outputs: []string{from}})
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
	if at == w.Merge {
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
func (f *windows) wereAlone() (several *partition.Partition) {
	for _, w := range f.all {
		if w.Place == nil || w.Softmax == nil {
			continue
		}
		if w.Count(w.Grid) != [2]int{1, 1} {
			return nil
		}
		if grid, ok := f.grids[w]; ok && several == nil && w.Counted(grid) != [2]int{1, 1} {
			several = w
		}
	}
	return several
}
