package onnx

import (
	"bytes"
	"cmp"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/patch"
)

// seeds are small models, malformed ones, and what the shared corpus has.
func seeds(f *testing.F, add func([]byte)) {
	models := small(f)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if len(models[name]) < 48<<10 {
			add(models[name])
		}
	}
	for _, c := range bad {
		if len(c.file) < 4096 {
			add(c.file)
		}
	}
	for _, pattern := range []string{"../../shared/badfiles/B*.onnx", "../../shared/corpus/onnx/hand-*.onnx", "../../shared/corpus/onnx/nodetests/*/model.onnx"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			if b, err := os.ReadFile(path); err == nil && len(b) < 20<<10 {
				add(b)
			}
		}
	}
}

// FuzzNewFile reads arbitrary bytes, and everything of what was taken for a
// model.
func FuzzNewFile(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b) })
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			if file != nil || err.Error() == "" {
				t.Fatal("an error with a file, or without words")
			}
			return
		}
		readAll(t, file)
	})
}

func readAll(t *testing.T, file *File) {
	file.Describe()
	file.CheckData()
	file.DataFiles()
	inside := func(r [2]int64) {
		if r[0] < 0 || r[0] > r[1] || r[1] > file.Size {
			t.Fatalf("range %v of a file of %d bytes", r, file.Size)
		}
	}
	file.Tensors(func(x *Tensor, _ *Graph) {
		x.Editable()
		if !x.External() {
			inside(x.Range())
		}
		if n := x.Len(); n <= 4*file.Size {
			x.Floats(0, n)
			x.Ints(0, n)
			x.NotFinite(n)
		}
		x.Raw(x.Len(), 1)
		x.Source(0, 1)
		if s, err := x.WholeSource(); err == nil {
			io.Copy(io.Discard, s.Open())
		}
	})
	file.Graphs(func(g *Graph) {
		for _, n := range g.Nodes {
			inside(n.Range())
			file.Function(n)
			for _, a := range n.Attributes {
				io.Copy(io.Discard, a.Source().Open())
			}
		}
	})
	io.Copy(io.Discard, file.Properties().Open())
}

// untouched are the encodings of what an editor was not asked to change.
type untouched struct {
	nodes, tensors, infos map[int]bool // changed ones, by their order in the file
	inFunction            bool         // it was asked for what would stand in a function's body
}

// contents lists the encoding of all nodes, tensors and declared values.
func contents(file *File, b []byte) (nodes, tensors, infos [][]byte) {
	for _, n := range inFile(file) {
		nodes = append(nodes, b[n.frame.start:n.frame.end])
	}
	file.Graphs(func(g *Graph) {
		for _, t := range g.Initializers {
			tensors = append(tensors, b[t.frame.start:t.frame.end])
		}
		for _, v := range slices.Concat(g.Inputs, g.Outputs, g.ValueInfos) {
			infos = append(infos, b[v.frame.start:v.frame.end])
		}
	})
	return nodes, tensors, infos
}

// inFile lists all nodes in the order in which they stand in the file, which is not always that in which they run.
func inFile(file *File) (nodes []*Node) {
	file.Graphs(func(g *Graph) { nodes = append(nodes, g.Nodes...) })
	slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.frame.start, b.frame.start) })
	return nodes
}

// FuzzEditor makes random changes of a model: the result must parse, and all
// that was not asked for must be there, byte for byte and in its order.
func FuzzEditor(f *testing.F) {
	seeds(f, func(b []byte) {
		f.Add(b, []byte{0, 0, 9, 1, 1, 200, 2, 2, 3, 3, 3, 3, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7})
		f.Add(b, []byte{2, 5, 5, 3, 6, 6, 4, 5, 5})
	})
	f.Fuzz(func(t *testing.T, b, script []byte) {
		file, err := NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		e, same, inserted := edit(file, script)
		file.Path = "m.onnx"
		p, err := e.Plan()
		if err != nil {
			_, external := err.(*ExternalError)
			if _, refused := err.(*UnsupportedError); external || refused && same.inFunction {
				return
			}
			t.Fatal(err)
		}
		if same.inFunction {
			t.Fatal("attributes or inputs of a call of a function that is an operator were written")
		}
		out, err := io.ReadAll(p.NewReader(0, bytes.NewReader(b)))
		if err != nil {
			t.Fatal(err)
		}
		after, err := NewFile(bytes.NewReader(out), int64(len(out)))
		if err != nil {
			t.Fatalf("the result does not parse: %v", err)
		}
		compare(t, file, b, after, out, same, inserted)
	})
}

// edit runs a script of three bytes a change.
func edit(file *File, script []byte) (*Editor, untouched, map[string]bool) {
	e := NewEditor(file)
	same := untouched{nodes: map[int]bool{}, tensors: map[int]bool{}, infos: map[int]bool{}}
	inserted := map[string]bool{}
	nodes := inFile(file)
	var tensors []*Tensor
	var infos []*ValueInfo
	file.Graphs(func(g *Graph) {
		tensors = append(tensors, g.Initializers...)
		infos = append(infos, slices.Concat(g.Inputs, g.Outputs, g.ValueInfos)...)
	})
	touch := func(n *Node) { // and the nodes in whose attributes it stands
		for ; n != nil; n = n.Graph.Owner {
			same.nodes[slices.Index(nodes, n)] = true
		}
	}
	set := map[string]bool{}
	once := func(key string, i int) bool { // attributes and dimensions are set once
		key += string(rune(i))
		was := set[key]
		set[key] = true
		return !was
	}
	for ; len(script) >= 3; script = script[3:] {
		op, i, v := script[0], int(script[1]), int(script[2])
		var n *Node
		if len(nodes) > 0 {
			n = nodes[i%len(nodes)]
		}
		switch {
		case op%8 == 0 && len(tensors) > 0:
			k := i % len(tensors)
			x := tensors[k]
			if x.External() || x.Type.Size(1) < 1 || e.Replaced(x) {
				continue
			}
			dims := []int64{int64(v), 3}
			if v%3 == 0 && x.Len() < 1<<16 {
				dims = x.Dims
			}
			size, _ := (&Tensor{Dims: dims}).elements()
			if e.ReplaceTensor(x, dims, patch.Zeros(x.Type.Size(size)), "fuzz") == nil {
				same.tensors[k] = true
				for i, v := range infos { // its default value
					same.infos[i] = same.infos[i] || v.Name == x.Name && slices.Contains(slices.Concat(file.Graph.Inputs, file.Graph.ValueInfos), v)
				}
				file.Graphs(func(g *Graph) {
					if slices.Contains(g.Initializers, x) {
						touch(g.Owner)
					}
				})
			}
		case op%8 == 1 && n != nil:
			e.RenameInput(n, v%6, "fuzz", "fuzz")
			same.inFunction = same.inFunction || n.calls && v%6 >= len(n.inputs)
			touch(n)
		case op%8 == 2 && n != nil:
			if once("a", i%len(nodes)) && len(n.Attributes) == 0 {
				e.SetInt(n, "fuzz", int64(v)<<v, "fuzz")
				same.inFunction = same.inFunction || n.calls
				touch(n)
			}
		case op%8 == 3 && n != nil:
			name := e.FreshName("fuzz")
			e.InsertNodes(n, []NewNode{{Op: name, Inputs: []string{"a"}, Outputs: []string{name}}}, "fuzz")
			inserted[name] = true
			touch(n.Graph.Owner)
		case op%8 == 4 && n != nil:
			e.AddInitializer(n.Graph, "fuzzed", Float, []int64{int64(v)}, make([]byte, 4*v), "fuzz")
			touch(n.Graph.Owner)
		case op%8 == 5 && len(infos) > 0:
			k := i % len(infos)
			if d := infos[k].Dims; len(d) > 0 && !e.dropped[infos[k]] && !same.infos[k] && once("d", k) {
				e.SetDim(infos[k], v%len(d), int64(v)<<(v%50), "fuzz")
				same.infos[k] = true
			}
		case op%8 == 6 && len(nodes) > 0:
			if once("f", i%len(nodes)) && n.Attribute("fuzzy") == nil {
				e.SetFloat(n, "fuzzy", float32(v), "fuzz")
				same.inFunction = same.inFunction || n.calls
				touch(n)
			}
		}
	}
	// Values in sub-graphs are part of their node.
	for k, v := range infos {
		if same.infos[k] {
			file.Graphs(func(g *Graph) {
				if slices.Contains(slices.Concat(g.Inputs, g.Outputs, g.ValueInfos), v) {
					touch(g.Owner)
				}
			})
		}
	}
	return e, same, inserted
}

func compare(t *testing.T, before *File, b []byte, after *File, out []byte, same untouched, inserted map[string]bool) {
	nodesA, tensorsA, infosA := contents(before, b)
	var nodesB, tensorsB, infosB [][]byte
	for _, n := range inFile(after) {
		if !inserted[n.Op] && n.Name != "modelpatch/Constant" && !bytes.Contains([]byte(n.Name), []byte("modelpatch/Constant_")) {
			nodesB = append(nodesB, out[n.frame.start:n.frame.end])
		}
	}
	after.Graphs(func(g *Graph) {
		for _, x := range g.Initializers {
			if len(x.Name) < 6 || x.Name[:6] != "fuzzed" {
				tensorsB = append(tensorsB, out[x.frame.start:x.frame.end])
			}
		}
		for _, v := range slices.Concat(g.Inputs, g.Outputs, g.ValueInfos) {
			if len(v.Name) < 6 || v.Name[:6] != "fuzzed" {
				infosB = append(infosB, out[v.frame.start:v.frame.end])
			}
		}
	})
	for _, c := range []struct {
		what    string
		a, b    [][]byte
		changed map[int]bool
	}{{"nodes", nodesA, nodesB, same.nodes}, {"tensors", tensorsA, tensorsB, same.tensors}, {"values", infosA, infosB, same.infos}} {
		if len(c.a) != len(c.b) {
			t.Fatalf("%d %s became %d", len(c.a), c.what, len(c.b))
		}
		for i := range c.a {
			if !c.changed[i] && !bytes.Equal(c.a[i], c.b[i]) {
				t.Fatalf("%s %d changed: %x became %x", c.what, i, c.a[i], c.b[i])
			}
		}
	}
}
