package rows

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// TestSpread puts the cosines and sines of two pairs into the columns of a row, in one table or in two,
// each once or twice.
func TestSpread(t *testing.T) {
	one, other := &onnx.Tensor{}, &onnx.Tensor{}
	for _, c := range []struct {
		packed, columns string
		want            []float64
	}{
		{"", fit.ColumnsHalf, []float64{1, 2}},
		{"", fit.ColumnsHalfDuplicated, []float64{1, 2, 1, 2}},
		{"", fit.ColumnsInterleavedDuplicated, []float64{1, 1, 2, 2}},
		{fit.PackedCosSin, fit.ColumnsHalf, []float64{1, 2, 3, 4}},
		{fit.PackedSinCos, fit.ColumnsHalf, []float64{3, 4, 1, 2}},
		{fit.PackedCosSinTurns, fit.ColumnsHalf, []float64{1, 3, 2, 4}},
		{fit.PackedCosSin, fit.ColumnsHalfDuplicated, []float64{1, 2, 1, 2, 3, 4, 3, 4}},
		{fit.PackedSinCos, fit.ColumnsInterleavedDuplicated, []float64{3, 3, 4, 4, 1, 1, 2, 2}},
	} {
		cache := Cache{Cos: Table{Tensor: one}, Sin: Table{Tensor: other}}
		if c.packed != "" {
			cache.Sin.Tensor = one
		}
		cache.Result.Packed, cache.Result.Columns = c.packed, c.columns
		got := make([]float64, len(c.want))
		cache.Spread([]float64{1, 2}, []float64{3, 4}, false, got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, %q: %v, want %v", c.packed, c.columns, got, c.want)
		}
	}
}

// TestStacked reads cosines that stand over sines in one constant.
func TestStacked(t *testing.T) {
	const rows, pairs = 24, 4
	x := make([]float64, 2*rows*pairs)
	for p := range rows {
		for k := range pairs {
			angle := float64(p) * math.Pow(100, -float64(k)/pairs)
			x[p*pairs+k], x[(rows+p)*pairs+k] = math.Cos(angle), math.Sin(angle)
		}
	}
	raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
	content := onnx.NewModel{Opset: 17, Initializers: []onnx.NewTensor{{Name: "pe", Type: onnx.Float, Dims: []int64{2 * rows, pairs}, Raw: raw}},
		Nodes: []onnx.NewNode{{Op: "Identity", Inputs: []string{"pe"}, Outputs: []string{"y"}}}, Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: []int64{2 * rows, pairs}}}}.Build()
	f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	table := Table{Tensor: f.Graph.Initializers[0], Stacked: true}
	c := Cache{Cos: table, Sin: table}
	if c.Fit(); !c.Fitted || math.Abs(c.Result.Rotary.Base-100) > 1e-9 || c.Positions() != rows {
		t.Errorf("%v, %d positions", c.Result.Rotary, c.Positions())
	}
	var refusal *position.Refusal
	if err := c.Store(nil, c.Result.Rotary, 2*rows, true); !errors.As(err, &refusal) {
		t.Errorf("stored: %v", err)
	}
}

// TestPerHead: what axes ahead of positions hold are heads where they are more than a cosine and a sine of every element.
func TestPerHead(t *testing.T) {
	for _, c := range []struct {
		dims  []int64
		axis  int
		pairs int
		want  bool
	}{
		{[]int64{3, 16, 8}, 1, 4, true},     // three heads of four pairs, each twice
		{[]int64{2, 16, 16}, 1, 4, true},    // two, with sines beside cosines
		{[]int64{2, 16, 8}, 1, 4, false},    // cosines and sines of one
		{[]int64{1, 16, 32}, 1, 4, false},   // columns of several layers
		{[]int64{1, 8, 1, 16}, 3, 4, false}, // columns ahead of positions
	} {
		if got := (Table{Tensor: &onnx.Tensor{Dims: c.dims}, Axis: c.axis}).PerHead(c.pairs); got != c.want {
			t.Errorf("%v: %t", c.dims, got)
		}
	}
}

// TestSignedSines: sines of which those of the first of each pair, or all, have the other sign are read as they are meant, and new rows have it, too.
func TestSignedSines(t *testing.T) {
	const positions, pairs = 24, 4
	angle := func(p, k int) float64 { return float64(p) * math.Pow(100, -float64(k)/pairs) }
	for _, c := range []struct {
		name   string
		pair   func(column int) (k int, first bool)
		signed func(first bool) bool
	}{
		{"half, the first", func(c int) (int, bool) { return c % pairs, c < pairs }, func(first bool) bool { return first }},
		{"interleaved, the first", func(c int) (int, bool) { return c / 2, c%2 == 0 }, func(first bool) bool { return first }},
		{"half, all", func(c int) (int, bool) { return c % pairs, c < pairs }, func(bool) bool { return true }},
	} {
		at := func(p, column int) (cos, sin float64) {
			k, first := c.pair(column)
			if cos, sin = math.Cos(angle(p, k)), math.Sin(angle(p, k)); c.signed(first) {
				sin = -sin
			}
			return cos, sin
		}
		table := func(sine bool) Table {
			x := make([]float64, positions*2*pairs)
			for i := range x {
				if cos, sin := at(i/(2*pairs), i%(2*pairs)); sine {
					x[i] = sin
				} else {
					x[i] = cos
				}
			}
			raw, _ := onnx.EncodeFloats(onnx.Float, x, nil)
			return Table{Tensor: stored(t, []int64{positions, 2 * pairs}, raw)}
		}
		cache := Cache{Cos: table(false), Sin: table(true)}
		if cache.Fit(); !cache.Fitted || math.Abs(cache.Result.Rotary.Base-100) > 1e-3 {
			t.Errorf("%s: %+v", c.name, cache.Result.Rotary)
			continue
		}
		cos, sin := make([]float64, pairs), make([]float64, pairs)
		if err := cache.Rotation(5, cos, sin); err != nil || math.Abs(sin[1]-math.Sin(angle(5, 1))) > 1e-6 {
			t.Errorf("%s: %v, %v", c.name, sin, err)
		}
		for column := range 2 * pairs {
			if _, first := c.pair(column); cache.Negated(column, 2*pairs) != c.signed(first) {
				t.Errorf("%s: column %d: %t", c.name, column, cache.Negated(column, 2*pairs))
			}
		}
		if d, bad := cache.Damaged(); bad {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

// stored is a constant of a file.
func stored(t *testing.T, dims []int64, raw []byte) *onnx.Tensor {
	t.Helper()
	content := onnx.NewModel{Opset: 17, Initializers: []onnx.NewTensor{{Name: "pe", Type: onnx.Float, Dims: dims, Raw: raw}},
		Nodes: []onnx.NewNode{{Op: "Identity", Inputs: []string{"pe"}, Outputs: []string{"y"}}}, Outputs: []onnx.NewValue{{Name: "y", Type: onnx.Float, Dims: dims}}}.Build()
	f, err := onnx.NewFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return f.Graph.Initializers[0]
}
