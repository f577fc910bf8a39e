package axes

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Demand is a size that an operator demands of an input's dimension which the file
// leaves free: a cache of keys whose last axis has no size, for a GroupQueryAttention
// that says what a head's is.
type Demand struct {
	Input string
	Axis  int
	Size  int
}

// Demands are the sizes that operators demand of free dimensions of the inputs, in the
// order in which they were met, each once.
func (l *Labels) Demands() []Demand { return l.demands }

// demand notes that an axis must be of a size, where it is a dimension of an input as it
// comes in.
func (l *Labels) demand(axis Axis, size int) {
	if axis = leaves(axis); size < 1 || len(axis) != 1 {
		return
	}
	for _, in := range axis[0].inputs {
		for _, info := range l.e.File.Graph.Inputs {
			if info.Name != in.Input || in.Axis >= len(info.Dims) || info.Dims[in.Axis].Value >= 0 {
				continue
			}
			if d := (Demand{in.Input, in.Axis, size}); !slices.Contains(l.demands, d) {
				l.demands = append(l.demands, d)
			}
		}
	}
}

// Ahead are the axes of inputs that Concats and fused attentions put ahead of what is made of others, whatever moved them there, in the order in
// which they were met, each once: those of the keys and values of earlier tokens, where an input holds such.
func (l *Labels) Ahead() []onnx.InputAxis { return l.ahead }

// putAhead notes that a value is put behind an axis.
func (l *Labels) putAhead(axis Axis, behind *Value) {
	if axis = leaves(axis); len(axis) != 1 {
		return
	}
	for _, in := range axis[0].inputs {
		own := slices.ContainsFunc(behind.Axes, func(a Axis) bool { // made of the input itself: its channels, say
			return slices.ContainsFunc(leaves(a), func(f Factor) bool {
				return slices.ContainsFunc(f.inputs, func(other onnx.InputAxis) bool { return other.Input == in.Input })
			})
		})
		if !own && !slices.Contains(l.ahead, in) {
			l.ahead = append(l.ahead, in)
		}
	}
}

// caches are the inputs of fused attentions that hold keys and values of earlier tokens,
// the last axis of which is a head's size.
func (c *call) caches() []int {
	switch {
	case c.n.Op == "GroupQueryAttention":
		return []int{3, 4}
	case c.n.Op == "MultiHeadAttention":
		return []int{6, 7}
	case c.n.Op == "Attention" && c.n.Domain == "":
		return []int{4, 5}
	case c.n.Op == "Attention":
		return []int{4}
	}
	return nil
}

// demandHeads notes of what size the heads in a fused attention's caches must be, and that its keys are put behind those there. Values
// of a size of their own are told by the operators whose values are an operand.
func (c *call) demandHeads() {
	heads := func(names ...string) int {
		for _, name := range names {
			if n := int(c.n.Int(name, 0)); n > 0 {
				return n
			}
		}
		return 0
	}
	size := func(i, count int) int {
		s := c.s.Input(c.n, i).Shape
		switch {
		case len(s) == 4:
			return s[3]
		case len(s) == 3 && count > 0 && s[2]%count == 0:
			return s[2] / count
		}
		return 0
	}
	query, key := heads("num_heads", "q_num_heads"), heads("kv_num_heads", "num_heads")
	k, v := size(0, query), size(2, key)
	switch {
	case c.n.Op == "Attention" && c.n.Domain != "": // it projects, by weights inside
		if bias := c.s.Input(c.n, 2).Shape; len(bias) == 1 && c.n.Attribute("qkv_hidden_sizes") == nil && query > 0 {
			k = bias[0] / 3 / query
		} else {
			k = 0
		}
	case !c.given(1): // queries, keys and values lie in one operand
		k = size(0, query+2*key)
		v = k
	}
	for i, at := range c.caches() {
		if !c.given(at) {
			continue
		}
		if axes := c.of(at).Axes; len(axes) > 1 {
			c.l.demand(axes[len(axes)-1], []int{k, v}[i])
			c.l.putAhead(axes[len(axes)-2], absent)
		}
	}
}
