package onnxpos

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/fault"
	"github.com/modelpatch/modelpatch/report"
)

// built is a model of a token and a position table that are added, with the
// elements of the latter, after a change of its parts.
func built(t *testing.T, change func(*onnx.NewModel)) *Model {
	t.Helper()
	table := func(n int) []byte {
		var b []byte
		for i := range n {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(math.Sin(float64(i*i)))))
		}
		return b
	}
	ints := func(v ...int64) []byte { b, _ := onnx.EncodeInts(onnx.Int64, v, nil); return b }
	m := onnx.NewModel{Opset: 17,
		Inputs:  []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: []int64{1, 6}}},
		Outputs: []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 6, 4}}},
		Initializers: []onnx.NewTensor{{Name: "wte", Type: onnx.Float, Dims: []int64{32, 4}, Raw: table(128)}, {Name: "wpe", Type: onnx.Float, Dims: []int64{16, 4}, Raw: table(64)},
			{Name: "zero", Type: onnx.Int64, Raw: ints(0)}, {Name: "one", Type: onnx.Int64, Raw: ints(1)}},
		Nodes: []onnx.NewNode{{Op: "Shape", Inputs: []string{"ids"}, Outputs: []string{"shape"}}, {Op: "Gather", Inputs: []string{"shape", "one"}, Outputs: []string{"n"}},
			{Op: "Range", Inputs: []string{"zero", "n", "one"}, Outputs: []string{"p"}}, {Op: "Gather", Inputs: []string{"wpe", "p"}, Outputs: []string{"pe"}},
			{Op: "Gather", Inputs: []string{"wte", "ids"}, Outputs: []string{"te"}}, {Op: "Add", Inputs: []string{"te", "pe"}, Outputs: []string{"h"}}}}
	change(&m)
	b := m.Build()
	f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	f.Path = "built.onnx"
	found, err := New(f)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestFindings builds files that have one thing wrong each: the finding is
// there, and where it is an error, no change is made.
func TestFindings(t *testing.T) {
	set := func(i int, v float64) func(*onnx.NewModel) {
		return func(m *onnx.NewModel) {
			binary.LittleEndian.PutUint32(m.Initializers[1].Raw[4*i:], math.Float32bits(float32(v)))
		}
	}
	for _, c := range []struct {
		name, rule, level, says string
		change                  func(*onnx.NewModel)
	}{
		{"nothing", "", "", "", func(*onnx.NewModel) {}},
		{"NaN", fault.TableNotFinite.ID, report.LevelError, "row 3, column 2", set(14, math.NaN())},
		{"infinity", fault.TableNotFinite.ID, report.LevelError, "row 15, column 3", set(63, math.Inf(-1))},
		{"two tables", fault.DuplicateInitializer.ID, report.LevelError, `"wpe"`, func(m *onnx.NewModel) { m.Initializers = append(m.Initializers, m.Initializers[1]) }},
		{"outputs that are absent, and a constant without a name", "", "", "", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, onnx.NewTensor{Type: onnx.Int64, Raw: make([]byte, 8)})
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Dropout", Inputs: []string{"h"}, Outputs: []string{"d1", ""}}, onnx.NewNode{Op: "Dropout", Inputs: []string{"d1"}, Outputs: []string{"d2", ""}})
		}},
		{"two constants without a name", fault.DuplicateInitializer.ID, report.LevelError, `""`, func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, onnx.NewTensor{Type: onnx.Int64, Raw: make([]byte, 8)}, onnx.NewTensor{Type: onnx.Int64, Raw: make([]byte, 8)})
		}},
		{"cycle", fault.NodeCycle.ID, report.LevelError, "cycle", func(m *onnx.NewModel) {
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Add", Inputs: []string{"b", "h"}, Outputs: []string{"a"}}, onnx.NewNode{Op: "Neg", Inputs: []string{"a"}, Outputs: []string{"b"}})
		}},
		{"a value made twice", fault.DuplicateValue.ID, report.LevelError, `"te"`, func(m *onnx.NewModel) {
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Neg", Inputs: []string{"pe"}, Outputs: []string{"te"}})
		}},
		{"an attribute twice", fault.DuplicateAttribute.ID, report.LevelError, `"axis"`, func(m *onnx.NewModel) {
			m.Nodes[3].Attributes = []onnx.NewAttribute{{Name: "axis", Value: int64(0)}, {Name: "axis", Value: int64(1)}}
		}},
		{"shapes that do not fit", fault.Fails.ID, report.LevelWarning, "4 against 3", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "odd", Type: onnx.Float, Dims: []int64{3}, Raw: make([]byte, 12)})
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Add", Inputs: []string{"h", "odd"}, Outputs: []string{"wrong"}})
		}},
		{"an unread table", fault.UnreadTable.ID, report.LevelNote, `"spare"`, func(m *onnx.NewModel) {
			spare := m.Initializers[1]
			spare.Name = "spare"
			m.Initializers = append(m.Initializers, spare)
		}},
		{"a scale of zero", fault.Scale.ID, report.LevelError, "is 0", quantisedTable(0)},
		{"a scale that is no number", fault.Scale.ID, report.LevelError, "NaN", quantisedTable(math.NaN())},
		{"caches of unlike rows", "onnx-cache-rows-differ", report.LevelError, "14 of sines", func(m *onnx.NewModel) { addCaches(m, 16, 14, 1) }},
		{"caches of no formula", "onnx-cache-unexplained", report.LevelWarning, "no cosines", func(m *onnx.NewModel) { addCaches(m, 16, 16, 1.3) }},
		{"an unknown type", fault.ElementType.ID, report.LevelNote, "99", func(m *onnx.NewModel) {
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "x", Type: 99, Dims: []int64{1}, Raw: []byte("x")})
		}},
	} {
		m := built(t, c.change)
		findings := m.Findings()
		if c.rule == "" {
			if len(findings) != 0 {
				t.Errorf("%s: %+v", c.name, findings)
			}
		} else if len(findings) != 1 || findings[0].Rule != c.rule || findings[0].Level != c.level || !strings.Contains(findings[0].Message, c.says) {
			t.Errorf("%s: %+v", c.name, findings)
		}
		_, err := position.Extend(m, position.ExtendOptions{Length: 40})
		var refusal *position.Refusal
		if refused := errors.As(err, &refusal); refused != (c.level == report.LevelError || c.rule == "onnx-cache-unexplained") || err != nil && !refused {
			t.Errorf("%s: extend: %v", c.name, err)
		}
	}
}

// TestFindingsOfTheFile: what a file says of itself, at the limit and beyond it.
func TestFindingsOfTheFile(t *testing.T) {
	for _, c := range []struct {
		rule string
		set  func(f *onnx.File, beyond bool)
	}{
		{fault.Version.ID, func(f *onnx.File, beyond bool) {
			if f.IRVersion = fault.KnownIR; beyond {
				f.IRVersion++
			}
		}},
		{fault.Size.ID, func(f *onnx.File, beyond bool) {
			if f.Size = fault.MaxProtobuf; beyond {
				f.Size++
			}
		}},
		{fault.DuplicateFunction.ID, func(f *onnx.File, beyond bool) {
			if beyond {
				f.Repeats = append(f.Repeats, onnx.Repeat{Kind: onnx.RepeatFunction, What: "function f is defined twice"})
			}
		}},
	} {
		for _, beyond := range []bool{false, true} {
			m := built(t, func(*onnx.NewModel) {})
			c.set(m.graph.File, beyond)
			m.findings = nil
			m.inspectFindings()
			found := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == c.rule })
			if found != beyond {
				t.Errorf("%s: found %v, beyond the limit %v", c.rule, found, beyond)
			}
		}
	}
}

// TestManyFindings keeps a rule's findings to a hundred and counts the rest.
func TestManyFindings(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		for range 500 {
			m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Neg", Inputs: []string{"pe"}, Outputs: []string{"te"}})
		}
	})
	if n := len(m.Findings()); n != fault.MaxFindings {
		t.Errorf("%d findings", n)
	}
	if !strings.Contains(m.Findings()[0].Message, "and 400 more") {
		t.Error(m.Findings()[0].Message)
	}
}

// TestBadFindings reads the well-formed files of the shared set that give two
// answers or none.
func TestBadFindings(t *testing.T) {
	folder := "../../../shared/badfiles"
	for name, rule := range map[string]string{"B12-raw-and-float": fault.RawAndTyped.ID, "B31-initializer-twice": fault.DuplicateInitializer.ID, "B32-cycle": fault.NodeCycle.ID} {
		path := filepath.Join(folder, name+".onnx")
		if found, _ := filepath.Glob(path); len(found) == 0 {
			t.Skip("../shared/badfiles is not there")
		}
		findings := opened(t, path).Findings()
		if len(findings) != 1 || findings[0].Rule != rule {
			t.Errorf("%s: %+v", name, findings)
		}
	}
}

// quantisedTable stores the table as bytes with a scale.
func quantisedTable(scale float64) func(*onnx.NewModel) {
	return func(m *onnx.NewModel) {
		raw, _ := onnx.EncodeFloats(onnx.Float, []float64{1}, nil)
		binary.LittleEndian.PutUint32(raw, math.Float32bits(float32(scale)))
		m.Initializers[1] = onnx.NewTensor{Name: "wpe_q", Type: onnx.Uint8, Dims: []int64{16, 4}, Raw: bytes.Repeat([]byte{1, 2, 3, 200}, 16)}
		m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "scale", Type: onnx.Float, Raw: raw})
		m.Nodes = append([]onnx.NewNode{{Op: "DequantizeLinear", Inputs: []string{"wpe_q", "scale"}, Outputs: []string{"wpe"}}}, m.Nodes...)
	}
}

// addCaches turns the state by a pair of caches; bend moves one cosine.
func addCaches(m *onnx.NewModel, cosRows, sinRows int, bend float64) {
	cache := func(rows int, wave func(float64) float64) []byte {
		values := make([]float64, 4*rows)
		for i := range values {
			values[i] = wave(float64(i/4) * math.Pow(100, -float64(i%2)/2))
		}
		if rows > 9 {
			values[37] *= bend
		}
		b, _ := onnx.EncodeFloats(onnx.Float, values, nil)
		return b
	}
	half, _ := onnx.EncodeInts(onnx.Int64, []int64{2, 2}, nil)
	m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "cos", Type: onnx.Float, Dims: []int64{int64(cosRows), 4}, Raw: cache(cosRows, math.Cos)},
		onnx.NewTensor{Name: "sin", Type: onnx.Float, Dims: []int64{int64(sinRows), 4}, Raw: cache(sinRows, math.Sin)}, onnx.NewTensor{Name: "halves", Type: onnx.Int64, Dims: []int64{2}, Raw: half})
	m.Outputs[0].Name = "turned"
	m.Nodes = append(m.Nodes, onnx.NewNode{Op: "Gather", Inputs: []string{"cos", "p"}, Outputs: []string{"c"}}, onnx.NewNode{Op: "Gather", Inputs: []string{"sin", "p"}, Outputs: []string{"s"}},
		onnx.NewNode{Op: "Split", Inputs: []string{"h", "halves"}, Outputs: []string{"h1", "h2"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}}},
		onnx.NewNode{Op: "Neg", Inputs: []string{"h2"}, Outputs: []string{"minus"}},
		onnx.NewNode{Op: "Concat", Inputs: []string{"minus", "h1"}, Outputs: []string{"other"}, Attributes: []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}}},
		onnx.NewNode{Op: "Mul", Inputs: []string{"h", "c"}, Outputs: []string{"hc"}}, onnx.NewNode{Op: "Mul", Inputs: []string{"other", "s"}, Outputs: []string{"os"}},
		onnx.NewNode{Op: "Add", Inputs: []string{"hc", "os"}, Outputs: []string{"turned"}})
}

// Numbers of which nothing is known, made of constants by an operator of nobody's, may encode positions beside the table that is told.
func TestUnknownNumbers(t *testing.T) {
	for _, c := range []struct {
		name  string
		nodes []onnx.NewNode
		told  bool
	}{
		{"added", []onnx.NewNode{{Op: "Mystery", Domain: "acme", Inputs: []string{"wpe"}, Outputs: []string{"more"}}, node("Add", "h", "sum", "more")}, true},
		{"joined", []onnx.NewNode{{Op: "Mystery", Domain: "acme", Inputs: []string{"wpe"}, Outputs: []string{"more"}}, withInts(node("Concat", "h", "sum", "more"), "axis", int64(2))}, true},
		{"nothing of the kind", []onnx.NewNode{node("Relu", "h", "sum")}, false},
	} {
		m := built(t, func(m *onnx.NewModel) {
			free(m)
			m.Initializers = append(m.Initializers, noise("W", 4, 4))
			m.Nodes[5] = node("Add", "sum", "te", "pe")
			c.nodes[len(c.nodes)-1].Outputs[0] = "state"
			m.Nodes = append(append(m.Nodes, c.nodes...), node("MatMul", "h", "state", "W"))
		})
		told := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == "onnx-unread-encoding" })
		if told != c.told || len(m.Sites()) != 1 {
			t.Errorf("%s: told %t, %v", c.name, told, m.Findings())
		}
	}
}

// TestRecordingEnds: a graph that takes recordings of any length and looks its places up in a list ends where that does, in positions.
func TestRecordingEnds(t *testing.T) {
	for _, c := range []struct{ end, rows int64 }{{24, 0}, {128, 0}, {0, 0}, {24, 100}, {0, 100}} {
		end, want := c.end, "ALiBi, 2 heads, max bias 8"
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs = []onnx.NewValue{{Name: "audio", Type: onnx.Float, Dims: []int64{1, -1}}}
			m.Outputs = []onnx.NewValue{{Name: "h", Type: onnx.Float, Dims: []int64{1, 2, -1, 4}}}
			m.Initializers = []onnx.NewTensor{noise("C", 4, 1, 5), integers("zero", 0), integers("one", 1), {Name: "first", Type: onnx.Int64, Raw: make([]byte, 8)},
				{Name: "step", Type: onnx.Int64, Raw: []byte{1, 0, 0, 0, 0, 0, 0, 0}}, floats("slopes", []int64{2, 1, 1}, func(i int) float64 { return -[]float64{1. / 16, 1. / 256}[i] })}
			m.Nodes = []onnx.NewNode{node("Unsqueeze", "wave", "audio", "one"), withInts(node("Conv", "frames", "wave", "C"), "strides", []int64{5}),
				withInts(node("Transpose", "x", "frames"), "perm", []int64{0, 2, 1}), node("MatMul", "products", "x", "frames"), node("Unsqueeze", "scores", "products", "one"),
				node("Shape", "shape", "x"), node("Gather", "n", "shape", "step"), node("Range", "places", "first", "n", "step"), node("Unsqueeze", "keys", "places", "zero"),
				node("Unsqueeze", "queries", "places", "one"), node("Sub", "apart", "keys", "queries")}
			weighed := "x"
			if c.rows > 0 {
				weighed, want = "summed", "position table of 100 rows of 4 ×100; "+want
				m.Initializers = append(m.Initializers, noise("wpe", c.rows, 4))
				m.Nodes = append(m.Nodes, node("Gather", "row", "wpe", "places"), node("Add", "summed", "x", "row"))
			}
			if end > 0 { // all of whose numbers are one: it encodes nothing
				ahead := weighed
				weighed = "scaled"
				m.Initializers = append(m.Initializers, floats("list", []int64{end, 1}, func(int) float64 { return 1 }))
				m.Nodes = append(m.Nodes, node("Gather", "ones", "list", "places"), node("Mul", "scaled", ahead, "ones"))
			}
			m.Nodes = append(m.Nodes, node("Abs", "whole", "apart"), withInts(node("Cast", "distance", "whole"), "to", int64(onnx.Float)))
			m.Nodes = append(m.Nodes, node("Mul", "bias", "distance", "slopes"), node("Add", "biased", "scores", "bias"), node("Softmax", "weights", "biased"), node("MatMul", "h", "weights", weighed))
		})
		if n, _ := m.End(); int64(n) != end {
			t.Errorf("it ends at %d positions, want %d", n, end)
		}
		if told := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool {
			return f.Rule == ruleLengthBound.ID && strings.Contains(f.Message, "samples or frames")
		}); told != (end > 0) {
			t.Errorf("a list of %d: %v", end, m.Findings())
		}
		if got := found(m); got != want {
			t.Errorf("a list of %d: %s", end, got)
		}
	}
}

// TestWholeEnds: where data keep the inputs' axes whole, a constant of some positions that are all alike ends the graph, or another input of so
// many, and nothing else does.
func TestWholeEnds(t *testing.T) {
	for _, rows := range []int64{1, 13, -13} {
		m := built(t, func(m *onnx.NewModel) {
			m.Inputs[0] = onnx.NewValue{Name: "x", Type: onnx.Float, Dims: []int64{1, -1, 4}}
			m.Outputs[0].Dims[1] = -1
			m.Initializers = []onnx.NewTensor{noise("W", 4, 4)}
			if rows > 0 {
				m.Initializers = append(m.Initializers, floats("ones", []int64{1, rows, 4}, func(int) float64 { return 1 }))
			} else {
				m.Inputs = append(m.Inputs, onnx.NewValue{Name: "ones", Type: onnx.Float, Dims: []int64{1, -rows, 4}})
			}
			m.Nodes = []onnx.NewNode{node("MatMul", "y", "x", "W"), node("Relu", "z", "y"), node("Mul", "h", "z", "ones")}
		})
		want := max(rows, -rows)
		if want == 1 {
			want = 0
		}
		if n, _ := m.End(); !m.labels().Whole || int64(n) != want {
			t.Errorf("a constant of %d rows: it ends at %d, whole %v", rows, n, m.labels().Whole)
		}
	}
}
