package onnxpos

import (
	"cmp"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/relative"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/schemes"
)

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
		of, shape := probe.PatchesOf(n, 2), d.e.Main.Value(n.Output(0)).Shape
		if len(shape) != 4 || shape[of.Rows] < 2 || shape[of.Columns] < 2 {
			continue
		}
		size := mapSize{shape[of.Rows], shape[of.Columns]}
		if d.maps[size] == nil {
			d.sizes = append(d.sizes, size)
		}
		d.maps[size] = append(d.maps[size], n)
	}
	return d.maps, d.sizes
}

// mapOf is the nearest node ahead of another one that makes so many rows and columns of patches: a
// convolution, or a Reshape that cuts the picture apart; nil when none does.
func (d *detector) mapOf(before *onnx.Node, rows, columns int) *probe.Patches {
	if before.Graph != d.m.File.Graph {
		return nil
	}
	maps, _ := d.convolutions()
	nodes := maps[mapSize{rows, columns}]
	i, _ := slices.BinarySearchFunc(nodes, before.Index(), func(n *onnx.Node, index int) int { return cmp.Compare(n.Index(), index) })
	if i > 0 {
		return probe.PatchesOf(nodes[i-1], 2)
	}
	return d.m.CutApart(before.Index(), rows, columns)
}

// laterPatches takes the node for the one that makes the patches that the
// model's only grid is of.
func (m *Model) laterPatches(tables []*tableSite) {
	var patches *probe.Patches
	for _, t := range tables {
		if !t.Detected.IsGrid() {
			continue
		}
		if t.patches == nil || patches != nil && *patches != *t.patches {
			return
		}
		patches = t.patches
	}
	m.graph.Patches = patches
}

// windowPatches takes the node for the one that makes the patches, where no table is of a grid, that makes as many as biases are between:
// behind a stem of several convolutions (LeViT). Where no other axis of the scores is of positions, biases are between all of them, and end with
// the picture if the graph takes no larger one.
func (m *Model) windowPatches(d *detector, found []site.Site) []site.Site {
	for _, s := range found {
		w, ok := s.(*relative.Window)
		if !ok {
			continue
		}
		first, sides := w.First(), w.Detected.Scheme.(schemes.Other).Window
		if len(sides) != 2 {
			continue
		}
		if m.graph.Patches == nil {
			m.graph.Patches = d.mapOf(first, sides[0], sides[1])
		}
		windows := first.Graph != d.m.File.Graph
		if scores := d.labels.Of(d.e.Main, first.Output(0)).Axes; !windows && len(scores) > 2 {
			windows = slices.ContainsFunc(scores[:len(scores)-2], d.labels.IsOfPositions)
		}
		if side := m.graph.PatchSize(); !windows && (!m.graph.FreeImage() || side > 0 && m.graph.WithPicture([2]int{(sides[0] + 1) * side, (sides[1] + 1) * side}) == nil) {
			w.Detected.Capacity = sides[0] * sides[1]
		}
	}
	return found
}
