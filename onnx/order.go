package onnx

import (
	"slices"
	"strings"
)

// Late returns the first node that stands in the file before one that it needs, nil
// when there is none: then the nodes are in the order in which they run, as the
// specification asks. In Graph.Nodes they are so either way.
func (g *Graph) Late() *Node {
	var late *Node
	w := g.Wiring()
	for _, n := range g.Nodes {
		for i := range n.Inputs {
			if in, ok := w.Input(n, i); ok && w.Producer(in) != nil && !n.StandsBehind(w.Producer(in)) && (late == nil || n.frame.start < late.frame.start) {
				late = n
			}
		}
	}
	return late
}

// StandsBehind reports whether the node stands in the file behind another one, or behind both nodes that are one operator.
func (n *Node) StandsBehind(other *Node) bool {
	if both := other.joins; both != nil && both != n && n.frame.start <= both.frame.start {
		return false
	}
	return n.frame.start > other.frame.start
}

// sort puts the nodes of a graph in an order in which they run, that of the file as far as it is one. Engines do so themselves, and tools leave
// files in which they are not: onnxruntime.transformers.float16 (1.31) puts Casts behind all others. What goes in a circle has no such order.
func (g *Graph) sort() {
	late := false
	for _, n := range g.Nodes {
		g.needs(n, func(p *Node) { late = late || p.index > n.index })
	}
	if !late {
		return
	}
	const waits, stands = 1, 2
	state, sorted := make([]byte, len(g.Nodes)), make([]*Node, 0, len(g.Nodes))
	var way []*Node
	for _, n := range g.Nodes {
		for way = append(way, n); len(way) > 0; {
			end := len(way)
			switch n := way[end-1]; state[n.index] {
			case 0:
				state[n.index] = waits
				g.needs(n, func(p *Node) {
					if state[p.index] == 0 {
						way = append(way, p)
					}
				})
				slices.Reverse(way[end:])
			case waits:
				state[n.index] = stands
				sorted = append(sorted, n)
				way = way[:end-1]
			default:
				way = way[:end-1]
			}
		}
	}
	for i, n := range sorted {
		n.index = i
	}
	g.Nodes = sorted
}

// needs visits the nodes of the graph whose outputs a node reads.
func (g *Graph) needs(n *Node, visit func(*Node)) {
	g.reads(n, func(value int32) {
		if p := g.wiring.values[value].producer; p != nil {
			visit(p)
		}
	})
}

// reads visits the values of the graph that a node reads, itself or in the graphs inside of it.
func (g *Graph) reads(n *Node, visit func(value int32)) {
	for _, in := range n.inputs {
		if in.value >= 0 {
			visit(in.value)
		}
	}
	if g.nested {
		n.captures(func(value int) { visit(int32(value)) })
	}
}

// Cycle returns a node that needs its own output, nil when there is none.
func (g *Graph) Cycle() *Node {
	if g.Late() == nil {
		return nil // as nearly always: without a count of every reader
	}
	waits, w := g.stuck(), g.Wiring()
	// Going back from a node that still waits ends in a circle.
	seen := make([]bool, len(g.Nodes))
	for _, n := range g.Nodes {
		if waits[n.Index()] == 0 {
			continue
		}
		for !seen[n.Index()] {
			seen[n.Index()] = true
			for i := range n.Inputs {
				in, ok := w.Input(n, i)
				if !ok {
					continue
				}
				if p := w.Producer(in); p != nil && waits[p.Index()] > 0 {
					n = p
					break
				}
			}
		}
		return n
	}
	return nil
}

// stuck counts for every node the inputs that never come: what is left when
// nodes whose inputs are there have been taken away.
func (g *Graph) stuck() (waits []int) {
	w := g.Wiring()
	waits = make([]int, len(g.Nodes))
	for v := range w.Len() {
		if w.Producer(v) == nil {
			continue
		}
		for _, r := range w.Readers(v) {
			waits[r.Index()]++
		}
	}
	ready := make([]*Node, 0, len(g.Nodes))
	for _, n := range g.Nodes {
		if waits[n.Index()] == 0 {
			ready = append(ready, n)
		}
	}
	for len(ready) > 0 {
		n := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for i := range n.Outputs {
			v, ok := w.Output(n, i)
			if !ok || w.Producer(v) != n {
				continue
			}
			for _, r := range w.Readers(v) {
				if waits[r.Index()]--; waits[r.Index()] == 0 {
					ready = append(ready, r)
				}
			}
		}
	}
	return waits
}

// ReadNames are the names of values that nodes of any graph read, or graphs give
// back.
func (f *File) ReadNames() map[string]bool {
	out := map[string]bool{}
	f.Graphs(func(g *Graph) {
		for _, n := range g.Nodes {
			for _, in := range n.Inputs {
				out[in] = true
			}
		}
		for _, o := range g.Outputs {
			out[o.Name] = true
		}
	})
	return out
}

// Outermost is the main graph or the function in which a graph stands: its
// constants are seen in every graph inside.
func (g *Graph) Outermost() *Graph {
	for g.Parent != nil {
		g = g.Parent
	}
	return g
}

// Title is what people are told of a node: its operator, and its name where it
// has one.
func (n *Node) Title() string {
	if n.Name == "" {
		return n.Op
	}
	return n.Op + " " + n.Name
}

// IsConvolution reports whether a node is a convolution, quantised or not, with an
// activation or not (facts/ONNX-PATTERNS §6).
func (n *Node) IsConvolution() bool {
	switch n.Op {
	case "Conv", "FusedConv", "ConvInteger", "QLinearConv", "NhwcConv", "NhwcFusedConv":
		return true
	}
	return false
}

// Filter is which input of a convolution holds its weights: (channels out, channels in, kernel …).
func (n *Node) Filter() int {
	if n.Op == "QLinearConv" {
		return 3
	}
	return 1
}

// FilterShape is a shape of weights of a convolution as (channels out, channels in, kernel …): NhwcConv alone has the
// channels that go in last (onnxruntime/python/tools/transformers/fusion_nhwc_conv.py).
func (n *Node) FilterShape(weights []int) []int {
	if k := len(weights); n.Op == "NhwcConv" && k > 2 {
		return slices.Concat(weights[:1], weights[k-1:], weights[1:k-1])
	}
	return weights
}

// ChannelsLast reports whether a convolution or pooling has the channels of its data behind rows and columns (ONNX
// Runtime's NhwcTransformer, onnxruntime/core/optimizer/nhwc_transformer.cc).
func (n *Node) ChannelsLast() bool {
	return strings.HasPrefix(n.Op, "Nhwc") || strings.HasPrefix(n.Op, "QLinear") && n.Int("channels_last", 0) == 1
}
