package onnxpos

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// quantised adds rows of a table of whole numbers by position, of which each scale has its share.
func quantised(m *onnx.NewModel, t onnx.DataType, blocks bool, scales ...int64) {
	freeText(m, 8)
	raw := make([]byte, t.Size(24*8))
	for i := range raw {
		raw[i] = byte(i * i * 7 % 251)
	}
	m.Opset = 21
	m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "table", Type: t, Dims: []int64{24, 8}, Raw: raw},
		floats("scale", scales, func(i int) float64 { return float64(i%5+1) / 64 }))
	if blocks {
		pick := withInts(withInts(withInts(node("GatherBlockQuantized", "pe", "table", "p", "scale"), "gather_axis", int64(0)), "quantize_axis", int64(1)), "block_size", int64(4))
		pick.Domain = "com.microsoft"
		m.Nodes = append(m.Nodes, pick, node("Add", "h0", "te", "pe"))
		return
	}
	m.Nodes = append(m.Nodes, withInts(node("DequantizeLinear", "numbers", "table", "scale"), "axis", int64(1)), node("Gather", "pe", "numbers", "p"), node("Add", "h0", "te", "pe"))
}

// TestQuantisedTables reads tables of whole numbers of any width, with one scale or several, and refuses to store rows with several.
func TestQuantisedTables(t *testing.T) {
	const want = "position table of 24 rows of 8 ×24"
	for _, c := range []struct {
		name   string
		change func(m *onnx.NewModel)
		stays  bool
	}{
		{"of 16 bits", func(m *onnx.NewModel) { quantised(m, onnx.Uint16, false) }, false},
		{"of 16 bits with a sign", func(m *onnx.NewModel) { quantised(m, onnx.Int16, false) }, false},
		{"with a scale for each column", func(m *onnx.NewModel) { quantised(m, onnx.Int8, false, 8) }, true},
		{"of 4 bits", func(m *onnx.NewModel) { quantised(m, onnx.Int4, false) }, true},
		{"of 4 bits in blocks", func(m *onnx.NewModel) { quantised(m, onnx.Int4, true, 24, 2) }, true},
		{"of 4 bits without a sign in blocks", func(m *onnx.NewModel) { quantised(m, onnx.Uint4, true, 24, 2) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := built(t, c.change)
			if got := found(m); got != want {
				t.Errorf("found %q, want %q", got, want)
			}
			beyond := report.BeyondError
			if strings.Contains(c.name, "blocks") { // no engine checks them
				beyond = report.BeyondWrong
			}
			if got := m.Sites()[0].Encoding().Beyond; got != beyond {
				t.Errorf("longer input: %s, want %s", got, beyond)
			}
			_, err := position.Extend(m, position.ExtendOptions{Length: 40, Method: "repeat-last"})
			if stays := err != nil; stays != c.stays || stays && strings.Contains(err.Error(), "report it") {
				t.Errorf("extended: %v", err)
			}
		})
	}
}

// TestQuantisedBias reads a bias that is added to quantised scores as the same one that is added to scores.
func TestQuantisedBias(t *testing.T) {
	told := func(quantised bool) string {
		return found(built(t, func(m *onnx.NewModel) {
			m.Outputs[0].Dims = []int64{1, 6, 6}
			m.Initializers = append(m.Initializers[:1:1], onnx.NewTensor{Name: "bias", Type: onnx.Int8, Dims: []int64{1, 6, 6}}, floats("scale", nil, func(int) float64 { return 1.0 / 8 }),
				onnx.NewTensor{Name: "zero", Type: onnx.Int8, Raw: []byte{0}})
			for i := range 36 {
				m.Initializers[1].Raw = append(m.Initializers[1].Raw, byte((i/6-i%6+5)*(i/6-i%6+5)%23))
			}
			m.Nodes = []onnx.NewNode{node("Gather", "te", "wte", "ids"), withInts(node("Transpose", "keys", "te"), "perm", []int64{0, 2, 1}), node("MatMul", "content", "te", "keys")}
			if quantised {
				sum := node("QLinearAdd", "sum", "whole", "scale", "zero", "bias", "scale", "zero", "scale", "zero")
				sum.Domain = "com.microsoft"
				m.Nodes = append(m.Nodes, node("QuantizeLinear", "whole", "content", "scale", "zero"), sum, node("DequantizeLinear", "scores", "sum", "scale", "zero"), node("Softmax", "h", "scores"))
				return
			}
			m.Nodes = append(m.Nodes, node("DequantizeLinear", "numbers", "bias", "scale", "zero"), node("Add", "scores", "content", "numbers"), node("Softmax", "h", "scores"))
		}))
	}
	if plain, is := told(false), told(true); plain != is || !strings.HasPrefix(is, "relative-table") {
		t.Errorf("%q quantised, %q otherwise", is, plain)
	}
}

// TestQuantisedPositions: positions that are quantised end where the numbers of 8 bits do; tables are not made of such, nor are such graphs made longer, or
// a bias that is quantised behind its table.
func TestQuantisedPositions(t *testing.T) {
	computed := func(steps float64) func(m *onnx.NewModel) {
		return func(m *onnx.NewModel) {
			freeText(m, 8)
			m.Initializers = append(m.Initializers, floats("frequencies", []int64{1, 4}, func(i int) float64 { return math.Pow(10000, -float64(i)/4) }), integers("last", -1),
				floats("scale", nil, func(int) float64 { return steps }), onnx.NewTensor{Name: "zero8", Type: onnx.Uint8, Raw: []byte{0}})
			m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{withInts(node("Cast", "pf", "p"), "to", int64(onnx.Float)), node("QuantizeLinear", "q", "pf", "scale", "zero8"), node("DequantizeLinear", "steps", "q", "scale", "zero8"),
				node("Unsqueeze", "column", "steps", "last"), node("Mul", "angles", "column", "frequencies"), node("Sin", "sin", "angles"), node("Cos", "cos", "angles"), withInts(node("Concat", "pe", "sin", "cos"), "axis", int64(-1)), node("Add", "h0", "te", "pe"), m.Nodes[4]})
		}
	}
	m := built(t, computed(0.1))
	e := m.Sites()[0].Encoding()
	if e.Capacity != 26 || e.Beyond != report.BeyondClamps { // 0 to 25.5
		t.Errorf("%s ×%d, %s", e.Scheme, e.Capacity, e.Beyond)
	}
	if _, err := position.Bake(m, position.BakeOptions{Length: 20}); err == nil || !strings.Contains(err.Error(), "rounds and cuts off") {
		t.Errorf("a table of quantised positions: %v", err)
	}
	if _, err := position.Extend(built(t, computed(0.1)), position.ExtendOptions{Length: 40}); err == nil || !strings.Contains(err.Error(), "cuts numbers of the new length off at 25.5") {
		t.Errorf("more of quantised positions: %v", err)
	}
	bias := func(m *onnx.NewModel) {
		freeText(m, 8)
		m.Initializers = append(m.Initializers, floats("alibi", []int64{1, 16, 16}, func(i int) float64 { return -0.25 * math.Abs(float64(i%16-i/16)) }), integers("from", 0, 0), integers("axes", 1, 2), integers("n shape", 1),
			floats("scale", nil, func(int) float64 { return 0.02 }), onnx.NewTensor{Name: "zero8", Type: onnx.Uint8, Raw: []byte{255}})
		m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{node("Reshape", "n1", "n", "n shape"), withInts(node("Concat", "sides", "n1", "n1"), "axis", int64(0)), node("Slice", "near", "alibi", "from", "sides", "axes"),
			node("QuantizeLinear", "near8", "near", "scale", "zero8"), node("DequantizeLinear", "b", "near8", "scale", "zero8")}, oneHead("", "te", "te")[:4],
			[]onnx.NewNode{node("Add", "biased", "scores", "b"), node("Softmax", "weights", "biased"), node("MatMul", "h", "weights", "te")})
	}
	if got := found(built(t, bias)); !strings.HasPrefix(got, "ALiBi") {
		t.Fatal(got, built(t, bias).Sites()[0].Encoding().Evidence)
	}
	for length, refused := range map[int]bool{20: false, 40: true} { // −4.75 and −9.75, where 8 bits end at −5.1
		if _, err := position.Extend(built(t, bias), position.ExtendOptions{Length: length}); (err != nil) != refused {
			t.Errorf("a bias of %d positions: %v", length, err)
		}
	}
}

// TestQuantisersByName: operators of domains that are not known are followed as if they did not round where their names say that they quantise, which is told.
func TestQuantisersByName(t *testing.T) {
	for op, want := range map[string]string{"FakeQuantize": "position table of 16 rows of 8 ×16", "QuantLinear": "unknown"} {
		m := built(t, func(m *onnx.NewModel) {
			freeText(m, 8)
			numbers := make([]int64, 16*8)
			for i := range numbers {
				numbers[i] = int64(i*i*37%251) - 125
			}
			raw, _ := onnx.EncodeInts(onnx.Int8, numbers, nil)
			m.Initializers = append(m.Initializers, onnx.NewTensor{Name: "wpe8", Type: onnx.Int8, Dims: []int64{16, 8}, Raw: raw}, floats("scale", nil, func(int) float64 { return 0.02 }))
			of := func(op, out string, in ...string) onnx.NewNode {
				n := node(op, out, in...)
				n.Domain = "acme"
				return n
			}
			m.Nodes = slices.Concat(m.Nodes[:4], []onnx.NewNode{node("DequantizeLinear", "wpe", "wpe8", "scale"), node("Gather", "pe", "wpe", "p"), of(op, "rounded", "te", "scale"), node("Add", "h0", "rounded", "pe"), m.Nodes[4]})
		})
		if got := found(m); got != want {
			t.Errorf("%s: %s", op, got)
		}
		if told := slices.ContainsFunc(m.Findings(), func(f report.Finding) bool { return f.Rule == ruleQuantisers.ID }); told != (want != "unknown") {
			t.Errorf("%s: %v", op, m.Findings())
		}
	}
}

// TestRowsQuantisedApart: cosines and sines of 8 bits, of which each row has its own scale, are read as those of the formula and not changed.
func TestRowsQuantisedApart(t *testing.T) {
	const columns = 8
	rows, along := 20, int64(0)
	change := func(m *onnx.NewModel) {
		freeText(m, columns)
		m.Initializers = append(m.Initializers, noise("Q", columns, columns), integers("0", 0), integers("4", 4), integers("8", 8), integers("2", 2))
		for _, of := range []string{"cos", "sin"} {
			var raw []byte
			scale := floats(of+" scale", []int64{int64(rows)}, func(p int) float64 { return 1 / (100 + float64(p)) })
			for i := range rows * columns {
				angle := float64(i/columns) * math.Pow(10000, -float64(i%4)/4)
				x := math.Cos(angle)
				if of == "sin" {
					x = math.Sin(angle)
				}
				raw = append(raw, byte(int8(math.RoundToEven(x*(100+float64([]int{i / columns, i % columns}[along]))))))
			}
			m.Initializers = append(m.Initializers, scale, onnx.NewTensor{Name: of + " stored", Type: onnx.Int8, Dims: []int64{int64(rows), columns}, Raw: raw})
			m.Nodes = append(m.Nodes, withInts(node("DequantizeLinear", of+" all", of+" stored", of+" scale"), "axis", along), node("Gather", of, of+" all", "p"))
		}
		m.Nodes = append(m.Nodes, node("MatMul", "q", "te", "Q"), node("Slice", "first", "q", "0", "4", "2"), node("Slice", "second", "q", "4", "8", "2"), node("Neg", "minus", "second"),
			withInts(node("Concat", "other", "minus", "first"), "axis", int64(-1)), node("Mul", "kept", "q", "cos"), node("Mul", "swung", "other", "sin"), node("Add", "turned", "kept", "swung"),
			withInts(node("Transpose", "kt", "turned"), "perm", []int64{0, 2, 1}), node("MatMul", "scores", "turned", "kt"), withInts(node("Softmax", "w", "scores"), "axis", int64(-1)), node("MatMul", "h0", "w", "te"))
	}
	m := built(t, change)
	if got, want := found(m), "RoPE base 10000, rotary dim 8, half ×20"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: 40}); err == nil || !strings.Contains(err.Error(), "quantised apart") {
		t.Errorf("extended: %v", err)
	}
	// As many scales as there are rows, and of columns.
	rows, along = columns, 1
	if got := found(built(t, change)); strings.Contains(got, "×8") { // no table of rows
		t.Errorf("columns quantised apart: %s", got)
	}
}
