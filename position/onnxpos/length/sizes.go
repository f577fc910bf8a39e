package length

import (
	"fmt"
	"maps"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/partition"
	"github.com/modelpatch/modelpatch/position/onnxpos/places"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// sizes works out what constants of shapes become where what they shape has another size, node by
// node while a graph is evaluated: whatever computed them (a traced Python number, a folded
// expression), sizes before and behind a node tell what they mean.
type sizes struct {
	old   *eval.Scope // the main graph at its old size
	batch *eval.Scope // and with a batch of two; nil where that is not free
	// picture is the height and width, before and now.
	picture [2][2]int
	pairs   map[[2]int][][2]int   // what neighbouring sizes have become, the last seen first
	rows    map[int]int           // what numbers of places in a row, joined of several axes, have become
	joins   map[string][][2][]int // by what a Reshape makes: sizes that it joined to one, before and now
	joining [][2][]int            // those of the Reshape at hand
	crops   map[[3]int]int        // by axis, padded size and size without: what the last has become
	cuts    []Cut                 // of a table, its rows and its columns
	places  *places.Places        // numbers of places
	counted bool                  // places are tokens
	stays   map[int]bool          // sides of windows and patches
	kept    map[int]bool          // sizes of the parts that an axis was cut into, which stayed
	last    bool                  // of two sizes that an axis is cut into, either of which may follow, the last does
	// either are the sizes of which that was asked, nil where none were.
	either []int
	given  map[given][]int64 // what inputs of nodes become
	told   map[*onnx.Node]bool
	// doubts are nodes of which it cannot be told what becomes of them, and why.
	doubts  map[*onnx.Node]string
	firm    map[*onnx.Node]bool // doubts that no other constant would mend
	windows *windows
	within  *partition.Partition // the attention, of windows of another side or number, in which the node at hand is; nil where it is in none
}

// pictureSizes prepares the evaluation at the new picture.
func (c *Change) pictureSizes() *sizes {
	m := c.Graph
	was := c.pictureBefore()
	pairs := map[[2]int][][2]int{was: {c.Image}, c.grids[0]: {c.grids[1]}}
	stays := []int{m.PatchSize()}
	var waves []schemes.Sinusoid
	for _, s := range c.sites {
		if w, ok := s.Encoding().Scheme.(schemes.Sinusoid); ok && w.Grid != nil {
			waves = append(waves, w)
		}
		other, ok := s.Encoding().Scheme.(schemes.Other)
		if !ok || slices.Equal(other.Window, c.grids[0][:]) {
			continue
		}
		stays = append(stays, other.Window...)
	}
	z := newSizes(m, pairs, stays)
	z.places = places.New(m.Eval.Main, waves, z.follows)
	for _, s := range c.sites {
		if t, ok := s.(Cutter); ok && len(z.cuts) == 0 {
			z.cuts = t.Cuts()
		}
	}
	z.last, z.picture = c.last, [2][2]int{was, c.Image}
	if c.windowed == nil {
		c.windowed = pointer(partition.Find(m.Eval.Main))
	}
	if in := m.ImageInput(); in != nil && in.Dims[0].Value < 0 && c.batch == nil {
		size := m.Sizes
		size.Batch = 2
		c.batch = m.Evaluate(size)
	}
	if c.batch != nil {
		z.batch = c.batch.Main
	}
	for _, patches := range [][2]int{c.along, {c.along[0] * c.tubelet, c.along[1] * c.tubelet}} {
		if patches[0] != patches[1] {
			z.rows[patches[0]] = patches[1]
		}
	}
	z.windows = newWindows(m.Eval.Main, *c.windowed)
	z.windows.picture, z.windows.side, z.windows.rows = z.picture, c.window, z.rows
	for _, w := range *c.windowed {
		w.Tie(m.Eval.Main, z.stays, c.window)
	}
	return z
}

// seriesSizes prepares the evaluation with other frames of a recording, or tokens.
func (c *Change) seriesSizes(was, is int) *sizes {
	z := newSizes(c.Graph, map[[2]int][][2]int{}, nil)
	z.picture = [2][2]int{{was, was}, {is, is}}
	z.places, z.windows, z.counted = places.New(c.Graph.Eval.Main, nil, z.follows), newWindows(c.Graph.Eval.Main, nil), c.Frames == 0
	return z
}

// pictureBefore is the height and width at which the graph was evaluated before.
func (c *Change) pictureBefore() [2]int {
	in := c.Graph.ImageInput()
	if in == nil {
		return c.grids[0]
	}
	height, width := probe.PictureSides(in)
	was := c.Graph.Eval.Main.Value(in.Name).Shape
	if max(height, width) >= len(was) {
		return c.grids[0]
	}
	return [2]int{was[height], was[width]}
}

// outputsFollow refuses a graph of which an output is of more pictures than go in, or was a picture of the old proportions, and is none
// of the new ones, or of which a node is left at the old size.
func (c *Change) outputsFollow() error {
	e := c.probe()
	for _, o := range c.Graph.File.Graph.Outputs {
		was, is := c.Graph.Eval.Main.Value(o.Name).Shape, e.Main.Value(o.Name).Shape
		k := len(was)
		if len(is) != k || slices.Equal(was, is) || k == 0 {
			continue
		}
		if in := c.Graph.ImageInput(); in != nil && k > 1 && is[0] != was[0] && slices.Equal(was[:1], c.Graph.Eval.Main.Value(in.Name).Shape[:1]) {
			return &position.Refusal{Why: fmt.Sprintf("output %s of %v would become %v: of another number of pictures", report.Printable(o.Name), was, is), Instead: c.export()}
		}
		if k < 3 {
			continue
		}
		before, after, z := [2]int(was[k-2:]), [2]int(is[k-2:]), c.followed
		picture := before[0]*z.picture[0][1] == before[1]*z.picture[0][0] && before[0] > 1 && !(before[1] == after[1] && z.rows[before[0]] == after[0]) // places and features
		if picture && z.follows(0, before[0], after[0]) != z.follows(1, before[1], after[1]) {
			return &position.Refusal{Why: fmt.Sprintf("output %s of %v would become %v, and the picture changes otherwise", report.Printable(o.Name), was, is), Instead: c.export()}
		}
	}
	if n, why := places.LeftOver(c.Graph.Eval.Main, e.Main, c.patches(), c.Told); n != nil {
		return c.Refuse(n, why)
	}
	for _, n := range c.Graph.File.Graph.Nodes {
		if why, stuck := c.followed.places.Stuck[n]; stuck {
			return c.Refuse(n, why)
		}
	}
	return nil
}

// Told reports whether it is known what an input of a node becomes with the new size, by the sizes before and behind it, or as
// that of a step of a recurrence.
func (c *Change) Told(n *onnx.Node, input int) bool {
	return c.steps.Nodes[n] || c.followed != nil && (c.followed.told[n] || c.followed.places.Placed[places.Input{Node: n, Index: input}] != nil)
}

// patches are how many there are, before and now.
func (c *Change) patches() [2]int {
	was, is := c.grids[0], c.grids[1]
	return [2]int{c.along[0] * was[0] * was[1], c.along[1] * is[0] * is[1]}
}

// growSizes is grow where sizes follow node by node. Where either of two may follow, windows that stay or
// their number, one has to run and the other not.
func (c *Change) growSizes() error {
	if c.probe(); !c.followed.counted {
		for _, was := range slices.Sorted(maps.Keys(c.followed.rows)) {
			if p := (numberPair{was, c.followed.rows[was]}); !slices.Contains(c.pairs, p) {
				c.pairs = append(c.pairs, p)
			}
		}
	}
	err := c.grow()
	if c.followed.either == nil {
		return err
	}
	other := *c
	other.last, other.planned = true, map[*onnx.Tensor]*plannedConstant{}
	if err != nil {
		if other.grow() == nil {
			*c = other
			return nil
		}
		return err
	}
	other.planned = c.planned
	if either := c.followed.either; other.first(other.probe()) == nil {
		return &position.Refusal{Why: fmt.Sprintf("which of the sizes %v follows cannot be told: the graph runs with either", either), Instead: c.export()}
	}
	return nil
}

// writeSizes records what shape constants become: in their place where all of their readers want the
// same, else as constants of their own.
func (c *Change) writeSizes() error {
	if c.followed == nil {
		return nil
	}
	if err := c.writeWindows(); err != nil {
		return err
	}
	main, why := c.Graph.Eval.Main, fmt.Sprintf("sizes of a picture of %d×%d pixels", c.Image[0], c.Image[1])
	switch {
	case c.Frames > 0:
		why = fmt.Sprintf("sizes of a recording of %d frames", c.Frames)
	case c.Image == [2]int{}:
		why = fmt.Sprintf("sizes for %d tokens", c.New)
	}
	readers := map[*onnx.Tensor][]given{}
	nodes := slices.DeleteFunc(slices.Clone(main.Graph.Nodes), c.Graph.Removed)
	shared := map[*eval.Value]string{}
	for _, n := range nodes {
		for i, in := range n.Inputs {
			if t := main.Tensor(in); in != "" && t != nil && countsPlaces(t) && t.Len() <= maxSizes {
				readers[t] = append(readers[t], given{n, i})
			}
		}
	}
	for _, n := range nodes {
		if err := c.writePlaced(n, shared, why); err != nil {
			return err
		}
		for i, in := range n.Inputs {
			to, ok := c.followed.given[given{n, i}]
			if !ok {
				continue
			}
			t := main.Tensor(in)
			kind, dims := onnx.Int64, []int64{int64(len(to))}
			if t != nil {
				kind, dims = t.Type, t.Dims
			}
			raw, err := onnx.EncodeInts(kind, to, nil)
			if err != nil {
				return unfit(in, kind, err)
			}
			alike := t != nil && t.Editable() == "" && c.planned[t] == nil && !slices.ContainsFunc(readers[t], func(r given) bool {
				return !slices.Equal(c.followed.given[r], to)
			})
			switch {
			case alike && c.Graph.Editor.Replaced(t):
			case alike:
				if err := c.Graph.Replace(t, dims, patch.Bytes(raw), why); err != nil {
					return err
				}
			default:
				c.Graph.RenameInput(n, i, c.Graph.AddInitializer(main.Graph, c.Graph.FreshName("modelpatch/sizes"), kind, dims, raw, why), why)
			}
		}
	}
	if c.alone || len(c.followed.places.Placed) > 0 {
		c.Graph.RemoveUnread(why)
	}
	return nil
}

// maxSizes bounds the numbers of a shape.
const maxSizes = 64

// given is an input of a node.
type given struct {
	node  *onnx.Node
	input int
}

// newSizes prepares an evaluation at another size of a picture, of which some sizes are known.
func newSizes(g *site.Graph, pairs map[[2]int][][2]int, stays []int) *sizes {
	z := &sizes{old: g.Eval.Main, pairs: pairs, rows: map[int]int{}, joins: map[string][][2][]int{}, crops: map[[3]int]int{}, stays: map[int]bool{}, kept: map[int]bool{}, given: map[given][]int64{}, told: map[*onnx.Node]bool{}, doubts: map[*onnx.Node]string{}, firm: map[*onnx.Node]bool{}}
	for _, n := range stays {
		z.stays[n] = n > 1
	}
	return z
}

// adjust is eval.Evaluator.Adjust.
func (z *sizes) adjust(s *eval.Scope, n *onnx.Node, inputs []*eval.Value) {
	if s.Index() != 0 || n.Domain != "" {
		return
	}
	for i, v := range inputs {
		if v != nil && !z.windows.cuts(n) {
			z.note(z.old.Input(n, i).Shape, v.Shape)
		}
	}
	if why := z.windows.mask(n, inputs); why != "" {
		z.doubts[n], z.firm[n] = why, true
	}
	switch n.Op {
	case "Reshape":
		z.reshape(n, inputs)
	case "Expand":
		z.expand(n, inputs)
	case "Resize":
		z.resize(n, inputs)
	case "Slice":
		if !z.cutTable(n, inputs) && !z.rollBack(n, inputs) {
			z.slice(n, inputs)
		}
	case "TopK":
		z.sort(n, inputs)
	case "Split":
		if z.rollParts(n, inputs) {
			break
		}
		if to, why := z.places.Split(n, inputs, z.constant(n, inputs, 1)); why != "" {
			z.doubts[n] = why
		} else if to != nil {
			z.give(n, inputs, 1, to)
		}
	case "Concat":
		z.windows.cropped(n, inputs)
		z.places.Concat(n, inputs)
	case "Pad":
		z.windows.padded(n, inputs)
		z.pad(n, inputs)
	}
	if z.counted {
		return // what counts tokens grows where it meets them
	}
	z.places.Adjust(n, inputs)
	if why := z.places.Doubts[n]; why != "" && z.doubts[n] == "" {
		z.doubts[n] = why
	}
}

// note remembers what neighbouring sizes of a value have become, where they are heights and widths:
// larger or smaller as the picture is; and each alone that hangs on tokens.
func (z *sizes) note(was, is []int) {
	if len(was) != len(is) {
		return
	}
	for i, n := range was {
		if z.counted && n != is[i] {
			z.rows[n] = is[i]
		}
	}
	for i := 1; i < len(was); i++ {
		if a, b := [2]int{was[i-1], was[i]}, [2]int{is[i-1], is[i]}; a != b && z.scaled(a, b) {
			z.pairs[a] = slices.Insert(slices.DeleteFunc(z.pairs[a], func(p [2]int) bool { return p == b }), 0, b)
		}
	}
}

// scaled reports whether heights and widths changed as the picture's did, but for padding and what
// strides leave over; follows whether one of them did.
func (z *sizes) scaled(was, is [2]int) bool {
	return z.follows(0, was[0], is[0]) && z.follows(1, was[1], is[1])
}

func (z *sizes) follows(axis, was, is int) bool {
	off := is*z.picture[0][axis] - was*z.picture[1][axis]
	return max(off, -off) <= z.picture[0][axis]
}

// constant is an input of whole numbers that is the same at both sizes, nil where there is none.
func (z *sizes) constant(n *onnx.Node, inputs []*eval.Value, i int) []int64 {
	if i >= len(inputs) || inputs[i] == nil || !inputs[i].Known() {
		return nil
	}
	if was := z.old.Input(n, i); was.Known() && slices.Equal(was.Ints, inputs[i].Ints) {
		return was.Ints
	}
	return nil
}

// give gives an input of a node other numbers.
func (z *sizes) give(n *onnx.Node, inputs []*eval.Value, i int, to []int64) {
	z.told[n] = true
	if slices.Equal(inputs[i].Ints, to) {
		return
	}
	z.given[given{n, i}] = to
	inputs[i] = eval.IntValue(inputs[i].Type, inputs[i].Shape, to)
}

// reshape gives a Reshape the shape that its input has now, cut and joined along the same axes.
func (z *sizes) reshape(n *onnx.Node, inputs []*eval.Value) {
	was, made := z.old.Input(n, 0), z.old.Output(n, 0)
	if len(inputs) < 2 || inputs[0] == nil || inputs[1] == nil || !inputs[0].Ranked || slices.Equal(was.Shape, inputs[0].Shape) && !z.windows.anew(n) || !inputs[1].Known() || len(made.Shape) != len(inputs[1].Ints) {
		return
	}
	// What the graph computes of sizes that it was traced with may be as wrong as a constant.
	target, computed, either := inputs[1].Ints, z.constant(n, inputs, 1) == nil, z.either
	want, why := z.windows.target(n, inputs[0].Shape, z.pairs)
	if want == nil && why == "" {
		z.within = z.windows.within(n)
		from, now := z.windows.merged(n, was.Shape, inputs)
		for _, j := range z.joinedBefore(n) {
			from, now = parted(from, now, j)
		}
		z.joining = nil
		want, why = z.regrouped(from, made.Shape, now, z.joinFeatures(n, len(made.Shape)))
		z.joins[n.Output(0)] = z.joining
	} else if why != "" {
		z.doubts[n], z.firm[n] = why, true
	}
	switch {
	case computed && len(z.either) != len(either):
		z.either, z.told[n] = either, true
		return
	case want == nil && !computed:
		z.doubts[n] = why
		return
	case want == nil:
		return
	}
	if agrees(target, want) {
		z.told[n] = true
		return
	}
	to := make([]int64, len(want))
	counts := z.countsBatch(n)
	for d, size := range want {
		switch {
		case d == counts:
			to[d] = -1
		case counts >= 0:
			to[d] = int64(size)
		case target[d] == -1, target[d] == 0 && d < len(inputs[0].Shape) && inputs[0].Shape[d] == size && n.Int("allowzero", 0) == 0:
			to[d] = target[d]
		default:
			to[d] = int64(size)
		}
	}
	z.give(n, inputs, 1, to)
}

// agrees reports whether a shape is the wanted one, where it names sizes.
func agrees(target []int64, want []int) bool {
	for d, size := range want {
		if target[d] > 0 && target[d] != int64(size) {
			return false
		}
	}
	return true
}

// regrouped is the shape that a Reshape from one shape to another gives of an input of a third:
// sizes that are cut or joined together stay so. features are those that become part of the features further on. why says what cannot be told.
func (z *sizes) regrouped(from, to, now []int, features []bool) (out []int, why string) {
	for i, j := 0, 0; i < len(from) || j < len(to); {
		a, c, before, after := i, j, 1, 1
		for first := true; first || before != after; first = false {
			switch {
			case i < len(from) && (first || before < after):
				before *= from[i]
				i++
				if first && j < len(to) {
					after *= to[j]
					j++
				}
			case j < len(to):
				after *= to[j]
				j++
			default:
				return nil, fmt.Sprintf("how %v becomes %v cannot be told", from, to)
			}
		}
		for i < len(from) && from[i] == 1 && (j >= len(to) || to[j] != 1) {
			i++ // an axis of one that goes
		}
		total := onnx.Size(now[a:i])
		if cut := z.windows.apart(z.within, to[c:j]); cut != nil && onnx.Size(cut) == total {
			out = append(out, cut...)
			continue
		}
		if slices.Equal(from[a:i], now[a:i]) {
			out = append(out, to[c:j]...)
			continue
		}
		if i-a > 1 && j-c == 1 && to[c] > 1 {
			z.rows[to[c]] = total
		}
		if i-a > 1 && j-c == 1 {
			z.joining = append(z.joining, [2][]int{slices.Clone(from[a:i]), slices.Clone(now[a:i])})
		}
		if i-a == 2 && j-c == 1 && from[a] > 1 && from[a+1] > 1 {
			z.places.Join([2]int(from[a:i]), [2]int(now[a:i]))
		}
		part, why := z.split(to[c:j], total, features[c:j])
		if part == nil {
			return nil, why
		}
		if i-a == 1 && j-c == 2 && part[1] == to[c+1] && to[c] > 1 {
			z.kept[part[1]] = true
		}
		out = append(out, part...)
	}
	return out, ""
}

// split says what sizes become whose product is another. features are those that stay since they become part of
// the features.
func (z *sizes) split(was []int, total int, features []bool) (out []int, why string) {
	out = slices.Clone(was)
	var large []int
	for i, d := range was {
		if d > 1 {
			large = append(large, i)
		}
	}
	switch len(large) {
	case 0:
		if len(was) == 0 {
			return nil, "an axis of one became larger"
		}
		out[len(out)-1] = total
		return out, ""
	case 1:
		i := large[0]
		if len(was) == 2 && was[0] == 1 && z.kept[was[i]] && total%was[i] == 0 {
			return nil, fmt.Sprintf("whether one part of %d becomes larger or several of them cannot be told", was[i])
		}
		out[i] = total
		return out, ""
	}
	rest := func(skip ...int) int {
		n := 1
		for _, i := range large {
			if !slices.Contains(skip, i) {
				n *= was[i]
			}
		}
		return n
	}
	for k := 1; k < len(large); k++ {
		i, j := large[k-1], large[k]
		for _, p := range z.pairs[[2]int{was[i], was[j]}] {
			if p[0]*p[1]*rest(i, j) == total {
				out[i], out[j] = p[0], p[1]
				return out, ""
			}
		}
	}
	if z.picture[0] != z.picture[1] { // along time as well
		for k := 1; k < len(large); k++ {
			i, j := large[k-1], large[k]
			others := slices.DeleteFunc(slices.Clone(large), func(at int) bool { return at == i || at == j })
			for _, p := range z.pairs[[2]int{was[i], was[j]}] {
				now := slices.Clone(was)
				now[i], now[j] = p[0], p[1]
				if now = z.joined(now, others, total); now != nil {
					return now, ""
				}
			}
		}
	}
	if now := z.joined(was, large, total); now != nil {
		return now, ""
	}
	joins := slices.Contains(features, true)
	var follows []int
	for _, i := range large {
		if stays := z.stays[was[i]] && !joins || features[i]; !stays && total%rest(i) == 0 {
			follows = append(follows, i)
		}
	}
	switch len(follows) {
	case 0:
		return nil, fmt.Sprintf("%d places cannot be cut as %v were", total, was)
	case 1:
		out[follows[0]] = total / rest(follows[0])
		return out, ""
	}
	z.either = was
	i := follows[0]
	if z.last {
		i = follows[len(follows)-1]
	}
	out[i] = total / rest(i)
	return out, ""
}

// joinedBefore are the sizes that were joined to one for the product of matrices, or what else works on
// rows alone, of which a Reshape takes what that gives, also beside what went around it.
func (z *sizes) joinedBefore(n *onnx.Node) [][2][]int {
	queue := []*onnx.Node{n}
	for i := 0; i < len(queue) && i < maxAhead; i++ {
		n := queue[i]
		data := slices.DeleteFunc(slices.Clone(trace.DataInputs(n)), func(in string) bool { return in == "" || z.old.Value(in).Known() })
		if len(data) > 1 && !eval.Is(n, eval.ByElement) || eval.Is(n, eval.Lookups) { // which may lay rows in another order
			continue
		}
		for _, in := range data {
			if joined := z.joins[in]; joined != nil {
				return joined
			}
			if before, at := z.old.Find(in); before != nil && at == z.old && before.Op != "Reshape" && !slices.Contains(queue, before) {
				queue = append(queue, before)
			}
		}
	}
	return nil
}

// parted are shapes, before and now, with the sizes that were joined to one of their axes in its place; as they are where that is
// none of them or may be several.
func parted(from, now []int, joined [2][]int) (apart, is []int) {
	at, was := -1, onnx.Size(joined[0])
	for d, size := range from {
		switch {
		case size != was || was == 1:
		case at >= 0 || now[d] != onnx.Size(joined[1]):
			return from, now
		default:
			at = d
		}
	}
	if at < 0 || len(from) != len(now) {
		return from, now
	}
	return slices.Concat(from[:at], joined[0], from[at+1:]), slices.Concat(now[:at], joined[1], now[at+1:])
}

// joinFeatures says which axes of what a Reshape makes are joined with the last one further on, behind a
// Transpose: what a weight is multiplied with keeps its size.
func (z *sizes) joinFeatures(n *onnx.Node, rank int) []bool {
	out := make([]bool, rank)
	swap := trace.Only(z.old, n.Output(0))
	if swap == nil || swap.Op != "Transpose" {
		return out
	}
	join := trace.Only(z.old, swap.Output(0))
	if join == nil || join.Op != "Reshape" {
		return out
	}
	from, to, perm := z.old.Input(join, 0).Shape, z.old.Output(join, 0).Shape, swap.Ints("perm")
	if len(from) != rank || len(perm) != rank || len(to) == 0 || from[rank-1] == 1 || perm[rank-1] != int64(rank-1) {
		return out
	}
	last := to[len(to)-1]
	for i := rank - 1; i >= 0 && from[i] > 0 && last%from[i] == 0 && last > 1; i-- {
		if i < rank-1 || last > from[i] {
			out[perm[i]] = true
		}
		last /= from[i]
	}
	return out
}

// joined are the sizes with which the product is the new one, where some are numbers of places, joined of several axes
// before, or of frames; nil where none or several ways lead there.
func (z *sizes) joined(was, large []int, total int) (is []int) {
	if len(large) > maxSplit {
		return nil
	}
	for some := 1; some < 1<<len(large); some++ {
		now, known := slices.Clone(was), true
		for k, i := range large {
			if some>>k&1 > 0 {
				n, ok := z.rows[was[i]]
				now[i], known = n, known && ok
			}
		}
		if known && onnx.Size(now) == total {
			if is != nil && !slices.Equal(is, now) {
				return nil
			}
			is = now
		}
	}
	return is
}

// maxSplit bounds the axes that an axis is cut into.
const maxSplit = 6

// expand gives an Expand the sizes of what it expands.
func (z *sizes) expand(n *onnx.Node, inputs []*eval.Value) {
	target := z.constant(n, inputs, 1)
	was := z.old.Input(n, 0)
	if target == nil || inputs[0] == nil || !inputs[0].Ranked || len(was.Shape) != len(inputs[0].Shape) || inputs[0].Known() { // what is known follows where it meets data
		return
	}
	to, lead := slices.Clone(target), len(target)-len(was.Shape)
	for i := max(lead, 0); i < len(to); i++ {
		d := i - lead
		if int(target[i]) == was.Shape[d] && was.Shape[d] > 1 {
			to[i] = int64(inputs[0].Shape[d])
		}
	}
	if slices.Equal(to, target) {
		return
	}
	switch counts := z.countsBatch(n); {
	case counts < 0:
	case counts >= max(lead, 0) && to[counts] == int64(inputs[0].Shape[counts-lead]):
		to[counts] = 1 // leaves what is there
	default:
		z.doubts[n] = fmt.Sprintf("%v hangs on the picture and on the batch, which is free", target)
		return
	}
	z.give(n, inputs, 1, to)
}

// countsBatch is the axis of the shape that a node is given which a larger batch changes, −1 where none or several are.
func (z *sizes) countsBatch(n *onnx.Node) int {
	if z.batch == nil {
		return -1
	}
	one, two := z.old.Input(n, 1), z.batch.Input(n, 1)
	if !one.Known() || !two.Known() || len(one.Ints) != len(two.Ints) {
		return -1
	}
	at := -1
	for d, x := range one.Ints {
		if two.Ints[d] == x {
			continue
		}
		if at >= 0 {
			return -1
		}
		at = d
	}
	return at
}

// resize gives a Resize to a size that is a constant the size that others of that size have now, or
// the same part or multiple of its input.
func (z *sizes) resize(n *onnx.Node, inputs []*eval.Value) {
	target := z.constant(n, inputs, 3)
	was := z.old.Input(n, 0)
	if k := len(target); k < 3 || inputs[0] == nil || len(inputs[0].Shape) != k || len(was.Shape) != k {
		return
	}
	to := slices.Clone(target)
	k := len(to)
	pair := z.pairs[[2]int{int(target[k-2]), int(target[k-1])}]
	for d := range to {
		switch is := inputs[0].Shape[d]; {
		case len(pair) > 0 && d >= k-2:
			to[d] = int64(pair[0][d-(k-2)])
		case is == was.Shape[d]:
		case was.Shape[d] == 0 || is*int(target[d])%was.Shape[d] != 0:
			z.doubts[n] = fmt.Sprintf("%d became %d, and its size %d cannot follow in whole numbers", was.Shape[d], is, target[d])
			return
		default:
			to[d] = int64(is * int(target[d]) / was.Shape[d])
		}
	}
	z.give(n, inputs, 3, to)
}

// slice has a Slice to the end of an axis go to its end now, and one that takes padding away take
// what there is now.
func (z *sizes) slice(n *onnx.Node, inputs []*eval.Value) {
	starts, ends := z.constant(n, inputs, 1), z.constant(n, inputs, 2)
	was := z.old.Input(n, 0)
	if starts == nil || ends == nil || inputs[0] == nil || len(inputs[0].Shape) != len(was.Shape) {
		return
	}
	axes := z.constant(n, inputs, 3)
	from, to, changed := slices.Clone(starts), slices.Clone(ends), false
	for i, end := range ends {
		axis := onnx.Dimension(int64(i), len(was.Shape))
		if i < len(axes) {
			axis = onnx.Dimension(axes[i], len(was.Shape))
		}
		if axis < 0 {
			continue
		}
		crop, crops := z.crop(axis, was.Shape[axis], int(end))
		if crops = crops && starts[i] == 0; was.Shape[axis] == inputs[0].Shape[axis] && !(crops && crop != int(end)) {
			continue
		}
		if first, last, ok := z.places.Cut(was.Shape[axis], inputs[0].Shape[axis], starts[i], end); ok {
			from[i], to[i], changed = first, last, true
		} else if crops {
			to[i], changed = int64(crop), true
		} else if int(end) == was.Shape[axis] {
			to[i], changed = int64(inputs[0].Shape[axis]), true
		}
		if z.counted {
			from[i], to[i] = z.limit(from[i], starts[i]), z.limit(to[i], end)
			if from[i] == starts[i] && 2*int(starts[i]) > was.Shape[axis] {
				return // whether it follows the length is not in the file
			}
			changed = changed || from[i] != starts[i] || to[i] != end
		}
	}
	if changed {
		z.give(n, inputs, 1, from)
		z.give(n, inputs, 2, to)
	}
}

// limit is what a place at which tokens are cut becomes, unless that was found already: as many of them as hang on the length, from the
// beginning or from the end.
func (z *sizes) limit(found, was int64) int64 {
	if is, ok := z.rows[int(max(was, -was))]; ok && found == was && was != 0 {
		return int64(is) * (was / max(was, -was))
	}
	return found
}

// crop is what a size has become that was filled up before, along an axis: that one, or all of another layout.
func (z *sizes) crop(axis, padded, size int) (is int, ok bool) {
	if is, ok = z.crops[[3]int{axis, padded, size}]; ok {
		return is, true
	}
	for of, now := range z.crops {
		if of[1] == padded && of[2] == size {
			if ok && now != is {
				return 0, false
			}
			is, ok = now, true
		}
	}
	return is, ok
}

// sort has a TopK that sorts all of an axis sort all of it now. One that takes the best of more takes as many as before.
func (z *sizes) sort(n *onnx.Node, inputs []*eval.Value) {
	best, was := z.constant(n, inputs, 1), z.old.Input(n, 0).Shape
	if len(best) != 1 || inputs[0] == nil || len(inputs[0].Shape) != len(was) {
		return
	}
	if axis := n.Axis(-1, len(was)); axis >= 0 && best[0] == int64(was[axis]) {
		z.give(n, inputs, 1, []int64{int64(inputs[0].Shape[axis])})
	}
}

// cutTable has a Slice that cuts a part out of a table of rows and columns cut out the new part.
func (z *sizes) cutTable(n *onnx.Node, inputs []*eval.Value) bool {
	starts, ends, axes := z.constant(n, inputs, 1), z.constant(n, inputs, 2), z.constant(n, inputs, 3)
	if len(z.cuts) != 2 || len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || axes[0] < 0 || inputs[0] == nil || int(axes[0]) >= len(inputs[0].Shape) || inputs[0].Constant() == nil && !inputs[0].Known() && !inputs[0].Large() {
		return false
	}
	at, shape := int(axes[0]), z.old.Input(n, 0).Shape
	for axis, cut := range z.cuts {
		beside, other := at+1-2*axis, z.cuts[1-axis] // columns stand behind rows
		if shape[at] != cut.Of || starts[0] != int64(cut.First) || min(ends[0], int64(cut.Of)) != int64(cut.First+cut.Size) || beside < 0 || beside >= len(shape) || shape[beside] != other.Of && shape[beside] != other.Size {
			continue
		}
		z.give(n, inputs, 1, []int64{int64(cut.NewFirst)})
		z.give(n, inputs, 2, []int64{int64(cut.NewFirst + cut.NewSize)})
		return true
	}
	return false
}

// rollBack has a Slice by which rows or columns are rolled as many from the end as they were: part of
// those is the last, or the rest; or as many as windows of another side want.
func (z *sizes) rollBack(n *onnx.Node, inputs []*eval.Value) bool {
	reader, axes := trace.Only(z.old, n.Output(0)), z.constant(n, inputs, 3)
	if z.counted || reader == nil || len(axes) != 1 || axes[0] < 0 || inputs[0] == nil || int(axes[0]) >= min(len(inputs[0].Shape), len(z.old.Input(n, 0).Shape)) {
		return false
	}
	was, is, start, to := z.rolled(n, inputs, reader, int(axes[0]))
	if start == to && (was == is || len(z.windows.roles[reader]) == 0) {
		return false
	}
	for _, i := range []int{1, 2} {
		limits := z.constant(n, inputs, i)
		if len(limits) != 1 {
			continue
		}
		switch at := int(limits[0]); at {
		case was:
			z.give(n, inputs, i, []int64{int64(is)})
		case start:
			z.give(n, inputs, i, []int64{int64(to)})
		case start - was:
			z.give(n, inputs, i, []int64{int64(to - is)})
		}
	}
	return true
}

// rolled says where the later part of an axis that a Concat rolls began, and where it begins now: as far from the beginning as before,
// or from the end where a picture is rolled back.
func (z *sizes) rolled(n *onnx.Node, inputs []*eval.Value, roll *onnx.Node, axis int) (was, is, start, to int) {
	start, _ = trace.RollStart(z.old, roll)
	was, is = z.old.Input(n, 0).Shape[axis], inputs[0].Shape[axis]
	by := z.windows.farther(roll, axis)
	switch back := 2*start > was; {
	case start == 0:
		return was, is, 0, 0
	case back:
		return was, is, start, is - was + start - by
	}
	return was, is, start, start + by
}

// rollParts splits an axis that is rolled where its later part begins now.
func (z *sizes) rollParts(n *onnx.Node, inputs []*eval.Value) bool {
	reader, axis := trace.Only(z.old, n.Output(0)), int(n.Int("axis", 0))
	if z.counted || reader == nil || axis < 0 || inputs[0] == nil || axis >= min(len(inputs[0].Shape), len(z.old.Input(n, 0).Shape)) || len(z.constant(n, inputs, 1)) != 2 {
		return false
	}
	_, is, start, to := z.rolled(n, inputs, reader, axis)
	if start == 0 {
		return false
	}
	z.give(n, inputs, 1, []int64{int64(to), int64(is - to)})
	return true
}

// pad pads to a multiple of the window that the padded axis is cut into.
func (z *sizes) pad(n *onnx.Node, inputs []*eval.Value) {
	pads := z.constant(n, inputs, 1)
	was := z.old.Input(n, 0)
	k := len(was.Shape)
	if filling := z.old.Input(n, 1); pads == nil && filling.Known() {
		if was, side := z.windows.filledTo(n, -1); was != side { // computed for the old side
			pads = filling.Ints
		}
	}
	if inputs[0] == nil || len(inputs[0].Shape) != k || len(pads) != 2*k || z.old.Input(n, 3).Ranked {
		return
	}
	to := slices.Clone(pads)
	for d, size := range was.Shape {
		padded := size + int(pads[d]+pads[k+d])
		before, side := z.windows.filledTo(n, d)
		if before == 0 {
			before = z.cutInto(n.Output(0), d)
			side = before
		}
		is := inputs[0].Shape[d]
		if before < 2 || padded%before != 0 {
			continue
		}
		if z.crops[[3]int{d, padded, size}] = is; is != size || side != before {
			to[k+d] = int64((side - (is+int(pads[d]))%side) % side)
		}
	}
	z.give(n, inputs, 1, to)
}

// maxAhead bounds the nodes behind a Pad that are looked at.
const maxAhead = 40

// cutInto is the side of the windows, or of what patches are merged of, that an axis of a value is cut into further on, 0 where it is
// not cut.
func (z *sizes) cutInto(name string, axis int) int {
	type place struct {
		name string
		axis int
	}
	queue := []place{{name, axis}}
	for i := 0; i < len(queue) && i < maxAhead; i++ {
		at := queue[i]
		shape := z.old.Value(at.name).Shape
		for _, n := range z.old.Consumers(at.name) {
			made := z.old.Output(n, 0).Shape
			next := place{n.Output(0), at.axis}
			switch {
			case n.Op == "Reshape" && n.Input(0) == at.name:
				if side := cut(shape, made, at.axis); side > 0 {
					return side
				}
				continue
			case n.Op == "Transpose":
				if next.axis = slices.Index(n.Ints("perm"), int64(at.axis)); next.axis < 0 {
					continue
				}
			case eval.Is(n, eval.Parts|eval.Joining), slices.Equal(made, shape):
			default:
				continue
			}
			for _, out := range n.Outputs { // of a Split several
				if next.name = out; !slices.Contains(queue, next) {
					queue = append(queue, next)
				}
			}
		}
	}
	return 0
}

// cut is the last of two sizes into which a Reshape cuts an axis, 0 where it does not.
func cut(from, to []int, axis int) int {
	before, after, i := onnx.Size(from[:axis]), 1, 0
	for ; i < len(to) && after*to[i] <= before; i++ {
		after *= to[i]
	}
	if after != before {
		return 0
	}
	for i < len(to) && to[i] == 1 {
		i++
	}
	ones := func(sizes []int) (n int) {
		for _, d := range sizes {
			if d == 1 {
				n++
			}
		}
		return n
	}
	if i < len(to) && to[i] == from[axis] && ones(to[:i]) > ones(from[:axis]) {
		return to[i] // one window
	}
	if i+1 < len(to) && to[i] < from[axis] && to[i]*to[i+1] == from[axis] {
		return to[i+1]
	}
	return 0
}

// writePlaced records the numbers of places, as constants of their own; shared are the names of those that nodes before have as well.
func (c *Change) writePlaced(n *onnx.Node, shared map[*eval.Value]string, why string) error {
	for i := range n.Inputs {
		v, ok := c.followed.places.Placed[places.Input{Node: n, Index: i}]
		if !ok {
			continue
		}
		if name := shared[v]; name != "" {
			c.Graph.RenameInput(n, i, name, why)
			continue
		}
		var raw []byte
		var err error
		if v.Type.IsFloat() {
			raw, err = onnx.EncodeFloats(v.Type, v.Floats, nil)
		} else {
			raw, err = onnx.EncodeInts(v.Type, v.Ints, nil)
		}
		if err != nil {
			return unfit(n.Input(i), v.Type, err)
		}
		dims := make([]int64, len(v.Shape))
		for d, size := range v.Shape {
			dims[d] = int64(size)
		}
		g := c.Graph
		shared[v] = g.AddInitializer(g.Eval.Main.Graph, g.FreshName("modelpatch/places"), v.Type, dims, raw, why)
		g.RenameInput(n, i, shared[v], why)
	}
	return nil
}
