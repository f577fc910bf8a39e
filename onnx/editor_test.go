package onnx

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/patch"
)

// rows is little-endian float32 data of n numbers from first on.
func rows(first, n int) []byte { return floats32(first + n)[4*first:] }

// floatsOf reads a whole tensor.
func floatsOf(t *testing.T, x *Tensor) []float64 {
	t.Helper()
	v, err := x.Floats(0, x.Len())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func counts(v []float64, n int) bool {
	if len(v) != n {
		return false
	}
	for i, x := range v {
		if x != float64(i) {
			return false
		}
	}
	return true
}

// unknown is a field that no version of the format has, at any level.
var unknown = append(append(protowire.AppendTag(nil, 900, protowire.StartGroupType), num(3, 4)...), protowire.AppendTag(nil, 900, protowire.EndGroupType)...)

// TestReplaceTensor gives a table of 8 rows other rows, however it is stored.
func TestReplaceTensor(t *testing.T) {
	packed := protowire.AppendVarint(protowire.AppendVarint(nil, 8), 4)
	forms := map[string][]byte{
		"raw":           modelOf(nodeOf("Gather", []string{"w", "i"}, []string{"o"}), table(raw(32)), unknown),
		"raw first":     modelOf(msg(5, raw(32), txt(8, "w"), num(2, 1), num(1, 8), unknown, num(1, 4)), unknown),
		"float_data":    modelOf(table(msg(4, floats32(32)), unknown)),
		"split data":    modelOf(table(msg(4, floats32(32)[:64]), unknown, msg(4, floats32(32)[64:]))),
		"dims packed":   modelOf(msg(5, msg(1, packed), num(2, 1), txt(8, "w"), raw(32), unknown)),
		"dims half":     modelOf(msg(5, num(1, 8), unknown, num(2, 1), txt(8, "w"), raw(32), msg(1, protowire.AppendVarint(nil, 4)))),
		"raw twice":     modelOf(table(msg(9, make([]byte, 128)), unknown, raw(32))),
		"graph twice":   append(append(modelOf(nodeOf("X", nil, nil), unknown), msg(7, unknown, table(raw(32)))...), unknown...),
		"constant":      modelOf(nodeOf("Constant", nil, []string{"w"}, msg(5, txt(1, "value"), msg(5, num(1, 8), num(1, 4), num(2, 1), raw(32)), num(20, 4))), unknown),
		"in a branch":   modelOf(nodeOf("If", []string{"c"}, []string{"o"}, unknown, msg(5, txt(1, "then_branch"), msg(6, table(raw(32)), unknown), num(20, 5)))),
		"in a function": append(modelOf(), msg(25, txt(1, "f"), msg(7, txt(2, "w"), txt(4, "Constant"), msg(5, txt(1, "value"), msg(5, num(1, 8), num(1, 4), num(2, 1), raw(32)))), unknown)...),
		"long prefixes": append(bytes.Clone(irAndOpset), padded(7, append(padded(5, bytes.Join([][]byte{num(1, 8), num(1, 4), num(2, 1), txt(8, "w"), padded(9, floats32(32)), unknown}, nil)), unknown...))...),
	}
	for name, b := range forms {
		for _, n := range []int{4, 8, 9, 40, 5000} {
			f := open(t, b)
			x := theTable(f)
			e := NewEditor(f)
			if err := e.ReplaceTensor(x, []int64{int64(n), 4}, patch.Bytes(floats32(4*n)), "test"); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out := applied(t, e, b)
			g := open(t, out)
			y := theTable(g)
			if !slices.Equal(y.Dims, []int64{int64(n), 4}) || !counts(floatsOf(t, y), 4*n) {
				t.Errorf("%s, %d rows: %v", name, n, y.Dims)
			}
			if got, want := bytes.Count(out, unknown), bytes.Count(b, unknown); got != want {
				t.Errorf("%s: %d unknown fields, had %d", name, got, want)
			}
			// Going back gives the same numbers, and the same size where the
			// form was raw data.
			back := NewEditor(g)
			if err := back.ReplaceTensor(y, []int64{8, 4}, patch.Bytes(floats32(32)), "back"); err != nil {
				t.Fatal(err)
			}
			if again := applied(t, back, out); name == "raw" && !bytes.Equal(again, b) {
				t.Errorf("%s: back is not what was there", name)
			}
		}
	}
}

// padded is a field whose length prefix has five bytes, as some writers leave
// them that fill the length in later.
func padded(n protowire.Number, content []byte) []byte {
	b := protowire.AppendTag(nil, n, protowire.BytesType)
	l := len(content)
	b = append(b, byte(l&127|128), byte(l>>7&127|128), byte(l>>14&127|128), byte(l>>21&127|128), 0)
	return append(b, content...)
}

// theTable is the one float tensor of a test model.
func theTable(f *File) *Tensor {
	var found *Tensor
	f.Tensors(func(t *Tensor, _ *Graph) {
		if t.Type == Float && len(t.Dims) == 2 {
			found = t
		}
	})
	return found
}

// TestReplaceDefault: a constant that is an input as well is declared with its new dimensions.
func TestReplaceDefault(t *testing.T) {
	m := NewModel{Opset: 17, Inputs: []NewValue{{Name: "x", Type: Float, Dims: []int64{8, 4}}, {Name: "w", Type: Float, Dims: []int64{8, 4}}}, Outputs: []NewValue{{Name: "y", Type: Float, Dims: []int64{-1, 4}}},
		Initializers: []NewTensor{{Name: "w", Type: Float, Dims: []int64{8, 4}, Raw: floats32(32)}}, Nodes: []NewNode{{Op: "Identity", Inputs: []string{"w"}, Outputs: []string{"y"}}}}
	b := m.Build()
	beside := NewEditor(open(t, b)) // some tools declare constants among values
	beside.AddValueInfo(beside.File().Graph, NewValue{Name: "w", Type: Float, Dims: []int64{8, 4}}, "declared")
	b = applied(t, beside, b)
	e := NewEditor(open(t, b))
	if err := e.ReplaceTensor(e.File().Graph.Initializers[0], []int64{9, 4}, patch.Bytes(floats32(36)), "nine rows"); err != nil {
		t.Fatal(err)
	}
	for _, v := range e.File().Graph.ValueInfos {
		e.DropValueInfo(v, "it is declared anew")
	}
	g := open(t, applied(t, e, b)).Graph
	if inputs := g.Inputs; inputs[0].Dims[0].Value != 8 || inputs[1].Dims[0].Value != 9 || inputs[1].Dims[1].Value != 4 {
		t.Errorf("%v and %v", inputs[0].Dims, inputs[1].Dims)
	}
	if len(g.ValueInfos) != 1 || g.ValueInfos[0].Dims[0].Value != 9 {
		t.Errorf("%v", g.ValueInfos)
	}
	for _, size := range []int64{7, -1} { // what another change gave the declaration before stays
		e := NewEditor(open(t, b))
		for _, v := range []*ValueInfo{e.File().Graph.Inputs[1], e.File().Graph.ValueInfos[0]} {
			if size < 0 {
				e.FreeDim(v, 0, "any size")
			} else {
				e.SetDim(v, 0, size, "a size")
			}
		}
		if err := e.ReplaceTensor(e.File().Graph.Initializers[0], []int64{9, 4}, patch.Bytes(floats32(36)), "nine rows"); err != nil {
			t.Fatal(err)
		}
		g := open(t, applied(t, e, b)).Graph
		if in, beside := g.Inputs[1].Dims[0], g.ValueInfos[0].Dims[0]; in.Value != size || beside.Value != size {
			t.Errorf("declared %d: %v and %v", size, in, beside)
		}
	}
}

// TestReplaceTwice drops a repeat and refuses a contradiction.
func TestReplaceTwice(t *testing.T) {
	b := modelOf(table(raw(32)))
	f := open(t, b)
	e := NewEditor(f)
	w := f.Graph.Initializers[0]
	for range 2 {
		if err := e.ReplaceTensor(w, []int64{9, 4}, patch.Bytes(floats32(36)), "nine rows"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dims []int64
		data []byte
	}{{[]int64{10, 4}, floats32(40)}, {[]int64{9, 4}, rows(1, 36)}, {[]int64{36}, floats32(36)}} {
		var ue *UnsupportedError
		if err := e.ReplaceTensor(w, c.dims, patch.Bytes(c.data), "nine rows"); !errors.As(err, &ue) {
			t.Errorf("%v: %v", c.dims, err)
		}
	}
	if x := theTable(open(t, applied(t, e, b))); !counts(floatsOf(t, x), 36) {
		t.Error("the first change is not there")
	}
	for name, c := range map[string]struct {
		dims []int64
		data []byte
	}{"bytes short": {[]int64{9, 4}, floats32(35)}, "negative": {[]int64{-9, -4}, floats32(36)}, "overflow": {[]int64{1 << 40, 1 << 40}, nil}} {
		if err := NewEditor(f).ReplaceTensor(w, c.dims, patch.Bytes(c.data), "bad"); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestNotEditable(t *testing.T) {
	for name, b := range map[string][]byte{
		"raw and typed": modelOf(table(raw(32), msg(4, floats32(32)))),
		"segment":       modelOf(table(raw(32), msg(3, num(1, 0)))),
		"strings":       modelOf(msg(5, num(1, 1), num(2, 8), txt(8, "w"), msg(6, []byte("x")))),
		"unknown type":  modelOf(msg(5, num(1, 1), num(2, 99), txt(8, "w"), msg(9, []byte("x")))),
	} {
		f := open(t, b)
		var ue *UnsupportedError
		if err := NewEditor(f).ReplaceTensor(f.Graph.Initializers[0], []int64{1}, patch.Bytes([]byte("y")), "x"); !errors.As(err, &ue) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRenameInput renames inputs that are there and adds those that are not.
func TestRenameInput(t *testing.T) {
	for _, c := range []struct {
		had    []string
		rename []string // "i=name"
		want   []string
	}{
		{[]string{"a", "b", "c"}, []string{"1=x"}, []string{"a", "x", "c"}},
		{[]string{"a", "b"}, []string{"1=x", "1=y"}, []string{"a", "y"}},
		{[]string{"a", "b"}, []string{"0=" + strings.Repeat("long", 50)}, []string{strings.Repeat("long", 50), "b"}},
		{[]string{"a"}, []string{"3=x"}, []string{"a", "", "", "x"}},
		{[]string{"a"}, []string{"4=x", "2=y"}, []string{"a", "", "y", "", "x"}},
		{nil, []string{"1=x"}, []string{"", "x"}},
		{[]string{"a", ""}, []string{"1=x", "2=y"}, []string{"a", "x", "y"}},
	} {
		b := modelOf(nodeOf("First", []string{"q"}, []string{"p"}), nodeOf("X", c.had, []string{"o"}, unknown), nodeOf("Last", nil, []string{"z"}))
		f := open(t, b)
		e := NewEditor(f)
		for _, r := range c.rename {
			var i int
			name := r[2:]
			fmt.Sscanf(r, "%d=", &i)
			e.RenameInput(f.Graph.Nodes[1], i, name, "test")
		}
		if !e.Changed() {
			t.Error("a rename is no change")
		}
		out := applied(t, e, b)
		g := open(t, out)
		if got := g.Graph.Nodes[1].Inputs; !slices.Equal(got, c.want) || !bytes.Contains(out, unknown) {
			t.Errorf("%v with %v: %q, want %q", c.had, c.rename, got, c.want)
		}
		if g.Graph.Nodes[0].Op != "First" || g.Graph.Nodes[2].Op != "Last" {
			t.Error("neighbours changed")
		}
	}
}

// TestSamePlace lets several changes meet at one byte: the end of a node is the
// start of the next, and the end of the last is that of its graph.
func TestSamePlace(t *testing.T) {
	b := modelOf(nodeOf("A", []string{"x"}, []string{"y"}), nodeOf("B", []string{"y"}, []string{"z"}))
	orders := [][]int{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}}
	var first []byte
	for _, order := range orders {
		f := open(t, b)
		e := NewEditor(f)
		a, z := f.Graph.Nodes[0], f.Graph.Nodes[1]
		steps := []func(){
			func() { e.SetInt(a, "axis", 3, "test") },
			func() {
				e.InsertNodes(z, []NewNode{{Op: "New", Inputs: []string{"y"}, Outputs: []string{"y2"}}}, "test")
			},
			func() { e.SetFloat(z, "alpha", 0.5, "test") },
			func() { e.AddInitializer(f.Graph, "c", Float, []int64{1}, floats32(1), "test") },
			func() { e.RenameInput(z, 0, "y2", "test") },
		}
		for _, i := range order {
			steps[i]()
		}
		out := applied(t, e, b)
		g := open(t, out).Graph
		if len(g.Nodes) != 3 || g.Nodes[0].Int("axis", 0) != 3 || g.Nodes[1].Op != "New" || g.Nodes[2].Input(0) != "y2" ||
			g.Nodes[2].Float("alpha", 0) != 0.5 || len(g.Initializers) != 1 || g.Initializers[0].Name != "c" {
			t.Errorf("order %v: %d nodes, %+v", order, len(g.Nodes), g.Nodes)
		}
		if first == nil {
			first = out
		} else if !bytes.Equal(out, first) {
			t.Errorf("order %v gives other bytes", order)
		}
	}
}

// TestAttributes sets attributes that are there and that are not.
func TestAttributes(t *testing.T) {
	b := modelOf(nodeOf("X", []string{"a"}, []string{"b"}, msg(5, txt(1, "i"), num(3, 5), num(20, 2), unknown), msg(5, txt(1, "l"), num(8, 1), num(8, 2), num(20, 7)), msg(5, txt(1, "keep"), txt(4, "me"), num(20, 3))))
	f := open(t, b)
	e := NewEditor(f)
	n := f.Graph.Nodes[0]
	e.SetInt(n, "i", -9, "t")
	e.SetFloat(n, "f", 0.5, "t")
	e.SetInt(n, "new", 1<<40, "t")
	m := open(t, applied(t, e, b)).Graph.Nodes[0]
	if m.Int("i", 0) != -9 || !slices.Equal(m.Ints("l"), []int64{1, 2}) || m.Float("f", 0) != 0.5 || m.Int("new", 0) != 1<<40 || string(m.Attribute("keep").S) != "me" || len(m.Attributes) != 5 {
		t.Errorf("%+v", m.Attributes)
	}
	for name, kind := range map[string]int{"i": 2, "f": 1} {
		if got := m.Attribute(name).Type; got != kind {
			t.Errorf("%s is of type %d, want %d", name, got, kind)
		}
	}
}

func value(n protowire.Number, name string, dims ...[]byte) []byte {
	return msg(n, txt(1, name), msg(2, msg(1, num(1, 1), msg(2, dims...))))
}

// TestDims fixes dimensions that were numbers, names or nothing.
func TestDims(t *testing.T) {
	b := modelOf(nodeOf("X", []string{"in"}, []string{"mid"}), value(11, "in", msg(1, num(1, 5), txt(3, "DATA_BATCH")), msg(1, txt(2, "seq")), msg(1)),
		value(13, "mid", msg(1, num(1, 5))), value(13, "other", msg(1, num(1, 6))), value(12, "out", msg(1)))
	f := open(t, b)
	e := NewEditor(f)
	in := f.Graph.Inputs[0]
	for i := range 3 {
		e.SetDim(in, i, int64(100+i), "t")
	}
	e.SetDim(f.Graph.Outputs[0], 0, 1<<40, "t")
	e.AddInitializer(f.Graph, "c", Float, nil, floats32(1), "at the byte where the last dimension ends")
	for range 2 {
		e.DropValueInfo(f.Graph.ValueInfos[0], "t")
	}
	out := applied(t, e, b)
	g := open(t, out).Graph
	for i := range 3 {
		if d := g.Inputs[0].Dims[i]; d.Value != int64(100+i) || d.Param != "" {
			t.Errorf("dimension %d: %+v", i, d)
		}
	}
	if !bytes.Contains(out, txt(3, "DATA_BATCH")) {
		t.Error("a dimension's denotation is gone")
	}
	if g.Outputs[0].Dims[0].Value != 1<<40 || len(g.ValueInfos) != 1 || g.ValueInfos[0].Name != "other" || len(g.Initializers) != 1 {
		t.Errorf("%+v", g)
	}
}

// TestAddAndInsert adds to main graphs, branches and functions.
func TestAddAndInsert(t *testing.T) {
	branch := msg(5, txt(1, "then_branch"), msg(6, nodeOf("Inner", []string{"x"}, []string{"o"}), unknown), num(20, 5))
	b := append(modelOf(nodeOf("If", []string{"c"}, []string{"o"}, branch), table(raw(32))), msg(25, txt(1, "f"), txt(4, "in"), txt(5, "out"), msg(7, nodeOf("X", []string{"in"}, []string{"out"})[2:]), txt(10, "local"))...)
	f := open(t, b)
	e := NewEditor(f)
	inner := f.Graph.Nodes[0].Attributes[0].Graph
	body := f.Functions[0].Graph
	names := map[string]bool{}
	for _, g := range []*Graph{f.Graph, inner, body} {
		name := e.AddInitializer(g, "w", Float, []int64{2}, floats32(2), "t") // w, o, x, in and out are taken
		names[name] = true
		e.InsertNodes(g.Nodes[0], []NewNode{{Op: "N1", Inputs: []string{name}, Outputs: []string{e.FreshName("o")}},
			{Op: "N2", Domain: "custom", Attributes: []NewAttribute{{"s", "text"}, {"f", float32(2)}, {"i", int64(3)}, {"l", []int64{4, 5}}}}}, "t")
		e.RenameInput(g.Nodes[0], 0, name, "t")
	}
	if len(names) != 3 || names["w"] {
		t.Errorf("names %v", names)
	}
	out := applied(t, e, b)
	h := open(t, out)
	if h.Graph.Nodes[0].Op != "N1" || h.Graph.Nodes[1].Op != "N2" || h.Graph.Nodes[2].Op != "If" || len(h.Graph.Initializers) != 2 {
		t.Errorf("main graph %+v", h.Graph.Nodes)
	}
	in := h.Graph.Nodes[2].Attributes[0].Graph
	if len(in.Nodes) != 3 || in.Nodes[2].Op != "Inner" || len(in.Initializers) != 1 || in.Nodes[2].Input(0) != in.Initializers[0].Name || !bytes.Contains(out, unknown) {
		t.Errorf("branch %+v", in.Nodes)
	}
	fn := h.Functions[0]
	if len(fn.Graph.Nodes) != 4 || fn.Graph.Nodes[0].Op != "Constant" || fn.Graph.Nodes[3].Input(0) != fn.Graph.Nodes[0].Output(0) || !slices.Equal(fn.Outputs, []string{"out"}) {
		t.Errorf("function %v %+v", fn.Outputs, fn.Graph.Nodes)
	}
	if c := fn.Graph.Nodes[0].Attribute("value"); c == nil || c.Type != 4 || !counts(floatsOf(t, c.Tensor), 2) {
		t.Errorf("function's constant %+v", c)
	}
	n2 := h.Graph.Nodes[1]
	if n2.Domain != "custom" || string(n2.Attribute("s").S) != "text" || n2.Float("f", 0) != 2 || n2.Int("i", 0) != 3 || !slices.Equal(n2.Ints("l"), []int64{4, 5}) {
		t.Errorf("new node %+v", n2)
	}
	seen := map[string]bool{}
	for _, n := range h.Graph.Nodes {
		if seen[n.Name] && n.Name != "" {
			t.Errorf("two nodes are named %q", n.Name)
		}
		seen[n.Name] = true
	}
}

// TestOldInitializers declares new constants as inputs where the format's
// version wants that.
func TestOldInitializers(t *testing.T) {
	b := append(append(num(1, 3), irAndOpset[2:]...), msg(7, nodeOf("X", nil, nil))...)
	f := open(t, b)
	e := NewEditor(f)
	e.AddInitializer(f.Graph, "c", Float, []int64{2}, floats32(2), "t")
	if g := open(t, applied(t, e, b)).Graph; len(g.Inputs) != 1 || g.Inputs[0].Name != "c" || g.Inputs[0].Dims[0].Value != 2 {
		t.Errorf("%+v", g.Inputs)
	}
}

// TestExternalReplace changes tables in data files.
func TestExternalReplace(t *testing.T) {
	tensor := func(name, file string, offset string, more ...string) []byte {
		return msg(5, num(1, 8), num(1, 4), num(2, 1), txt(8, name), ext(append([]string{"location", file, "offset", offset}, more...)...), unknown)
	}
	dir := t.TempDir()
	src := filepath.Join(dir, "m.onnx")
	write(t, src, modelOf(tensor("a", "one.bin", "0"), tensor("b", "one.bin", "128", "length", "128", "checksum", "0123"),
		tensor("c", "sub/two.bin", "0"), tensor("d", "sub/two.bin", "0"), tensor("e", "./one.bin", "256")))
	write(t, filepath.Join(dir, "one.bin"), bytes.Repeat(floats32(32), 3))
	write(t, filepath.Join(dir, "sub/two.bin"), floats32(32))

	f, err := Open(src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := NewEditor(f)
	w := f.Graph.Initializers
	for i, n := range map[int]int{0: 12, 1: 8, 2: 20} { // grown; the same size; grown and shared
		if err := e.ReplaceTensor(w[i], []int64{int64(n), 4}, patch.Bytes(rows(1000*i, 4*n)), "t"); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.ReplaceTensor(w[3], []int64{8, 4}, patch.Bytes(rows(7, 32)), "t"); err != nil { // the same size, shared
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(out, "new.onnx")
	e.NameData(target)
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patch.WriteNew(context.Background(), p, target, patch.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	g, err := Open(target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for i, want := range []struct{ first, n int }{{0, 48}, {1000, 32}, {2000, 80}, {7, 32}, {0, 32}} {
		x := g.Graph.Initializers[i]
		v := floatsOf(t, x)
		if len(v) != want.n || v[0] != float64(want.first) || v[want.n-1] != float64(want.first+want.n-1) {
			t.Errorf("%s: %d numbers from %v, want %d from %d", x.Name, len(v), v[0], want.n, want.first)
		}
		if _, ok := x.entries["checksum"]; ok {
			t.Errorf("%s keeps the digest of what was there", x.Name)
		}
	}
	var names []string
	for _, d := range g.DataFiles() {
		names = append(names, d.Location)
		if d.Err != nil {
			t.Error(d.Err)
		}
	}
	if !slices.Equal(names, []string{"new.onnx.data", "new.onnx.data.1"}) {
		t.Errorf("data files %v", names)
	}
	for name, want := range map[string][]byte{"one.bin": bytes.Repeat(floats32(32), 3), "sub/two.bin": floats32(32)} {
		if b, _ := os.ReadFile(filepath.Join(dir, name)); !bytes.Equal(b, want) {
			t.Errorf("the source's %s changed", name)
		}
	}
}

// TestSameBaseNames plans for two data files of one name in two folders.
func TestSameBaseNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "m.onnx"), modelOf(table(ext("location", "a/w.bin")), msg(5, num(1, 1), num(2, 1), txt(8, "v"), ext("location", "b/w.bin"))))
	write(t, filepath.Join(dir, "a/w.bin"), floats32(32))
	write(t, filepath.Join(dir, "b/w.bin"), floats32(32))
	f, err := Open(filepath.Join(dir, "m.onnx"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := NewEditor(f)
	if err := e.ReplaceTensor(f.Graph.Initializers[0], []int64{8, 4}, patch.Bytes(rows(1, 32)), "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Plan(); err != nil {
		t.Error(err)
	}
}

// TestTooLarge refuses a model file that readers of protobuf would not take.
func TestTooLarge(t *testing.T) {
	b := modelOf(table(raw(32)))
	f := open(t, b)
	f.Path = "m.onnx"
	e := NewEditor(f)
	if err := e.ReplaceTensor(f.Graph.Initializers[0], []int64{1 << 27, 4}, patch.Zeros(1<<31), "t"); err != nil {
		t.Fatal(err)
	}
	var ue *UnsupportedError
	if _, err := e.Plan(); !errors.As(err, &ue) {
		t.Errorf("planned: %v", err)
	}
}

// TestExternalUnread removes a constant of a data file that gets another name: of what
// is gone nothing is renamed.
func TestExternalUnread(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "m.onnx")
	tensor := func(name, offset string) []byte {
		return msg(5, num(1, 8), num(1, 4), num(2, 1), txt(8, name), ext("location", "one.bin", "offset", offset))
	}
	write(t, src, modelOf(tensor("dead", "0"), tensor("kept", "128"), nodeOf("Add", []string{"kept", "dead"}, []string{"y"})))
	write(t, filepath.Join(dir, "one.bin"), make([]byte, 256))
	f, err := Open(src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := NewEditor(f)
	e.RenameInput(f.Graph.Nodes[0], 1, "kept", "t")
	e.RemoveUnread("t")
	target := filepath.Join(dir, "new.onnx")
	e.NameData(target)
	p, err := e.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := patch.WriteNew(context.Background(), p, target, patch.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	g, err := Open(target, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if len(g.Graph.Initializers) != 1 || g.Graph.Initializers[0].Name != "kept" || len(g.DataFiles()) != 1 || g.DataFiles()[0].Location != "new.onnx.data" {
		t.Errorf("%d constants are left, in %v", len(g.Graph.Initializers), g.DataFiles())
	}
}
