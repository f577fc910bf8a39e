package onnxpos

import (
	"fmt"
	"io"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Parts lists the constants, nodes and declared values of the model.
func (m *Model) Parts() ([]position.Part, error) {
	p := parts{m: m, tensors: m.positionTensors()}
	m.file.Graphs(p.graph)
	return p.out, p.err
}

type parts struct {
	m       *Model
	tensors map[*onnx.Tensor]bool
	graphs  int
	out     []position.Part
	err     error
}

func (p *parts) graph(g *onnx.Graph) {
	prefix := ""
	if p.graphs > 0 {
		prefix = fmt.Sprintf("%d/", p.graphs) // the n-th graph in file order
	}
	p.graphs++
	for _, t := range g.Initializers {
		p.tensor(prefix+t.Name, t)
	}
	for _, n := range g.Nodes {
		p.node(prefix, n)
	}
	for kind, list := range map[string][]*onnx.ValueInfo{"input": g.Inputs, "output": g.Outputs} {
		for i, v := range list {
			head := fmt.Sprintf("%s of rank %d", v.Type, len(v.Dims))
			p.out = append(p.out, position.Part{Kind: kind, Name: fmt.Sprintf("%s%d %s", prefix, i, v.Name), Head: head, Open: func() io.Reader { return strings.NewReader("") }})
		}
	}
}

// isLengthLike reports whether a constant may hold lengths: shapes, limits,
// buffers of positions, masks.
func isLengthLike(t *onnx.Tensor) bool {
	switch t.Type {
	case onnx.Int64, onnx.Int32, onnx.Bool:
		return true
	}
	return false // bytes are quantised weights
}

func (p *parts) tensor(name string, t *onnx.Tensor) {
	src, err := t.Source(0, t.Len())
	if err != nil {
		if src, err = t.WholeSource(); err != nil {
			p.err = err
			return
		}
	}
	p.out = append(p.out, position.Part{Kind: "tensor", Name: name, Head: fmt.Sprintf("%s %v", t.Type, t.Dims), Size: src.Size(), Open: src.Open,
		Where: p.m.where(t), Position: p.tensors[t] || isLengthLike(t) || strings.HasPrefix(t.Name, madePrefix)})
}

// madePrefix begins the names of nodes and constants that modelpatch adds.
const madePrefix = "modelpatch/"

func (p *parts) node(prefix string, n *onnx.Node) {
	name := prefix + n.Output(0)
	var attributes []string
	made := strings.HasPrefix(n.Output(0), madePrefix)
	for _, a := range n.Attributes {
		if a.Tensor != nil {
			p.tensor(name+"."+a.Name, a.Tensor)
			continue
		}
		attributes = append(attributes, fmt.Sprintf("%s=%d %v %q %v %v", a.Name, a.I, a.F, a.S, a.Ints, a.Floats))
	}
	inputs := strings.Join(n.Inputs, ",")
	r := n.Range()
	p.out = append(p.out, position.Part{Kind: "node", Name: name, Head: fmt.Sprintf("%s.%s(%s)", n.Domain, n.Op, strings.Join(attributes, " ")),
		Size: int64(len(inputs)), Open: func() io.Reader { return strings.NewReader(inputs) },
		Where: report.Where{Node: nodeName(n), Range: &r}, Position: made || readsAdded(n) || n.Op == "Softmax"})
}

// readsAdded reports whether a node reads a value that modelpatch added.
func readsAdded(n *onnx.Node) bool {
	for _, in := range n.Inputs {
		if strings.HasPrefix(in, madePrefix) {
			return true
		}
	}
	return false
}

// positionTensors are the floating-point constants that belong to encodings:
// tables, caches, frequencies, masks and biases.
func (m *Model) positionTensors() map[*onnx.Tensor]bool {
	out := map[*onnx.Tensor]bool{}
	for _, s := range m.sites {
		switch s := s.(type) {
		case *tableSite:
			for _, t := range s.tensors() {
				out[t] = true
			}
		case *rotarySite:
			for _, c := range s.caches {
				out[c.cos.tensor], out[c.sin.tensor] = true, true
			}
			for _, t := range s.trig {
				for _, src := range sources(t.scope, t.trig.Input(0)) {
					if src.tensor != nil {
						out[src.tensor] = true
					}
				}
				if c := amplitudeConstant(t); c != nil {
					out[c] = true
				}
			}
		case *alibiSite:
			for _, t := range s.tables {
				out[t.tensor] = true
			}
		}
	}
	m.file.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		k := len(t.Dims)
		if t.Type.IsFloat() && k >= 2 && t.Dims[k-1] == t.Dims[k-2] && t.Dims[k-1] > 1 && isMask(t) {
			out[t] = true
		}
	})
	return out
}

// isMask reports whether a square constant holds at most two numbers.
func isMask(t *onnx.Tensor) bool {
	n := min(t.Len(), 1<<14)
	x, err := t.Floats(0, n)
	if err != nil || n == 0 {
		return false
	}
	a, b := x[0], x[0]
	for _, v := range x {
		if v != a && b == a {
			b = v
		}
		if v != a && v != b {
			return false
		}
	}
	return a != b
}
