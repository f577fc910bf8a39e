package onnx

import (
	"slices"
	"strings"
)

// Late returns the first node that stands before one that it needs, nil when
// there is none: then the nodes are in the order in which they run, as the
// specification asks.
func (g *Graph) Late() *Node {
	w := g.Wiring()
	for _, n := range g.Nodes {
		for i := range n.Inputs {
			if in, ok := w.Input(n, i); ok && w.Producer(in) != nil && w.Producer(in).Index() >= n.Index() {
				return n
			}
		}
	}
	return nil
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
