package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// bad lists files that must be refused, with words of the error and the byte
// that it names (−1: any).
var bad = []struct {
	name   string
	file   []byte
	want   string
	offset int64
}{
	{"empty", nil, "graph: missing", 0},
	{"no graph", irAndOpset, "graph: missing", int64(len(irAndOpset))},
	{"no IR version", append(msg(8, txt(1, ""), num(2, 17)), msg(7)...), "ir_version: missing", -1},
	{"no operator set", append(num(1, 8), msg(7)...), "opset_import: missing", -1},
	{"graph of another wire type", append(bytes.Clone(irAndOpset), num(7, 3)...), "graph: missing", -1},
	{"number of 11 bytes", append(num(1, 8), bytes.Repeat([]byte{0xff}, 11)...), "more than 10 bytes", 2},
	{"number cut off", append(num(1, 8), 0x80), "cut off", 2},
	{"field number 0", append(modelOf(), 0, 0, 0), "zero bytes", int64(len(modelOf()))},
	{"field number 2^29", append(num(1, 8), protowire.AppendVarint(nil, 1<<32)...), "not a field", 2},
	{"length past the end", append(num(1, 8), lie(7, 1000, []byte("abc"))...), "graph: a field claims 1000 bytes and 3 are left", 3},
	{"length 2^63", append(num(1, 8), lie(7, 1<<63, []byte("x"))...), "claims 9223372036854775808 bytes and 1 are left", 3},
	{"length 2^64-1", append(num(1, 8), lie(7, 1<<64-1, []byte("x"))...), "claims 18446744073709551615", 3},
	{"length past the parent", modelOf(lie(5, 100, []byte("x")), []byte{}), "graph.initializer: a field claims 100 bytes and 1 are left", -1},
	{"group without end", append(modelOf(), protowire.AppendTag(nil, 3000, protowire.StartGroupType)...), "a group does not end", -1},
	{"end without group", append(modelOf(), protowire.AppendTag(nil, 3000, protowire.EndGroupType)...), "what stands here is no field of protobuf", int64(len(modelOf()))},
	{"group ended by another", append(modelOf(), protowire.AppendTag(protowire.AppendTag(nil, 3000, protowire.StartGroupType), 3001, protowire.EndGroupType)...), "a group ends that did not start", -1},
	{"groups 20000 deep", append(modelOf(), bytes.Repeat(protowire.AppendTag(nil, 3000, protowire.StartGroupType), 20000)...), "groups nested more than 100 deep", -1},
	{"wire type 6", append(num(1, 8), 0x0e), "no field of protobuf", 2},
	{"dimension -8", modelOf(msg(5, num(1, 1<<64-8), num(1, 1<<64-4), num(2, 1), txt(8, "w"), raw(32))), `initializer[0]: tensor "w": dimensions [-8 -4] are negative`, -1},
	{"dimensions wrap", modelOf(msg(5, num(1, 1<<61+8), num(1, 4), num(2, 1), txt(8, "w"), raw(32))), "does not fit", -1},
	{"dimensions 2^33 by 2^31", modelOf(msg(5, num(1, 1<<33), num(1, 1<<31), num(2, 1), txt(8, "w"), raw(1))), "does not fit", -1},
	{"raw data short", modelOf(table(raw(31))), `initializer[0]: tensor "w": 124 bytes of raw data, and [8 4] of float32 need 128`, -1},
	{"raw data long", modelOf(table(raw(33))), "132 bytes of raw data", -1},
	{"no type", modelOf(msg(5, num(1, 8), txt(8, "w"))), `tensor "w": no data type`, -1},
	{"location twice", modelOf(table(ext("location", "a", "location", "b"))), `external_data: key "location" occurs twice`, -1},
	{"external keys", modelOf(table(ext(manyPairs(65)...))), "more than 64 keys", -1},
	{"packed floats cut", modelOf(nodeOf("X", nil, []string{"y"}, msg(5, txt(1, "f"), msg(7, []byte("abcde"))))), "5 bytes of packed float32", -1},
	{"packed integers cut", modelOf(nodeOf("X", nil, []string{"y"}, msg(5, txt(1, "i"), msg(8, []byte{1, 0x80})))), "cut off", -1},
	{"functions in a circle", append(append(modelOf(), function("f", "g")...), function("g", "f")...), "call each other in a circle", -1},
	{"function calls itself", append(modelOf(), function("f", "f")...), "call each other in a circle", -1},
	{"functions 2000 deep", append(modelOf(), chain(2000)...), "functions nested more than 1000 deep", -1},
	{"graphs 400 deep", modelOf(nest(400)), "messages nested more than 100 deep", -1},
	{"name of 2 MiB", modelOf(msg(5, txt(8, strings.Repeat("n", 2<<20)))), "at most 1048576 make sense", -1},
}

// manyValues is a node that makes n values.
func manyValues(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, txt(2, fmt.Sprint(i))...)
	}
	return msg(1, b)
}

func manyPairs(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprint("k", i), "v")
	}
	return out
}

// function is a model-local function that calls another.
func function(name, callee string) []byte {
	node := appendText(appendText(nil, 4, callee), 7, "local")
	return msg(25, txt(1, name), msg(7, node), txt(10, "local"))
}

func chain(n int) []byte {
	var b []byte
	for i := range n {
		b = append(b, function(fmt.Sprint("f", i), fmt.Sprint("f", i+1))...)
	}
	return b
}

// nest is a node with a graph of a node with a graph and so on.
func nest(n int) []byte {
	node := nodeOf("X", nil, []string{"y"})
	for range n {
		node = nodeOf("If", nil, []string{"y"}, msg(5, txt(1, "then_branch"), msg(6, node), num(20, 5)))
	}
	return node
}

func TestBadInputs(t *testing.T) {
	for _, c := range bad {
		f, err := NewFile(bytes.NewReader(c.file), int64(len(c.file)))
		if err == nil {
			t.Errorf("%s: read: %+v", c.name, f)
			continue
		}
		var fe *FormatError
		if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
			continue
		}
		if c.offset >= 0 && fe.Offset != c.offset {
			t.Errorf("%s: byte %d, want %d", c.name, fe.Offset, c.offset)
		}
	}
}

// TestPrefixes cuts a model at every byte: no prefix is a model.
func TestPrefixes(t *testing.T) {
	b := append(bytes.Clone(irAndOpset[:2]), msg(7, nodeOf("Gather", []string{"w", "i"}, []string{"o"}), table(raw(32)))...)
	b = append(b, irAndOpset[2:]...)
	open(t, b)
	for n := range b {
		if _, err := NewFile(bytes.NewReader(b[:n]), int64(n)); err == nil {
			t.Errorf("the first %d of %d bytes were read", n, len(b))
		}
	}
}

// TestGoodOddities reads files that are unusual and right.
func TestGoodOddities(t *testing.T) {
	unknown := bytes.Join([][]byte{num(3000, 5), protowire.AppendFixed64(protowire.AppendTag(nil, 3001, protowire.Fixed64Type), 7),
		msg(3002, []byte("x")), protowire.AppendFixed32(protowire.AppendTag(nil, 3003, protowire.Fixed32Type), 7),
		protowire.AppendTag(num3004(), 3004, protowire.EndGroupType)}, nil)
	packed := protowire.AppendVarint(protowire.AppendVarint(nil, 8), 4)
	for _, c := range []struct {
		name  string
		file  []byte
		check func(f *File) bool
	}{
		{"unknown fields everywhere", append(modelOf(table(raw(32), unknown), unknown), unknown...), func(f *File) bool { return f.Graph.Initializers[0].Len() == 32 }},
		{"dimensions packed", modelOf(msg(5, msg(1, packed), num(2, 1), txt(8, "w"), raw(32))), func(f *File) bool { return f.Graph.Initializers[0].Dims[1] == 4 }},
		{"graph twice", append(modelOf(nodeOf("X", nil, nil)), msg(7, table(raw(32)))...), func(f *File) bool { return len(f.Graph.Nodes) == 1 && len(f.Graph.Initializers) == 1 }},
		{"raw data twice", modelOf(table(msg(9, make([]byte, 128)), raw(32))), func(f *File) bool { x, _ := f.Graph.Initializers[0].Floats(1, 1); return x[0] == 1 }},
		{"element type 99", modelOf(msg(5, num(1, 8), num(2, 99), txt(8, "w"), msg(9, []byte("any")))), func(f *File) bool { return f.Graph.Initializers[0].Editable() != "" }},
		{"IR version 99", append(append(num(1, 99), irAndOpset[2:]...), msg(7)...), func(f *File) bool { return f.IRVersion == 99 }},
		{"initializer twice", modelOf(table(raw(32)), table(raw(32))), func(f *File) bool { return len(f.Repeats) == 1 && f.Repeats[0].Kind == RepeatInitializer }},
		{"raw and typed data", modelOf(table(raw(32), msg(4, floats32(32)))), func(f *File) bool { return len(f.Repeats) == 1 && f.Repeats[0].Kind == RepeatData }},
		{"attribute twice", modelOf(nodeOf("X", nil, nil, msg(5, txt(1, "a"), num(3, 1)), msg(5, txt(1, "a"), num(3, 2)))), func(f *File) bool { return len(f.Repeats) == 1 }},
		{"function twice", append(append(modelOf(), function("f", "h")...), function("f", "h")...), func(f *File) bool { return len(f.Repeats) == 1 }},
		{"text of 2 MiB", modelOf(nodeOf("X", nil, nil, msg(5, txt(1, "s"), txt(4, strings.Repeat("n", 2<<20))))), func(f *File) bool { a := f.Graph.Nodes[0].Attributes[0]; return a.Long && a.S == nil }},
		{"domain ai.onnx", modelOf(nodeOf("X", nil, nil, txt(7, "ai.onnx"))), func(f *File) bool { return f.Graph.Nodes[0].Domain == "" }},
		{"names with escapes", modelOf(msg(5, num(2, 1), txt(8, "\x1b[31m\xff\n"), raw(1))), func(f *File) bool { return f.Graph.Initializers[0].Name == "\x1b[31m\xff\n" }},
		{"graphs 20 deep", modelOf(nest(20)), func(f *File) bool { n := 0; f.Graphs(func(*Graph) { n++ }); return n == 21 }},
		{"forty functions", append(modelOf(), chain(40)...), func(f *File) bool { return len(f.Functions) == 40 }},
		{"dimension named after a number", modelOf(msg(11, txt(1, "x"), msg(2, msg(1, num(1, 1), msg(2, msg(1, num(1, 5), txt(2, "n"))))))), func(f *File) bool { d := f.Graph.Inputs[0].Dims[0]; return d.Value == -1 && d.Param == "n" }},
	} {
		f, err := NewFile(bytes.NewReader(c.file), int64(len(c.file)))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !c.check(f) {
			t.Errorf("%s: read as %+v", c.name, f.Graph)
		}
	}
}

// num3004 starts a group that holds a number.
func num3004() []byte {
	return append(protowire.AppendTag(nil, 3004, protowire.StartGroupType), num(5, 6)...)
}

// TestMemoryFollowsTheFile reads a file of the cheapest entries: what the
// index takes stays below its limit.
func TestMemoryFollowsTheFile(t *testing.T) {
	if testing.Short() {
		t.Skip("allocates the limit of the index")
	}
	for _, c := range []struct {
		name    string
		entries []byte
	}{
		{"nodes", bytes.Repeat(msg(1), maxIndex/weightItem+1)},
		{"inputs of a node", msg(1, bytes.Repeat(txt(1, ""), 1<<20))},
		{"names of values", manyValues(1 << 20)},
		{"graphs of one node", bytes.Repeat(msg(1, msg(5, txt(1, "t"), msg(6, msg(1, txt(2, "a"))))), 1<<19)},
		{"dimensions of a tensor", msg(5, num(2, 1), bytes.Repeat(num(1, 1), 1<<20))},
	} {
		b := modelOf(c.entries)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := NewFile(bytes.NewReader(b), int64(len(b)))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*maxIndex {
			t.Errorf("%s: %d bytes allocated for a file of %d", c.name, took, len(b))
		}
		if err != nil && !strings.Contains(err.Error(), "an index of more than") {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = f
	}
}

// TestTypedData reads every kind of typed data, and refuses what does not fit.
func TestTypedData(t *testing.T) {
	packed := func(v ...uint64) []byte {
		var b []byte
		for _, x := range v {
			b = protowire.AppendVarint(b, x)
		}
		return b
	}
	double := protowire.AppendFixed64(nil, 0x4000000000000000)
	for _, c := range []struct {
		name  string
		dtype DataType
		dims  uint64
		field []byte
		want  string // numbers, or words of the error
	}{
		{"float", Float, 2, msg(4, floats32(2)), "[0 1]"},
		{"float, one by one", Float, 1, protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), 0x40400000), "[3]"},
		{"int64", Int64, 3, msg(7, packed(1, 1<<64-1, 300)), "[1 -1 300]"},
		{"int64, one by one", Int64, 2, append(num(7, 5), num(7, 6)...), "[5 6]"},
		{"int32", Int32, 2, msg(5, packed(7, 1<<64-2)), "[7 -2]"},
		{"int8", Int8, 2, msg(5, packed(7, 1<<64-2)), "[7 -2]"},
		{"bool", Bool, 2, msg(5, packed(1, 0)), "[1 0]"},
		{"half", Float16, 1, msg(5, packed(0x3c00)), "[1]"},
		{"double", Double, 1, msg(10, double), "[2]"},
		{"uint64", Uint64, 1, msg(11, packed(1<<63)), "[9.223372036854775807e+18]"},
		{"uint32", Uint32, 1, msg(11, packed(1<<32-1)), "[4.294967295e+09]"},
		{"too few", Float, 3, msg(4, floats32(2)), "8 bytes of typed data, and [3] of float32 need 12"},
		{"far too few", Float, 1 << 40, msg(4, floats32(2)), "want 1099511627776 elements and there are fewer"},
		{"too many", Float, 1, msg(4, floats32(2)), "8 bytes of typed data"},
		{"another type's field", Int64, 2, msg(4, floats32(4)), "stand in field 4, which is for others"},
		{"cut off", Float, 1, msg(4, []byte{1, 2, 3}), "typed data is cut off"},
		{"strings", String, 1, msg(6, []byte("x")), "no fixed size"},
	} {
		f := open(t, modelOf(msg(5, num(1, c.dims), num(2, uint64(c.dtype)), txt(8, "w"), c.field)))
		x, err := f.Graph.Initializers[0].Floats(0, int64(c.dims))
		got := fmt.Sprint(x)
		if c.dtype == Uint64 {
			got = "[9.223372036854775807e+18]"
			if err != nil || x[0] != 1<<63 {
				got = fmt.Sprint(x, err)
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestManyAttributes keeps the names of a node's attributes as a set once they are many,
// and still tells which stand twice.
func TestManyAttributes(t *testing.T) {
	var named attributeNames
	var before []*Attribute
	for i := range 1000 {
		name := fmt.Sprint("a", i)
		if named.seen(name, before) {
			t.Fatalf("%s was there before", name)
		}
		before = append(before, &Attribute{Name: name})
	}
	if len(named) != 1000 {
		t.Errorf("%d names are kept of 1000", len(named))
	}
	if !named.seen("a3", before) || !named.seen("a999", before) {
		t.Error("a name that stands twice is new")
	}
	var content []byte
	for i := range 40 {
		content = append(content, msg(5, txt(1, fmt.Sprint("a", i%39)), num(3, 1))...)
	}
	b := modelOf(nodeOf("X", nil, []string{"y"}, content))
	f, err := NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil || len(f.Repeats) != 1 || f.Repeats[0].Kind != RepeatAttribute {
		t.Errorf("repeats %v: %v", f.Repeats, err)
	}
}
