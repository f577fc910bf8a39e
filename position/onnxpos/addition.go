package onnxpos

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// addition is a place where numbers that depend on position are added to the
// model's state.
type addition struct {
	scope  *eval.Scope
	node   *onnx.Node
	name   string      // the value that is added
	state  string      // the value that it is added to
	value  *eval.Value // what is known of it
	axis   int         // its axis of positions
	planar bool        // positions run along axis and the next
	source trace.Source
	before int  // rows for tokens ahead of an image's patches; −1: not known
	blocks bool // planar: the two axes are blocks of patches and places in them
}

// addition looks at an Add of state and a known value that depends on position
// (facts/ONNX-PATTERNS §2, §3).
func (d *detector) addition(s *eval.Scope, n *onnx.Node, stateAt, addedAt int) {
	stateName, addedName := n.Input(stateAt), n.Input(addedAt)
	state, added := s.Input(n, stateAt), s.Input(n, addedAt)
	if !added.Known() && d.scores(s, n) {
		if name, ok := gated(s, addedName); ok {
			d.relative.Bias(s, n, name)
		} else {
			d.relative.Large(s, n, addedName, added)
		}
		return
	}
	if state.Known() && added.Known() && added.Floats != nil && allZero(state) && worksOn(s, n.Output(0), false) {
		d.ownState(s, addedName)
	}
	if !state.Ranked || !state.Type.IsFloat() && state.Type != 0 || state.Known() || !added.Known() || added.Floats == nil {
		return
	}
	rank := len(added.Shape)
	if d.plane(s, n, addedName, state, added) || d.features(s, n, addedName, state, added) {
		return
	}
	if d.scores(s, n) {
		d.relative.Bias(s, n, addedName)
		return
	}
	if rank < 2 || len(state.Shape) > 3 || len(state.Shape) < 2 {
		return
	}
	if added.Shape[rank-1] == state.Shape[len(state.Shape)-1] {
		d.tablesBehind(s, n, stateName, addedName)
	}
}

// joined looks at a Concat that puts a known value that depends on position
// beside the columns of the state.
func (d *detector) joined(s *eval.Scope, n *onnx.Node) {
	if len(n.Inputs) != 2 || !worksOn(s, n.Output(0), false) {
		return
	}
	for i := range 2 {
		state, known := s.Value(n.Input(1-i)), s.Value(n.Input(i))
		rank := len(state.Shape)
		if axis := int(n.Int("axis", 0)); axis != -1 && axis != rank-1 || rank < 2 || rank > 3 {
			continue
		}
		if state.Type.IsFloat() && !state.Known() && known.Known() && known.Floats != nil && len(known.Shape) == rank && known.Len() > 0 {
			d.tablesBehind(s, n, n.Input(1-i), n.Input(i))
		}
	}
}

// tablesBehind notes the tables and sinusoids that a known value of rows by
// position comes from, which meets the state at a node.
func (d *detector) tablesBehind(s *eval.Scope, n *onnx.Node, stateName, addedName string) {
	added := s.Value(addedName)
	rank := len(added.Shape)
	width := added.Shape[rank-1]
	axis := trace.PositionAxis(added)
	if axis < 0 || width < 2 || !added.Varies(rank-1) || isState(s, addedName) {
		return
	}
	found := trace.Sources(s, addedName)
	if !d.lengthwise(added.Shape[axis]) && !slices.ContainsFunc(found, d.followsLength) {
		return
	}
	computed := slices.ContainsFunc(found, func(src trace.Source) bool { return src.Trig != nil })
	for _, src := range found {
		if computed && src.Trig == nil && src.Indexed == nil {
			continue // what computed numbers are written into
		}
		if d.additive(src, added.Shape[axis], width) || d.resampledTable(s, addedName, src, width) {
			d.tables = append(d.tables, &addition{scope: s, node: n, name: addedName, state: stateName, value: added, axis: axis, source: src, before: d.tokensAhead(s, stateName)})
		}
	}
}

// allZero reports whether a known value is zero all over.
func allZero(v *eval.Value) bool {
	return eval.Ask(v, "zero", func() bool {
		for i := range v.Len() {
			if v.Number(i) != 0 {
				return false
			}
		}
		return true
	})
}

// ownState notes constants that are added to zeros: they are what the model
// starts from, not where it is.
func (d *detector) ownState(s *eval.Scope, name string) {
	for _, src := range trace.Sources(s, name) {
		if src.Tensor != nil && src.Indexed == nil {
			d.queries[src.Tensor] = true
		}
	}
}

// worksOn reports whether a value is multiplied by weights or normalised, as the
// model's state is, and not added to another; as it is, where no axis may take the
// place of the last one before.
func worksOn(s *eval.Scope, name string, asItIs bool) bool {
	question := "worked on"
	if asItIs {
		question = "worked on as it is"
	}
	return eval.Once(s, question, name, func() bool { return workedOn(s, name, asItIs) })
}

func workedOn(s *eval.Scope, name string, asItIs bool) bool {
	looked := 0
	queue, seen := []string{name}, map[string]bool{}
	for i := 0; i < len(queue) && i < 32; i++ {
		for _, n := range s.Consumers(queue[i]) {
			if looked++; looked > trace.MaxReaders {
				return false
			}
			switch {
			case eval.Is(n, eval.Product|eval.Normalization|eval.Attention):
				return true
			case eval.Is(n, eval.Layout|eval.Repetition):
				if asItIs && n.Op == "Transpose" && !keepsLast(n) {
					continue
				}
				if out := n.Output(0); !seen[out] {
					seen[out] = true
					queue = append(queue, out)
				}
			}
		}
	}
	return false
}

// keepsLast reports whether a Transpose leaves the last axis where it is.
func keepsLast(n *onnx.Node) bool {
	order := n.Ints("perm")
	return len(order) > 0 && int(order[len(order)-1]) == len(order)-1
}

// isState reports whether a known value is itself worked on as the model's
// state: object queries and latents are learned rows too, and no positions.
func isState(s *eval.Scope, name string) bool {
	return eval.Once(s, "state", name, func() bool { return workedOnBehind(s, name) })
}

func workedOnBehind(s *eval.Scope, name string) bool {
	for range 8 {
		worked := eval.Once(s, "multiplied", name, func() bool {
			return slices.ContainsFunc(s.Consumers(name), func(n *onnx.Node) bool {
				return eval.Is(n, eval.Product|eval.Normalization|eval.Average)
			})
		})
		if worked {
			return true
		}
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Layout|eval.Repetition) {
			return false
		}
		name = n.Input(0)
	}
	return false
}

// lengthwise reports whether a number of rows can be that of positions. With
// nothing but token ids as input it is a length of theirs, and some tokens that
// the model adds; parameters of heads, latents and such have other sizes.
func (d *detector) lengthwise(rows int) bool {
	if d.m.ImageInput() != nil || d.m.VideoInput() != nil || d.m.Audio() != nil {
		return true
	}
	at, found := slices.BinarySearch(d.inputSizes(), rows)
	return found || at > 0 && rows <= d.inputSizes()[at-1]+probe.MaxPrefix
}

// inputSizes are the sizes above 1 of the axes of the model's inputs, in order.
func (d *detector) inputSizes() []int {
	if d.lengths == nil {
		d.lengths = []int{}
		for _, in := range d.m.File.Graph.Inputs {
			if v := d.e.Main.Value(in.Name); !d.m.IsConstant(in.Name) && v.Ranked {
				for _, n := range v.Shape {
					if n > 1 {
						d.lengths = append(d.lengths, n)
					}
				}
			}
		}
		slices.Sort(d.lengths)
		d.lengths = slices.Compact(d.lengths)
	}
	return d.lengths
}

// followsLength reports whether a table is read by an index that counts further
// when the model's input is longer: positions of a padded or shortened length.
func (d *detector) followsLength(src trace.Source) bool {
	if src.Indexed == nil || src.Index == "" || src.IndexAt == nil || d.m.FixedLength() > 0 {
		return false
	}
	now, then := src.IndexAt.Value(src.Index), d.m.Longer(src.IndexAt, src.Index, 8*probe.FirstLength)
	if !now.Known() || then == nil || then.Len() <= now.Len() {
		return false
	}
	_, _, counts := now.Counts()
	return counts
}

// gated finds the known factor of a bias that the state scales before it is
// added to scores (WavLM's gates).
func gated(s *eval.Scope, name string) (known string, ok bool) {
	for range 12 {
		n, at := s.Find(name)
		switch {
		case n == nil || at != s:
			return "", false
		case n.Op == "Mul":
			next := ""
			for i := range 2 {
				v := s.Value(n.Input(i))
				switch {
				case !v.Known() || v.Floats == nil:
				case v.Len() == 1:
					next = n.Input(1 - i)
				case len(v.Shape) >= 2 && v.Varies(len(v.Shape)-1) && !trace.OnlySwitches(v):
					return n.Input(i), true
				}
			}
			if name = next; name == "" {
				return "", false
			}
			continue
		case !eval.Is(n, eval.Layout):
			return "", false
		}
		name = n.Input(0)
	}
	return "", false
}

// resampledTable reports whether a constant is a table of patches of another
// picture size, which the graph resamples before it adds it.
func (d *detector) resampledTable(s *eval.Scope, name string, src trace.Source, width int) bool {
	t := src.Tensor
	if h, _ := d.m.PatchesIn(d.e); h == 0 || t == nil || src.Indexed != nil || sourceGrid(t, width) == 0 {
		return false
	}
	return trace.Resamples(s, name)
}

// sourceGrid is the side of the square grid that a constant holds patches of,
// in rows or as an image of its own; 0: none.
func sourceGrid(t *onnx.Tensor, width int) int {
	if width < 1 || t.Len()%int64(width) != 0 || len(t.Dims) < 2 {
		return 0
	}
	side := int(math.Sqrt(float64(t.Len()/int64(width))) + 0.5)
	switch k := len(t.Dims); {
	case side < 2 || int64(side*side*width) != t.Len():
		return 0
	case int(t.Dims[k-1]) == width, k >= 3 && int(t.Dims[k-3]) == width && int(t.Dims[k-2]) == side:
		return side
	}
	return 0
}

// plane takes a table that is added to an image's patches while they still
// stand in rows and columns: (…, height, width, channels), as SAM does.
func (d *detector) plane(s *eval.Scope, n *onnx.Node, name string, state, added *eval.Value) bool {
	h, w := d.m.PatchesIn(d.e)
	k := len(added.Shape)
	if d.side(s, n, name, state, added, h, w) {
		return true
	}
	if h == 0 || k < 3 || len(state.Shape) != 4 || added.Shape[k-3] != h || added.Shape[k-2] != w || added.Shape[k-1] != state.Shape[3] ||
		!added.Varies(k-3) || !added.Varies(k-2) {
		return false
	}
	for _, src := range trace.Sources(s, name) {
		t := src.Tensor
		if t == nil || src.Indexed != nil || len(t.Dims) < 3 || rows.Size(t.Dims) != rows.Size(t.Dims[len(t.Dims)-3:]) {
			continue
		}
		if d.resampledTable(s, name, src, state.Shape[3]) { // of the picture's own layout (ViTDet)
			rows := *added
			rows.Shape = append(slices.Clone(added.Shape[:k-3]), h*w, state.Shape[3])
			d.tables = append(d.tables, &addition{scope: s, node: n, name: name, value: &rows, axis: k - 3, source: src, before: -1})
			return true
		}
		if last := len(t.Dims) - 1; int(t.Dims[last-2]) == h && int(t.Dims[last-1]) == w && int(t.Dims[last]) == state.Shape[3] {
			src.Axis = last - 2
			d.tables = append(d.tables, &addition{scope: s, node: n, name: name, value: added, axis: k - 3, source: src, planar: true})
			return true
		}
	}
	return false
}

// features takes a table that is added whole to the features of a picture:
// (…, channels, height, width), as convolutions make them (PiT, Visformer), or
// (…, height, width, channels) further on (VOLO), or (…, blocks, places, channels) of
// a picture in blocks (NesT).
func (d *detector) features(s *eval.Scope, n *onnx.Node, name string, state, added *eval.Value) bool {
	k := len(added.Shape)
	if d.m.ImageInput() == nil || k < 3 || len(state.Shape) != 4 || !slices.Equal(added.Shape[k-3:], state.Shape[1:]) ||
		added.Shape[k-2] < 2 || added.Shape[k-1] < 2 || !added.Varies(k-2) || !added.Varies(k-1) || d.scores(s, n) {
		return false
	}
	a := addition{scope: s, node: n, name: name, value: added, before: -1}
	behind := 2 // from the axis of positions to the end
	last := worksOn(s, n.Output(0), true)
	switch varies := added.Shape[k-3] > 1 && added.Varies(k-3); {
	case varies && !last:
		if d.mapOf(n, added.Shape[k-2], added.Shape[k-1]) == nil || !featuresOf(s, name, n, added) {
			return false
		}
		a.planar = true
	case varies:
		a.planar, a.blocks, behind = true, d.mapOf(n, added.Shape[k-3], added.Shape[k-2]) == nil, 3
	case !last || added.Shape[k-3] > 1: // else one block
		return false
	}
	for _, src := range trace.Sources(s, name) {
		t := src.Tensor
		if t == nil || src.Indexed != nil || len(t.Dims) < 3 || rows.Size(t.Dims) != rows.Size(t.Dims[len(t.Dims)-3:]) ||
			!slices.EqualFunc(t.Dims[len(t.Dims)-3:], added.Shape[k-3:], func(a int64, b int) bool { return int(a) == b }) {
			continue
		}
		if a.planar {
			src.Axis = len(t.Dims) - behind
		}
		a.axis, a.source = k-behind, src
		d.tables = append(d.tables, &a)
		return true
	}
	return false
}

// featuresOf reports whether what a table of channels, rows and columns is added to
// are features: no scores of an attention whose heads are mixed before their Softmax,
// no picture itself, nothing that was multiplied by such a table first (a
// normalisation's own numbers); and whether the table is none of coordinates.
func featuresOf(s *eval.Scope, table string, n *onnx.Node, added *eval.Value) bool {
	if coordinates(added) {
		return false
	}
	name := n.Input(0)
	if name == table {
		name = n.Input(1)
	}
	for range 8 {
		from, at := s.Find(name)
		switch {
		case from == nil:
			return false // an input: the picture itself
		case eval.Is(from, eval.Product):
			return s.Value(from.Input(0)).Known() || s.Value(from.Input(1)).Known() || s.Value(from.Input(0)).Large() || s.Value(from.Input(1)).Large()
		case from.Op == "Mul" || from.Op == "Div":
			for i := range 2 {
				if v := at.Value(from.Input(i)); v.Ranked && slices.Equal(v.Shape, added.Shape) && (v.Known() || v.Large()) {
					return false
				}
			}
		case !eval.Is(from, eval.Layout):
			return true
		}
		name, s = from.Input(0), at
	}
	return true
}

// coordinates reports whether a table of channels, rows and columns counts along one
// of its last axes and is the same along the other, in every channel.
func coordinates(v *eval.Value) bool {
	return eval.Ask(v, "coordinates", func() bool { return countsInPlane(v) })
}

func countsInPlane(v *eval.Value) bool {
	k := len(v.Shape)
	h, w := v.Shape[k-2], v.Shape[k-1]
	for at := 0; at < v.Len(); at += h * w {
		x := func(r, c int) float64 { return v.Number(at + r*w + c) }
		down, right := x(1, 0)-x(0, 0), x(0, 1)-x(0, 0)
		if down != 0 && right != 0 || down == 0 && right == 0 {
			return false
		}
		for r := range h {
			for c := range w {
				if want := x(0, 0) + float64(r)*down + float64(c)*right; math.Abs(x(r, c)-want) > 1e-5*math.Max(math.Abs(want), math.Abs(down+right)) {
					return false
				}
			}
		}
	}
	return true
}

// side takes a table of an image's rows alone, or of its columns, that is added to
// patches in rows and columns.
func (d *detector) side(s *eval.Scope, n *onnx.Node, name string, state, added *eval.Value, h, w int) bool {
	k := len(added.Shape)
	if h < 2 || w < 2 || k < 2 || len(state.Shape) != 4 || state.Shape[1] != h || state.Shape[2] != w || added.Shape[k-1] != state.Shape[3] || added.Shape[k-1] < 2 {
		return false
	}
	axis, length := k-2, w
	if k >= 3 && added.Shape[k-2] == 1 {
		axis, length = k-3, h
	}
	if added.Shape[axis] != length || added.Len() != length*state.Shape[3] || !added.Varies(axis) || !added.Varies(k-1) {
		return false
	}
	for _, src := range trace.Sources(s, name) {
		if t := src.Tensor; t != nil && src.Indexed == nil && t.Len() == int64(added.Len()) && len(t.Dims) >= 2 {
			d.sides[k-1-axis] = append(d.sides[k-1-axis], &addition{scope: s, node: n, name: name, value: added, axis: axis, source: src, before: -1})
			return true
		}
	}
	return false
}

// addSides takes tables of an image's rows and of its columns, where there are both.
func (d *detector) addSides() {
	if columns, rows := d.sides[1], d.sides[2]; len(columns) > 0 && len(rows) > 0 {
		d.tables = append(append(d.tables, rows...), columns...)
	}
}

// additive reports whether a source is where an added table's rows come from:
// selected by position, computed at run time, or a constant of just this
// length used whole.
func (d *detector) additive(src trace.Source, rows, width int) bool {
	if src.Trig != nil {
		return true
	}
	if src.Indexed != nil {
		return src.Axis < len(src.Tensor.Dims)-1 || width == 1
	}
	if d.m.FixedLength() == 0 && d.m.ImageInput() == nil && d.m.VideoInput() == nil && d.m.Audio() == nil {
		return false // a free length cannot agree with a constant
	}
	if !d.contracts() {
		return false // element by element, no row is a position
	}
	for axis, n := range src.Tensor.Dims {
		if int(n) == rows && axis < len(src.Tensor.Dims)-1 && rows > 1 {
			return true
		}
	}
	_, ok := d.patchAxis(src.Tensor, rows, width)
	return ok || d.channelsFirst(src.Tensor, width)
}

// contracts reports whether the model sums over an axis anywhere.
func (d *detector) contracts() bool {
	if !d.summed.asked {
		d.summed.asked, d.summed.does = true, d.contractsAnywhere()
	}
	return d.summed.does
}

func (d *detector) contractsAnywhere() bool {
	for _, s := range d.e.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if eval.Is(n, eval.Product|eval.Convolution|eval.Attention|eval.Recurrence) {
				return true
			}
		}
	}
	return false
}

// patchAxis finds the axis of a table that holds an image's patches without the
// prefix tokens, whose rows stand apart when the table is resampled
// (facts/ONNX-PATTERNS §2).
func (d *detector) patchAxis(t *onnx.Tensor, length, width int) (axis int, ok bool) {
	k := len(t.Dims)
	h, w := d.m.PatchesIn(d.e)
	if h == 0 || int(t.Dims[k-1]) != width || length < h*w {
		return 0, false
	}
	for axis, n := range t.Dims[:k-1] {
		if int(n) == h*w && rows.Size(t.Dims[:k-1]) == h*w {
			return axis, true
		}
	}
	return 0, false
}

// channelsFirst reports whether a table is an image of its own: channels, then
// rows and columns of patches, as resampling wants it.
func (d *detector) channelsFirst(t *onnx.Tensor, width int) bool {
	k := len(t.Dims)
	h, w := d.m.PatchesIn(d.e)
	return h > 0 && k >= 3 && int(t.Dims[k-3]) == width && int(t.Dims[k-2]) == h && int(t.Dims[k-1]) == w
}

// embedLayerNormalization is the fused embedding of three tables; without
// position_ids the positions are 0 … length−1.
func (d *detector) embedLayerNormalization(s *eval.Scope, n *onnx.Node) {
	name := n.Input(3)
	t := trace.Stored(s, name)
	if t == nil || len(t.Dims) != 2 {
		return
	}
	src := trace.Source{Tensor: t, Scope: s, Axis: 0, Indexed: n, Index: n.Input(8), IndexAt: s}
	switch d, at := s.Find(name); {
	case n.Op == "QEmbedLayerNormalization": // scales and zero points follow the mask
		src.Index = ""
		src.Scale, _ = s.Value(n.Input(9)).Scalar()
		src.Zero, _ = s.Value(n.Input(14)).Scalar()
	case d != nil && d.Op == "DequantizeLinear":
		src.Scale, _ = at.Value(d.Input(1)).Scalar()
		src.Zero, _ = at.Value(d.Input(2)).Scalar()
	}
	if src.Index != "" {
		if _, first, ok := s.Value(src.Index).Counts(); ok {
			src.First = first
		}
	}
	d.tables = append(d.tables, &addition{scope: s, node: n, name: name, source: src, before: -1})
}

// withoutQueries drops the tables that are added to a state of the model's own
// making: object queries (DETR) are learned rows too, and no positions.
func (d *detector) withoutQueries() {
	for _, a := range d.tables {
		if t := a.source.Tensor; t != nil && a.source.Indexed == nil && a.state != "" && !d.queries[t] && !trace.FromInput(a.scope, a.state) {
			d.queries[t] = true
		}
	}
	d.tables = slices.DeleteFunc(d.tables, func(a *addition) bool { return a.source.Tensor != nil && d.queries[a.source.Tensor] })
}

// attentionBias looks at the mask or bias input of a fused attention.
func (d *detector) attentionBias(s *eval.Scope, n *onnx.Node, name string) {
	if name != "" {
		d.read(s, n, name)
		d.relative.Bias(s, n, name)
	}
}
