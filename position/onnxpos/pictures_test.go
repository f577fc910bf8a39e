package onnxpos

import (
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// TestSizes holds that inspection says of pictures what the graph was seen to take, and nothing where it
// takes no other or gives an old size.
func TestSizes(t *testing.T) {
	free := func(m *onnx.NewModel) {
		picture(m)
		m.Inputs[0].Dims = []int64{1, 3, -1, -1}
		m.Outputs = []onnx.NewValue{{Name: "patches", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}}}
		m.Nodes = m.Nodes[:1]
	}
	for _, c := range []struct {
		name   string
		change func(*onnx.NewModel)
		want   string
	}{
		{"one size", picture, "of 32×32 pixels only"},
		{"height and width apart", func(m *onnx.NewModel) {
			picture(m)
			m.Inputs[0].Dims[3] = 64
			m.Initializers[2] = integers("flat", 1, 4, 32)
		}, "of 32×64 pixels only"},
		{"a free width", func(m *onnx.NewModel) { free(m); m.Inputs[0].Dims[2] = 32 }, ""},
		{"a mask of scores", func(m *onnx.NewModel) {
			m.Inputs = append(m.Inputs, onnx.NewValue{Name: "attention_bias", Type: onnx.Float, Dims: []int64{1, 1, 6, 6}})
		}, ""},
		{"a table that is resampled", resampled, "of any multiple of 8 pixels"},
		{"a table of one size", func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("sizes", 1, 4, 4, 4))
			m.Nodes = append(m.Nodes[:1], m.Nodes[4:]...)
		}, ""},
		{"an output that stays", func(m *onnx.NewModel) {
			resampled(m)
			m.Initializers = append(m.Initializers, integers("old", 1, 4, 20, 20))
			m.Outputs = append(m.Outputs, onnx.NewValue{Name: "depth", Type: onnx.Float, Dims: []int64{1, 4, -1, -1}})
			m.Nodes = append(m.Nodes, withInts(node("Resize", "depth", "h", "", "", "old"), "mode", "linear"))
		}, ""},
		{"no table", free, "of any multiple of 8 pixels"},
		{"filters that overlap", func(m *onnx.NewModel) {
			free(m)
			m.Nodes[0] = withInts(m.Nodes[0], "pads", []int64{2, 2, 2, 2})
		}, "of any size"},
		{"windows", func(m *onnx.NewModel) { // cut along the rows: an odd number of patches fails
			free(m)
			m.Initializers = append(m.Initializers, integers("to", 4), integers("from", 2), integers("two", 2), integers("ahead", 1, 4), integers("behind", 2))
			m.Nodes = append(m.Nodes, node("Shape", "s", "patches"), node("Slice", "hw", "s", "from", "to"), node("Div", "half", "hw", "two"), node("Slice", "rows", "half", "zeroth", "first"), node("Slice", "columns", "half", "first", "two"),
				withInts(node("Concat", "shape", "ahead", "rows", "behind", "columns", "behind"), "axis", int64(0)), node("Reshape", "cut", "patches", "shape"))
			m.Initializers = append(m.Initializers, integers("zeroth", 0), integers("first", 1))
			m.Outputs = []onnx.NewValue{{Name: "cut", Type: onnx.Float, Dims: []int64{1, 4, -1, 2, -1, 2}}}
		}, "of any multiple of 16 pixels"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := position.Inspect(built(t, c.change)).PicturesText(); got != c.want {
				t.Errorf("pictures %q, want %q", got, c.want)
			}
		})
	}
}

// TestChannelsLast: patches that a convolution makes of channels behind rows and columns are those of one with channels ahead of them.
func TestChannelsLast(t *testing.T) {
	patched := func(conv ...onnx.NewNode) func(*onnx.NewModel) {
		return func(m *onnx.NewModel) {
			picture(m)
			m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{1, 3, 48, 32}, []int64{1, 24, 4}
			m.Initializers = append(m.Initializers, noise("patch last", 4, 8, 8, 3), noise("pos", 1, 24, 4), floats("one", nil, func(int) float64 { return 1 }), floats("none", nil, func(int) float64 { return 0 }))
			m.Initializers[2] = integers("flat", 1, 4, 24)
			m.Nodes = slices.Concat(conv, m.Nodes[1:], []onnx.NewNode{node("Add", "h0", "x", "pos"), node("MatMul", "h", "h0", "W")})
		}
	}
	turned := withInts(node("Transpose", "last", "pixel_values"), "perm", []int64{0, 2, 3, 1})
	back := withInts(node("Transpose", "patches", "made"), "perm", []int64{0, 3, 1, 2})
	of := func(op, weights string, more ...string) onnx.NewNode {
		n := withInts(node(op, "made", slices.Concat([]string{"last"}, more, []string{weights})...), "strides", []int64{8, 8})
		n.Domain = "com.microsoft"
		return n
	}
	quantised := withInts(of("QLinearConv", "patch", "one", "none"), "channels_last", int64(1))
	quantised.Inputs = append(quantised.Inputs, "one", "none", "one", "none")
	for _, conv := range []onnx.NewNode{of("NhwcConv", "patch last"), of("NhwcFusedConv", "patch"), quantised} {
		m := built(t, patched(turned, conv, back))
		if got, grid := found(m), m.graph.PatchGrid(); got != "position table of 24 rows of 4, grid 6×4 ×24" || grid != [2]int{6, 4} || !m.graph.CutsOff() {
			t.Errorf("%s: %s, a grid of %v, cut off %v", conv.Op, got, grid, m.graph.CutsOff())
		}
	}
}

// TestOneSize: a graph whose weights behind patches, or behind samples, are for as many as were exported takes inputs of one size, though their
// axes are free; one that sums over them first takes any.
func TestOneSize(t *testing.T) {
	for _, c := range []struct {
		name string
		free []int64
		ends bool
	}{{"a picture of one size", []int64{1, 3, -1, -1}, true}, {"a picture of any size", []int64{1, 3, -1, -1}, false},
		{"a recording of one length", []int64{1, 1, -1}, true}, {"a recording of any length", []int64{1, 1, -1}, false}} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, func(m *onnx.NewModel) {
				picture(m)
				filter, steps, patches := []int64{4, 3, 8, 8}, []int64{8, 8}, int64(16)
				if m.Inputs[0].Dims = c.free; len(c.free) == 3 {
					m.Inputs[0].Name, filter, steps, patches = "waveform", []int64{4, 1, 10}, []int64{10}, 40
				}
				m.Outputs[0].Dims = []int64{1, 5}
				rows := 4 * patches
				flat := []onnx.NewNode{withInts(node("Conv", "made", m.Inputs[0].Name, "filter"), "strides", steps), node("Relu", "some", "made")}
				if c.ends {
					flat = append(flat, node("Flatten", "flat", "some"))
				} else {
					rows = 4
					flat = append(flat, node("GlobalAveragePool", "one", "some"), node("Flatten", "flat", "one"))
				}
				m.Initializers = []onnx.NewTensor{noise("filter", filter...), noise("classes", rows, 5)}
				m.Nodes = append(flat, node("MatMul", "h", "flat", "classes"))
			})
			told := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == "onnx-length-bound" })
			length := position.Inspect(m).Length
			if want := map[bool]string{true: report.BeyondError, false: report.BeyondContinues}[c.ends]; found(m) != "none" || length.Beyond != want || told != c.ends {
				t.Errorf("%s, beyond: %s, told: %t", found(m), length.Beyond, told)
			}
		})
	}
}

// TestOneLengthAheadOfATable: a recording whose weights are for as many samples as were exported runs at that length alone, whatever its table of
// positions holds, and is not made longer: it would run at the new one alone.
func TestOneLengthAheadOfATable(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		picture(m)
		m.Inputs[0].Name, m.Inputs[0].Dims, m.Outputs[0].Dims = "waveform", []int64{1, 1, -1}, []int64{1, 40, 4}
		m.Initializers = []onnx.NewTensor{noise("filter", 4, 1, 10), noise("pe", 100, 4), noise("W", 4, 4), noise("gain", 1, 1, 400), integers("zero", 0), integers("one", 1), integers("two", 2)}
		m.Nodes = []onnx.NewNode{node("Mul", "scaled", "waveform", "gain"), withInts(node("Conv", "made", "scaled", "filter"), "strides", []int64{10}), withInts(node("Transpose", "x", "made"), "perm", []int64{0, 2, 1}), node("Shape", "shape", "x"),
			node("Slice", "n", "shape", "one", "two"), node("Slice", "some", "pe", "zero", "n", "zero"), node("Add", "placed", "x", "some"), node("MatMul", "h", "placed", "W")}
	})
	if longest, _ := m.End(); found(m) != "position table of 100 rows of 4 ×100" || longest != 40 {
		t.Errorf("%s, up to %d", found(m), longest)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 150}); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("extended: %v", err)
	}
}

// TestTablesOfSeveralAxes: tables of which each tells the axes of a grid apart that the other one leaves are one encoding, behind a class token,
// too, and both are emptied, each with its own rows.
func TestTablesOfSeveralAxes(t *testing.T) {
	change := func(m *onnx.NewModel) {
		picture(m)
		m.Inputs[0].Dims, m.Outputs[0].Dims = []int64{1, 3, 48, 32}, []int64{1, 25, 4}
		m.Initializers = append(m.Initializers, noise("of rows", 6, 1, 4), noise("of columns", 1, 4, 4), integers("tokens", 1, 24, 4), floats("none", []int64{1, 1, 4}, func(int) float64 { return 0 }), noise("class", 1, 1, 4))
		m.Initializers[2] = integers("flat", 1, 4, 24)
		m.Nodes = append(m.Nodes, node("Add", "crossed", "of rows", "of columns"), node("Reshape", "places", "crossed", "tokens"),
			withInts(node("Concat", "pos", "none", "places"), "axis", int64(1)), withInts(node("Concat", "all", "class", "x"), "axis", int64(1)),
			node("Add", "h0", "all", "pos"), node("MatMul", "h", "h0", "W"))
	}
	m := built(t, change)
	if got := found(m); got != "position table of 6 rows of 4, grid 6×4 ×24" || m.sites[0].(*tableSite).Resampled() {
		t.Fatalf("%s, laid out again and again: %t", got, m.sites[0].(*tableSite).Resampled())
	}
	if err := m.sites[0].(*tableSite).Neutralize(); err != nil {
		t.Fatal(err)
	}
	after := result(t, m, saved(t, change))
	if got := found(after); strings.Contains(got, "table") {
		t.Errorf("%s is left", got)
	}
	for _, name := range []string{"of rows", "of columns"} {
		was, is := m.graph.File.Graph.Initializer(name), after.graph.File.Graph.Initializer(name)
		if x, err := is.Floats(0, is.Len()); err != nil || !slices.Equal(was.Dims, is.Dims) || slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) {
			t.Errorf("%q has dimensions %v and holds %v: %v", name, is.Dims, x, err)
		}
	}
}

// TestFlattened: a classifier with weights for each column of each position runs at one length, which is found by what it wants.
func TestFlattened(t *testing.T) {
	m := built(t, func(m *onnx.NewModel) {
		m.Inputs = []onnx.NewValue{{Name: "inputs_embeds", Type: onnx.Float, Dims: []int64{1, -1, 8}}}
		m.Outputs[0].Dims = []int64{1, 5}
		m.Initializers = []onnx.NewTensor{noise("classes", 8*23, 5)}
		m.Nodes = []onnx.NewNode{withInts(node("Transpose", "keys", "inputs_embeds"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "inputs_embeds", "keys"), withInts(node("Softmax", "weights", "scores"), "axis", int64(-1)),
			node("MatMul", "mixed", "weights", "inputs_embeds"), node("Flatten", "flat", "mixed"), node("MatMul", "h", "flat", "classes")}
	})
	if longest, _ := m.End(); found(m) != "none" || longest != 23 {
		t.Errorf("%s, up to %d", found(m), longest)
	}
}
