// Package parts lists what an ONNX file is made of, for comparisons of two files: constants, nodes, and what is declared of values.
package parts

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// Of lists the constants, nodes and declared values of a model in which encodings were found.
func Of(g *site.Graph, sites []site.Site) ([]position.Part, error) {
	p := lister{of: g, tensors: owners(sites), seen: map[string]int{}}
	properties, descriptions := g.File.Properties(), g.File.Descriptions()
	p.add(position.Part{Kind: "value", Name: "properties of the model", Head: "operator sets " + operatorSets(g.File), Size: properties.Size(), Open: properties.Open})
	p.add(position.Part{Kind: "description", Name: "producer, version, documentation and metadata", Size: descriptions.Size(), Open: descriptions.Open})
	g.File.Graphs(p.graph)
	for _, fn := range g.File.Functions {
		p.add(position.Part{Kind: "function", Name: fn.Domain + "." + fn.Name, Head: fmt.Sprintf("%q to %q with %q, %v", fn.Inputs, fn.Outputs, fn.Attributes, fn.Opsets), Open: nothing})
	}
	return p.out, p.err
}

type lister struct {
	of      *site.Graph
	tensors map[*onnx.Tensor][]int // the sites that a constant belongs to
	graphs  int
	seen    map[string]int // how often a kind and name occurred
	out     []position.Part
	err     error
}

// add makes the part's name unique: nodes without outputs and names that occur
// twice are told apart by their order.
func (p *lister) add(part position.Part) {
	key := part.Kind + "\x00" + part.Name
	if n := p.seen[key]; n > 0 {
		part.Name = fmt.Sprintf("%s (%d)", part.Name, n+1)
	}
	p.seen[key]++
	part.Graph = max(p.graphs-1, 0)
	p.out = append(p.out, part)
}

// operatorSets are the versions of the operator sets that nodes are of, by domain.
func operatorSets(f *onnx.File) string {
	used := map[string]bool{}
	f.Graphs(func(g *onnx.Graph) {
		for _, n := range g.Nodes {
			used[n.Domain] = true
		}
	})
	var out []string
	for domain, version := range f.Opsets {
		if used[domain] {
			out = append(out, fmt.Sprintf("%q %d", domain, version))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func nothing() io.Reader { return strings.NewReader("") }

func (p *lister) graph(g *onnx.Graph) {
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
	p.order(prefix, g)
	for i, v := range slices.Concat(g.Inputs, g.Outputs) {
		kind := "input"
		if i >= len(g.Inputs) {
			kind, i = "output", i-len(g.Inputs)
		}
		p.declared(kind, fmt.Sprintf("%s%d %s", prefix, i, v.Name), v)
	}
	for _, v := range g.ValueInfos {
		p.declared("type", prefix+v.Name, v)
	}
	for i, t := range g.Sparse {
		p.tensor(fmt.Sprintf("%ssparse %d values", prefix, i), t.Values)
		p.tensor(fmt.Sprintf("%ssparse %d indices", prefix, i), t.Indices)
	}
}

// order says whether every node stands behind those that it reads, as the standard
// demands (onnx/docs/IR.md, "Graphs").
func (p *lister) order(prefix string, g *onnx.Graph) {
	head, at := "every node stands behind those that it reads", report.Where{}
	makers := map[string]*onnx.Node{} // by the names that stand in the file, of nodes that do nothing as well
	for _, n := range g.Nodes {
		for _, o := range n.Outputs {
			makers[o] = n
		}
	}
	for _, n := range g.Nodes {
		for i := range n.Inputs {
			if from := makers[n.Written(i)]; from != nil && n.Written(i) != "" && !n.StandsBehind(from) { // which one does is no part of the model
				head, at = "a node stands before one that it reads", report.Where{Node: n.Title()}
			}
		}
	}
	p.add(position.Part{Kind: "order", Name: prefix + "nodes", Head: head, Where: at, Open: nothing})
}

// declared is what a graph says of a value: its type, and the sizes that are fixed.
func (p *lister) declared(kind, name string, v *onnx.ValueInfo) {
	var dims []int64
	said := []string{}
	for _, d := range v.Dims {
		dims = append(dims, max(d.Value, 0)) // 0: free
		if d.Value < 0 {
			said = append(said, "free")
		} else {
			said = append(said, strconv.FormatInt(d.Value, 10))
		}
	}
	p.add(position.Part{Kind: kind, Name: name, Head: fmt.Sprintf("%s %v", v.Type, said), Dims: dims, Declared: true, Open: nothing})
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

func (p *lister) tensor(name string, t *onnx.Tensor) {
	src, err := t.Source(0, t.Len())
	if err != nil {
		if src, err = t.WholeSource(); err != nil {
			p.err = err
			return
		}
	}
	part := position.Part{Kind: "tensor", Name: name, Head: fmt.Sprintf("%s %v", t.Type, t.Dims), Size: src.Size(), Open: src.Open,
		Where: p.of.Where(t), Sites: p.tensors[t], Dims: t.Dims, Position: p.tensors[t] != nil || strings.HasPrefix(t.Name, madePrefix)}
	if mask := trace.IsStoredMask(t); !part.Position && (mask || isLengthLike(t)) {
		part.Position = true
		part.Buffer = &position.Buffer{Dims: t.Dims, Width: t.Type.Bits() / 8, Integer: t.Type.IsInteger()}
	}
	if !part.Position && p.hasLength(t) { // it may follow the length, and belongs to no position
		part.Buffer = &position.Buffer{Dims: t.Dims, Width: t.Type.Bits() / 8, Float: true}
	}
	p.add(part)
}

// maxFolded bounds the numbers of a constant that may have been folded for a length.
const maxFolded = 1 << 24

// hasLength reports whether a constant of floating-point numbers has an axis of the
// fixed length of the model.
func (p *lister) hasLength(t *onnx.Tensor) bool {
	n := int64(p.of.FixedLength())
	return n > 1 && t.Type.IsFloat() && t.Type.Bits() <= 32 && slices.Contains(t.Dims, n) && t.Len() <= maxFolded
}

// madePrefix begins the names of nodes and constants that modelpatch adds.
const madePrefix = "modelpatch/"

func (p *lister) node(prefix string, n *onnx.Node) {
	name := prefix + n.Output(0)
	var attributes []string
	if a := n.Attribute("value"); n.Op == "Constant" && n.Domain == "" && a != nil && a.Tensor != nil {
		p.tensor(name, a.Tensor) // as an initializer of that name, which optimizers make of it
		return
	}
	made := strings.HasPrefix(n.Output(0), madePrefix)
	for _, a := range n.Attributes {
		if a.Tensor != nil {
			p.tensor(name+"."+a.Name, a.Tensor)
			continue
		}
		if a.Long {
			long := a.Source()
			p.add(position.Part{Kind: "attribute", Name: name + "." + a.Name, Size: long.Size(), Open: long.Open, Where: report.Where{Node: n.Title()}})
		}
		attributes = append(attributes, a.Name+"="+a.Text())
	}
	written := make([]string, len(n.Inputs))
	for i := range written {
		written[i] = n.Written(i)
	}
	inputs := strings.Join(slices.Concat(written, n.Outputs), ",")
	r := n.Range()
	p.add(position.Part{Kind: "node", Name: name, Head: fmt.Sprintf("%s.%s(%s)", n.Domain, n.Op, strings.Join(attributes, " ")),
		Size: int64(len(inputs)), Open: func() io.Reader { return strings.NewReader(inputs) },
		Wires: func() ([]string, []string) { return written, n.Outputs },
		Where: report.Where{Node: n.Title(), Range: &r}, Position: made || readsAdded(n)})
}

// readsAdded reports whether a node reads a value that modelpatch added.
func readsAdded(n *onnx.Node) bool {
	for i := range n.Inputs {
		if strings.HasPrefix(n.Written(i), madePrefix) {
			return true
		}
	}
	return false
}

// owners are the floating-point constants that belong to encodings
// (tables, caches, frequencies, masks and biases), with the sites that own them.
func owners(sites []site.Site) map[*onnx.Tensor][]int {
	out := map[*onnx.Tensor][]int{}
	for i, s := range sites {
		own := func(t *onnx.Tensor) {
			if t != nil && !slices.Contains(out[t], i) {
				out[t] = append(out[t], i)
			}
		}
		for _, t := range s.Owned() {
			own(t)
		}
	}
	return out
}

// leastSpan is the least tensor that DataSpans tells; smaller ones are as much
// structure as data.
const leastSpan = 4096

// DataSpans are the ranges of one of a model's files that hold tensor data.
func DataSpans(f *onnx.File, path string) [][2]int64 {
	var out [][2]int64
	f.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		at := f.Path
		if t.External() {
			at = filepath.Join(filepath.Dir(at), t.DataFile())
		}
		if r := t.Range(); at == path && r[1]-r[0] >= leastSpan {
			out = append(out, r)
		}
	})
	return out
}
