package onnxpos

import (
	"cmp"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// tokensAhead counts the rows that Concats put before an image's patches:
// class and distillation tokens; −1 when the state is not put together so.
func (d *detector) tokensAhead(s *eval.Scope, name string) int {
	if h, w := d.m.PatchesIn(d.e); h > 0 {
		budget := maxOperands
		if n, ok := rowsAhead(s, name, h*w, 0, &budget); ok {
			return n
		}
	}
	return -1
}

// maxSizes bounds the sizes of pictures that a table's rows are compared with.
const maxSizes = 64

// maxOperands bounds the operands of concatenations that are looked at.
const maxOperands = 256

// rowsAhead counts the rows ahead of an operand of the given rows in a
// concatenation, which may be one of concatenations.
func rowsAhead(s *eval.Scope, name string, rows, depth int, budget *int) (ahead int, ok bool) {
	if *budget--; *budget < 0 {
		return 0, false
	}
	if v := s.Value(name); len(v.Shape) == 3 && v.Shape[1] == rows {
		return 0, depth > 0
	}
	n, at := s.Find(name)
	for n != nil && eval.Is(n, eval.Elements) {
		n, at = at.Find(n.Input(0))
	}
	if n == nil || n.Op != "Concat" || depth > 4 {
		return 0, false
	}
	for _, in := range n.Inputs {
		if more, found := rowsAhead(at, in, rows, depth+1, budget); found {
			return ahead + more, true
		}
		v := at.Value(in)
		if len(v.Shape) != 3 {
			return 0, false
		}
		ahead += v.Shape[1]
	}
	return 0, false
}

// grid reads an image's patch grid from the convolution that makes the
// patches: rows are prefix tokens and then one for each patch.
func (t *tableSite) grid(d *detector, rows int) (grid []int, prefix, total int, ok bool) {
	h, w := t.m.PatchesIn(d.e)
	if use := t.uses[0]; use.planar {
		rows, columns := use.value.Shape[use.axis], use.value.Shape[use.axis+1]
		if (rows != h || columns != w) && !use.blocks {
			t.patches = d.mapOf(use.node, rows, columns)
		}
		return []int{rows, columns}, 0, rows * columns, !use.blocks && rows > 1
	}
	if h == 0 {
		return nil, 0, 0, false
	}
	if in := t.m.TokenInput(); in != nil && t.uses[0].source.Indexed != nil && t.uses[0].source.Index != "" && !t.constantIndex() {
		return nil, 0, 0, false
	}
	use := t.uses[0]
	if use.value == nil {
		return nil, 0, 0, false // a fused embedding of text
	}
	if use.source.Indexed == nil || t.Resampled() {
		rows = use.value.Shape[use.axis] // prefix tokens may stand apart
	}
	before := use.before
	if more, ok := d.tokensBefore()[rows]; before < 0 && ok {
		before = more // added further on, to the same tokens (YOLOS)
	}
	p := rows - h*w
	switch {
	case h <= 1 || p < 0:
	case before >= 0 && before < p && p <= probe.MaxBeside:
		return []int{h, w}, before, rows, true // other tokens stand behind the patches
	case p <= probe.MaxPrefix:
		return []int{h, w}, p, rows, true
	}
	return t.laterGrid(d, rows)
}

// tokensBefore is, by the number of rows of a table, how many tokens stand ahead of an
// image's patches where one of as many rows is added, as far as that is known.
func (d *detector) tokensBefore() map[int]int {
	if d.ahead == nil {
		d.ahead = map[int]int{}
		for _, a := range d.tables {
			if a.value == nil || a.planar || a.before < 0 {
				continue
			}
			if rows := a.value.Shape[a.axis]; !has(d.ahead, rows) {
				d.ahead[rows] = a.before
			}
		}
	}
	return d.ahead
}

func has(m map[int]int, key int) bool { _, ok := m[key]; return ok }

// laterGrid is the grid of a table for what convolutions further on make of an
// image: those of a stem, or of a further stage (PVT).
func (t *tableSite) laterGrid(d *detector, rows int) (grid []int, prefix, total int, ok bool) {
	use := t.uses[0]
	if use.scope != d.e.Main || t.m.ImageInput() == nil {
		return nil, 0, 0, false
	}
	_, sizes := d.convolutions()
	for _, size := range slices.Backward(sizes[:min(len(sizes), maxSizes)]) { // the smallest last
		n := d.mapOf(use.node, size[0], size[1])
		if n == nil {
			continue
		}
		h, w, budget := size[0], size[1], maxOperands
		switch before, found := rowsAhead(use.scope, use.state, h*w, 0, &budget); {
		case h*w == rows:
		case found && before > 0 && h*w+before == rows:
			prefix = before
		default:
			continue
		}
		t.patches = n
		return []int{h, w}, prefix, rows, true
	}
	return nil, 0, 0, false
}

// mapSize is the size of a convolution's output: rows and columns.
type mapSize [2]int

// convolutions are the nodes of the main graph that make pictures, by their size, in
// file order, and the sizes in that order.
func (d *detector) convolutions() (map[mapSize][]*onnx.Node, []mapSize) {
	if d.maps != nil {
		return d.maps, d.sizes
	}
	d.maps = map[mapSize][]*onnx.Node{}
	for _, n := range d.m.File.Graph.Nodes {
		if !n.IsConvolution() {
			continue
		}
		v := d.e.Main.Value(n.Output(0))
		if len(v.Shape) != 4 || v.Shape[2] < 2 || v.Shape[3] < 2 {
			continue
		}
		size := mapSize{v.Shape[2], v.Shape[3]}
		if d.maps[size] == nil {
			d.sizes = append(d.sizes, size)
		}
		d.maps[size] = append(d.maps[size], n)
	}
	return d.maps, d.sizes
}

// mapOf is the nearest convolution ahead of a node that makes so many rows and
// columns, nil when none does.
func (d *detector) mapOf(before *onnx.Node, rows, columns int) *onnx.Node {
	if before.Graph != d.m.File.Graph {
		return nil
	}
	maps, _ := d.convolutions()
	nodes := maps[mapSize{rows, columns}]
	i, _ := slices.BinarySearchFunc(nodes, before.Index(), func(n *onnx.Node, index int) int { return cmp.Compare(n.Index(), index) })
	if i == 0 {
		return nil
	}
	return nodes[i-1]
}

// laterPatches takes the convolution for the one that makes the patches that the
// model's only grid is of.
func (m *Model) laterPatches(tables []*tableSite) {
	var patches *onnx.Node
	for _, t := range tables {
		if !t.Told.IsGrid() {
			continue
		}
		if t.patches == nil || patches != nil && patches != t.patches {
			return
		}
		patches = t.patches
	}
	m.graph.Patches = patches
}
