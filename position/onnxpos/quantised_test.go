package onnxpos

import (
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
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
			_, err := position.Extend(m, position.ExtendOptions{Length: 40, Method: "repeat-last"})
			if stays := err != nil; stays != c.stays || stays && strings.Contains(err.Error(), "report it") {
				t.Errorf("extended: %v", err)
			}
		})
	}
}
