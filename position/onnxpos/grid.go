package onnxpos

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// PatchSize is the stride of the convolution that makes patches of an image,
// 0 when there is none or it is not square.
func (m *Model) PatchSize() int {
	n := m.patchConvolution()
	if n == nil {
		return 0
	}
	if m.patches != nil { // by convolutions ahead of it as well
		return m.pixels()
	}
	if s := n.Ints("strides"); len(s) == 2 && s[0] == s[1] {
		return int(s[0])
	}
	return 0
}

// pixels is the side of the square of pixels of which there are as many as patches,
// 0 where there is none.
func (m *Model) pixels() int {
	h, w := m.patchGrid(m.probe)
	v := m.probe.Main.Value(m.imageInput().Name)
	if h < 1 || w < 1 || len(v.Shape) != 4 || v.Shape[2]%h != 0 || v.Shape[3]%w != 0 || v.Shape[2]/h != v.Shape[3]/w {
		return 0
	}
	return v.Shape[2] / h
}

// PatchGrid is the height and width of the picture in patches.
func (m *Model) PatchGrid() [2]int {
	h, w := m.patchGrid(m.probe)
	return [2]int{h, w}
}

// Takes reports whether the graph, as it is, runs with a picture of so many
// patches whose table it resamples itself. Only square pictures are tried.
func (m *Model) Takes(grid [2]int) bool {
	patch := m.PatchSize()
	if !m.freeImage() || patch == 0 || grid[0] != grid[1] || len(m.probe.Failures) > 0 {
		return false
	}
	s := m.sizes
	s.image = grid[0] * patch
	return len(m.failing(s, func(eval.Failure) bool { return true }).Failures) == 0
}

// SetGrid changes what hangs on the picture's size: position ids, shape
// constants, fixed dimensions.
func (m *Model) SetGrid(old, new [2]int) (err error) {
	defer m.caught(&err)
	c := m.change(0, 0)
	patch := m.PatchSize()
	c.image = [2]int{new[0] * patch, new[1] * patch}
	for _, s := range m.sites {
		if e := s.Encoding(); e.IsGrid() {
			before, after := old[0]*old[1], new[0]*new[1]
			l, _ := e.Scheme.(schemes.Learned)
			for _, more := range append(m.besidePatches(before), l.Rows-before, l.Prefix, 0) {
				if more < 0 {
					continue
				}
				p := numberPair{before + more, after + more}
				if !slices.Contains(c.pairs, p) {
					c.pairs = append(c.pairs, p)
				}
			}
			c.old, c.new = before+max(l.Rows-before, 0), after+max(l.Rows-before, 0)
		}
	}
	c.pairs = append(c.pairs, numberPair{old[0], new[0]})
	if old[0] != old[1] {
		c.pairs = append(c.pairs, numberPair{old[1], new[1]})
	}
	return c.run()
}

// besidePatches are how many tokens stand beside an image's patches further on: class
// tokens may be put there after the table was added (DeiT III).
func (m *Model) besidePatches(patches int) []int {
	var out []int
	for _, n := range m.file.Graph.Nodes {
		if n.Op != "Concat" || !slices.ContainsFunc(n.Inputs, func(in string) bool {
			v := m.probe.Main.Value(in)
			return len(v.Shape) == 3 && v.Shape[1] == patches
		}) {
			continue
		}
		if v := m.probe.Main.Value(n.Output(0)); len(v.Shape) == 3 && v.Shape[1] > patches && v.Shape[1] <= patches+maxPrefix {
			out = append(out, v.Shape[1]-patches)
		}
	}
	return out
}

// imageInputs are probing inputs with a picture of the new size.
func (c *lengthChange) imageInputs() map[string]*eval.Value {
	graph := *c.m.file.Graph
	graph.Inputs = nil
	picture := c.m.imageInput()
	for _, in := range c.m.file.Graph.Inputs {
		if in != picture {
			graph.Inputs = append(graph.Inputs, in)
			continue
		}
		copied := *in
		copied.Dims = slices.Clone(in.Dims)
		copied.Dims[2].Value, copied.Dims[3].Value = int64(c.image[0]), int64(c.image[1])
		graph.Inputs = append(graph.Inputs, &copied)
	}
	free := *c.m.file
	free.Graph = &graph
	return probeInputs(&free, c.sizes)
}

// Resampled reports whether the graph itself resamples the table before it adds
// it.
func (t *tableSite) Resampled() bool { return trace.Resamples(t.uses[0].scope, t.uses[0].name) }
