package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/onnx"
)

// val reads a value written as "f 2x3: 1 2 3 4 5 6"; types are f (float32), i
// (int64) and b (bool). Of "f 2x3" only the shape is known; "-" is an absent
// input.
func val(text string) *Value {
	if text == "-" {
		return nil
	}
	head, content, known := strings.Cut(text, ":")
	kind, dims, _ := strings.Cut(head, " ")
	v := &Value{Type: map[string]onnx.DataType{"f": onnx.Float, "i": onnx.Int64, "b": onnx.Bool}[kind], Ranked: true, Shape: []int{}}
	for _, d := range strings.FieldsFunc(dims, func(r rune) bool { return r == 'x' || r == ' ' }) {
		n, err := strconv.Atoi(d)
		if err != nil {
			panic(text)
		}
		v.Shape = append(v.Shape, n)
	}
	if !known {
		return v
	}
	if v.Ints = []int64{}; v.Type == onnx.Float {
		v.Ints, v.Floats = nil, []float64{}
	}
	for _, f := range strings.Fields(content) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			panic(text)
		}
		if v.Floats != nil {
			v.Floats = append(v.Floats, x)
		} else if i, err := strconv.ParseInt(f, 10, 64); err == nil {
			v.Ints = append(v.Ints, i)
		}
	}
	return v
}

// say is the inverse of val.
func say(v *Value) string {
	if !v.Ranked {
		return "?"
	}
	kind := map[onnx.DataType]string{onnx.Float: "f", onnx.Int64: "i", onnx.Bool: "b"}[v.Type]
	if kind == "" {
		kind = "?"
	}
	out := kind + " "
	for i, d := range v.Shape {
		if i > 0 {
			out += "x"
		}
		out += fmt.Sprint(d)
	}
	if !v.Known() {
		return strings.TrimSpace(out)
	}
	out = strings.TrimSpace(out) + ":"
	for i := range v.Len() {
		out += " " + strconv.FormatFloat(v.Number(i), 'g', 7, 64)
	}
	return out
}

// maxInt is the end that exporters write for "to the last".
const maxInt = "9223372036854775807"

// operators are calls with the outputs that numpy gives (or the format's text,
// where numpy has no such operator).
var operators = []struct {
	op         string
	attributes []onnx.NewAttribute
	in         []string
	out        []string // "?" where the shape is not known; "error"
}{
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 1", "i 1: 4"}, []string{"i 3: 1 2 3"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: -1", "i 1: -7", "i 1: 0", "i 1: -2"}, []string{"i 3: 5 3 1"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: -1", "i 1: -" + maxInt, "i 1: 0", "i 1: -1"}, []string{"i 6: 5 4 3 2 1 0"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: -1", "i 1: -9223372036854775808", "i 1: 0", "i 1: -1"}, []string{"i 6: 5 4 3 2 1 0"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 0", "i 1: " + maxInt, "i 1: 0", "i 1: 4"}, []string{"i 2: 0 4"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 0", "i 1: " + maxInt, "i 1: 0", "i 1: " + maxInt}, []string{"i 1: 0"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 1", "i 1: " + maxInt, "i 1: 0", "i 1: " + maxInt}, []string{"i 1: 1"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 5", "i 1: 0", "i 1: 0", "i 1: -9223372036854775808"}, []string{"i 1: 5"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 9", "i 1: " + maxInt}, []string{"i 0:"}},
	{"Slice", nil, []string{"f 200000", "i 1: -1", "i 1: -9223372036854775808", "i 1: 0", "i 1: -1"}, []string{"f 200000"}},
	{"Slice", nil, []string{"f 2x300001", "i 1: -1", "i 1: -" + maxInt, "i 1: 1", "i 1: -2"}, []string{"f 2x150001"}},
	{"Slice", nil, []string{"f 300000", "i 1: 299998", "i 1: 8", "i 1: 0", "i 1: -2"}, []string{"f 149995"}},
	{"Slice", nil, []string{"f 300000", "i 1: 1", "i 1: " + maxInt, "i 1: 0", "i 1: 2"}, []string{"f 150000"}},
	{"Slice", nil, []string{"i 6: 0 1 2 3 4 5", "i 1: 4", "i 1: 2"}, []string{"i 0:"}},
	{"Slice", nil, []string{"i 2x3: 0 1 2 3 4 5", "i 2: 1 0", "i 2: 3 2", "i 2: 1 0"}, []string{"i 2x2: 1 2 4 5"}},
	{"Slice", nil, []string{"f 4x9", "i 1: 2", "i 1: " + maxInt, "i 1: -1"}, []string{"f 4x7"}},
	{"Slice", nil, []string{"f 4x9", "i 1: 0", "i 1: 5", "i 1: 2"}, []string{"error"}},
	{"Slice", nil, []string{"i 0:", "i 1: -1", "i 1: -9", "i 1: 0", "i 1: -1"}, []string{"i 0:"}},
	{"Gather", nil, []string{"f 3x2: 0 1 10 11 20 21", "i 2: 2 -3"}, []string{"f 2x2: 20 21 0 1"}},
	{"Gather", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, []string{"f 3x2: 0 1 10 11 20 21", "i: 1"}, []string{"f 3: 1 11 21"}},
	{"Gather", nil, []string{"f 3x2: 0 1 10 11 20 21", "i 1: 3"}, []string{"error"}},
	{"Gather", nil, []string{"f 3x2: 0 1 10 11 20 21", "i 1: -4"}, []string{"error"}},
	{"Gather", nil, []string{"f 100x2", "i 2x5"}, []string{"f 2x5x2"}},
	{"GatherElements", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, []string{"i 2x2: 1 2 3 4", "i 2x2: 0 0 1 0"}, []string{"i 2x2: 1 1 4 3"}},
	{"GatherElements", nil, []string{"i 3x3: 1 2 3 4 5 6 7 8 9", "i 2x3: 1 2 0 2 0 -1"}, []string{"i 2x3: 4 8 3 7 2 9"}},
	{"GatherElements", nil, []string{"i 3x1: 7 8 9", "i 1x1: 3"}, []string{"error"}},
	{"GatherND", nil, []string{"i 2x2: 0 1 2 3", "i 2x2: 0 0 1 1"}, []string{"i 2: 0 3"}},
	{"GatherND", nil, []string{"i 2x2: 0 1 2 3", "i 2x1: 1 0"}, []string{"i 2x2: 2 3 0 1"}},
	{"GatherND", []onnx.NewAttribute{{Name: "batch_dims", Value: int64(1)}}, []string{"i 2x2x2: 0 1 2 3 4 5 6 7", "i 2x1: 1 0"}, []string{"i 2x2: 2 3 4 5"}},
	{"GatherND", nil, []string{"i 2x2: 0 1 2 3", "i 1x2: 0 2"}, []string{"error"}},
	{"Reshape", nil, []string{"i 2x3: 0 1 2 3 4 5", "i 2: 3 -1"}, []string{"i 3x2: 0 1 2 3 4 5"}},
	{"Reshape", nil, []string{"f 2x3x4", "i 3: 0 -1 2"}, []string{"f 2x6x2"}},
	{"Reshape", nil, []string{"f 2x3x4", "i 2: 5 -1"}, []string{"error"}},
	{"Reshape", nil, []string{"f 2x3", "i 1: 7"}, []string{"error"}},
	{"Reshape", nil, []string{"f 2x3", "i 4: 0 0 0 1"}, []string{"error"}},
	{"Reshape", []onnx.NewAttribute{{Name: "allowzero", Value: int64(1)}}, []string{"f 0x3", "i 2: 3 0"}, []string{"f 3x0:"}},
	{"Reshape", nil, []string{"f 2x3", "i 2"}, []string{"?"}},
	{"Expand", nil, []string{"i 3x1: 1 2 3", "i 3: 2 1 2"}, []string{"i 2x3x2: 1 1 2 2 3 3 1 1 2 2 3 3"}},
	{"Expand", nil, []string{"i 1x3: 1 2 3", "i 1: 1"}, []string{"i 1x3: 1 2 3"}},
	{"Expand", nil, []string{"f 3x2", "i 2: 3 4"}, []string{"error"}},
	{"Tile", nil, []string{"i 2x2: 1 2 3 4", "i 2: 2 2"}, []string{"i 4x4: 1 2 1 2 3 4 3 4 1 2 1 2 3 4 3 4"}},
	{"Tile", nil, []string{"i 2: 1 2", "i 1: 0"}, []string{"i 0:"}},
	{"Tile", nil, []string{"i 2x2: 1 2 3 4", "i 3: 2 2 1"}, []string{"error"}},
	{"Where", nil, []string{"b 2x1: 1 0", "i 2: 1 2", "i: 9"}, []string{"i 2x2: 1 2 9 9"}},
	{"Where", nil, []string{"b 2: 1 1", "i 2: 1 2", "i 2"}, []string{"i 2: 1 2"}},
	{"Where", nil, []string{"b 2: 1 0", "i 2: 1 2", "i 2"}, []string{"i 2"}},
	{"CumSum", nil, []string{"i 4: 1 2 3 4", "i: 0"}, []string{"i 4: 1 3 6 10"}},
	{"TopK", nil, []string{"f 2x3: 1 5 5 4 2 6", "i 1: 2"}, []string{"f 2x2: 5 5 6 4", "i 2x2: 1 2 2 0"}},
	{"TopK", []onnx.NewAttribute{{Name: "largest", Value: int64(0)}, {Name: "axis", Value: int64(0)}}, []string{"i 3x2: 3 1 2 9 1 4", "i 1: 3"}, []string{"i 3x2: 1 1 2 4 3 9", "i 3x2: 2 0 1 2 0 1"}},
	{"TopK", nil, []string{"f 2x3", "i 1: 2"}, []string{"f 2x2", "i 2x2"}},
	{"ArgMax", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}, {Name: "keepdims", Value: int64(0)}}, []string{"f 2x3: 1 5 5 4 2 6"}, []string{"i 2: 1 2"}},
	{"ArgMin", []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}, []string{"f 2x3: 1 5 5 4 2 6"}, []string{"i 1x3: 0 1 0"}},
	{"BitShift", []onnx.NewAttribute{{Name: "direction", Value: "RIGHT"}}, []string{"i 4: 0 1 5 8", "i 1: 1"}, []string{"i 4: 0 0 2 4"}},
	{"BitShift", []onnx.NewAttribute{{Name: "direction", Value: "LEFT"}}, []string{"i 4: 0 1 5 8", "i 1: 1"}, []string{"i 4"}},
	{"ConvTranspose", []onnx.NewAttribute{{Name: "strides", Value: []int64{2, 2}}}, []string{"f 1x2x3x5", "f 2x4x2x2"}, []string{"f 1x4x6x10"}},
	{"ConvTranspose", []onnx.NewAttribute{{Name: "strides", Value: []int64{2}}, {Name: "pads", Value: []int64{1, 1}}, {Name: "output_padding", Value: []int64{1}}, {Name: "group", Value: int64(2)}},
		[]string{"f 1x2x3", "f 2x3x3"}, []string{"f 1x6x6"}},
	{"ConvTranspose", []onnx.NewAttribute{{Name: "output_shape", Value: []int64{9, 8}}}, []string{"f 1x2x3x3", "f 2x1x2x2"}, []string{"f 1x1x9x8"}},
	{"ConvTranspose", []onnx.NewAttribute{{Name: "auto_pad", Value: "SAME_UPPER"}, {Name: "strides", Value: []int64{3}}}, []string{"f 1x2x4", "f 2x1x5"}, []string{"f 1x1x12"}},
	{"ConvTranspose", nil, []string{"f 1x3x4", "f 2x1x5"}, []string{"error"}},
	{"ConvTranspose", []onnx.NewAttribute{{Name: "pads", Value: []int64{9, 9}}}, []string{"f 1x2x4", "f 2x1x5"}, []string{"error"}},
	{"Col2Im", nil, []string{"f 2x12x9", "i 2: 4 4", "i 2: 2 2"}, []string{"f 2x3x4x4"}},
	{"Col2Im", nil, []string{"f 2x13x9", "i 2: 4 4", "i 2: 2 2"}, []string{"error"}},
	{"CumSum", []onnx.NewAttribute{{Name: "exclusive", Value: int64(1)}}, []string{"i 4: 1 2 3 4", "i: 0"}, []string{"i 4: 0 1 3 6"}},
	{"CumSum", []onnx.NewAttribute{{Name: "reverse", Value: int64(1)}}, []string{"i 4: 1 2 3 4", "i: 0"}, []string{"i 4: 10 9 7 4"}},
	{"CumSum", []onnx.NewAttribute{{Name: "reverse", Value: int64(1)}, {Name: "exclusive", Value: int64(1)}}, []string{"i 2x2: 1 2 3 4", "i: -1"}, []string{"i 2x2: 2 0 4 0"}},
	{"CumSum", nil, []string{"i 2: 1 2", "i: 1"}, []string{"error"}},
	{"Range", nil, []string{"i: 2", "i: 9", "i: 3"}, []string{"i 3: 2 5 8"}},
	{"Range", nil, []string{"i: 3", "i: -1", "i: -1"}, []string{"i 4: 3 2 1 0"}},
	{"Range", nil, []string{"f: 0", "f: 1", "f: 0.25"}, []string{"f 4: 0 0.25 0.5 0.75"}},
	{"Range", nil, []string{"i: 3", "i: 1", "i: 1"}, []string{"i 0:"}},
	{"Range", nil, []string{"i: 3", "i: 9", "i: 0"}, []string{"?"}},
	{"Range", nil, []string{"i: 0", "i: 1000000", "i: 1"}, []string{"i 1000000"}},
	{"Range", nil, []string{"i: 0", "i: " + maxInt, "i: 1"}, []string{"?"}},
	{"Trilu", nil, []string{"i 3x3: 1 2 3 4 5 6 7 8 9"}, []string{"i 3x3: 1 2 3 0 5 6 0 0 9"}},
	{"Trilu", []onnx.NewAttribute{{Name: "upper", Value: int64(0)}}, []string{"i 3x3: 1 2 3 4 5 6 7 8 9", "i: -1"}, []string{"i 3x3: 0 0 0 4 0 0 7 8 0"}},
	{"Trilu", nil, []string{"i 2x3: 1 2 3 4 5 6", "i: 1"}, []string{"i 2x3: 0 2 3 0 0 6"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "i,j->ij"}}, []string{"f 2: 1 2", "f 3: 1 10 100"}, []string{"f 2x3: 1 10 100 2 20 200"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "bij, bjk -> bik"}}, []string{"f 1x2x2: 1 2 3 4", "f 1x2x1: 5 6"}, []string{"f 1x2x1: 17 39"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "ii->i"}}, []string{"f 2x2: 1 2 3 4"}, []string{"f 2: 1 4"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "ij->"}}, []string{"f 2x2: 1 2 3 4"}, []string{"f: 10"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "ij,jk->ik"}}, []string{"f 2x2", "f 3x2"}, []string{"error"}},
	{"Einsum", []onnx.NewAttribute{{Name: "equation", Value: "ij->ik"}}, []string{"f 2x2: 1 2 3 4"}, []string{"error"}},
	{"MatMul", nil, []string{"f 2x2: 1 2 3 4", "f 2: 5 6"}, []string{"f 2: 17 39"}},
	{"MatMul", nil, []string{"f 2: 5 6", "f 2x2: 1 2 3 4"}, []string{"f 2: 23 34"}},
	{"MatMul", nil, []string{"f 2: 5 6", "f 2: 1 2"}, []string{"f: 17"}},
	{"MatMul", nil, []string{"f 3x1x4x2", "f 5x2x7"}, []string{"f 3x5x4x7"}},
	{"MatMul", nil, []string{"f 2x1x2: 1 2 3 4", "f 2x2: 1 10 100 1000"}, []string{"f 2x1x2: 201 2010 403 4030"}},
	{"MatMul", nil, []string{"f 2x3", "f 4x5"}, []string{"error"}},
	{"Split", nil, []string{"i 6: 0 1 2 3 4 5", "i 2: 2 4"}, []string{"i 2: 0 1", "i 4: 2 3 4 5"}},
	{"Split", []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}}, []string{"i 2x4: 0 1 2 3 4 5 6 7"}, []string{"i 2x2: 0 1 4 5", "i 2x2: 2 3 6 7"}},
	{"Split", []onnx.NewAttribute{{Name: "num_outputs", Value: int64(3)}}, []string{"i 7: 0 1 2 3 4 5 6"}, []string{"i 3: 0 1 2", "i 3: 3 4 5", "i 1: 6"}},
	{"Split", nil, []string{"i 6: 0 1 2 3 4 5", "i 2: 2 5"}, []string{"error", "error"}},
	{"Split", nil, []string{"i 6: 0 1 2 3 4 5", "i 2: -1 7"}, []string{"error", "error"}},
	{"ScatterND", nil, []string{"i 4: 0 0 0 0", "i 2x1: 1 -1", "i 2: 7 8"}, []string{"i 4: 0 7 0 8"}},
	{"ScatterND", nil, []string{"i 2x2: 1 2 3 4", "i 1x1: 1", "i 1x2: 8 9"}, []string{"i 2x2: 1 2 8 9"}},
	{"ScatterND", nil, []string{"i 4: 0 0 0 0", "i 1x1: 4", "i 1: 7"}, []string{"error"}},
	{"CumSum", nil, []string{"i 99999999999x0:", "i: 1"}, []string{"i 99999999999x0:"}}, // no elements, whatever the sizes claim
	{"MatMul", nil, []string{"f 99999999999x0:", "f 0x0:"}, []string{"f 99999999999x0:"}},
	{"MatMul", nil, []string{"f 99999999999x0x1:", "f 1x1: 2"}, []string{"f 99999999999x0x1:"}},
	{"Gemm", nil, []string{"f 99999999999x0:", "f 0x0:"}, []string{"f 99999999999x0:"}},
	{"ReduceSum", nil, []string{"f 99999999999x0:", "i 1: 1"}, []string{"f 99999999999x1"}},
	{"DynamicQuantizeLinear", nil, []string{"f 2: 3e38 -3e38"}, []string{"? 2", "f", "?"}},
	{"EyeLike", nil, []string{"i 99999999999x0:"}, []string{"i 99999999999x0:"}},
	{"Pad", nil, []string{"i 99999999999x0:", "i 4: 1 0 1 0"}, []string{"i 100000000001x0:"}},
	{"Gather", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, []string{"i 99999999999x2x0:", "i 1: 1"}, []string{"i 99999999999x1x0:"}},
	{"Concat", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, []string{"i 99999999999x0:", "i 99999999999x0:"}, []string{"i 99999999999x0:"}},
	{"ScatterElements", nil, []string{"i 3x3: 0 0 0 0 0 0 0 0 0", "i 2x3: 1 0 2 0 2 -2", "f 2x3: 1 2 3 4 5 6"}, []string{"i 3x3"}},
	{"ScatterElements", nil, []string{"i 3x3: 0 0 0 0 0 0 0 0 0", "i 2x3: 1 0 2 0 2 -2", "i 2x3: 1 2 3 4 5 6"}, []string{"i 3x3: 4 2 0 1 0 6 0 5 3"}},
	{"ScatterElements", []onnx.NewAttribute{{Name: "axis", Value: int64(1)}}, []string{"f 1x4: 1 2 3 4", "i 1x2: 1 3", "f 1x2: 9 8"}, []string{"f 1x4: 1 9 3 8"}},
	{"ScatterElements", []onnx.NewAttribute{{Name: "reduction", Value: "add"}}, []string{"f 2: 1 2", "i 1: 1", "f 1: 9"}, []string{"f 2"}},
	{"ScatterElements", nil, []string{"f 2: 1 2", "i 1: 2", "f 1: 9"}, []string{"error"}},
	{"ScatterElements", nil, []string{"f 2: 1 2", "i 1: 1", "f 2: 9 9"}, []string{"error"}},
	{"Scatter", nil, []string{"f 2: 1 2", "i 1x1: 0", "f 1x1: 9"}, []string{"error"}},
	{"OneHot", nil, []string{"i 3: 1 -1 5", "i: 3", "f 2: 0 1"}, []string{"f 3x3: 0 1 0 0 0 1 0 0 0"}},
	{"OneHot", []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}, []string{"i 2: 1 0", "i: 2", "i 2: 7 9"}, []string{"i 2x2: 7 9 9 7"}},
	{"Resize", nil, []string{"f 1x1x2x2", "-", "f 4: 1 1 2 3"}, []string{"f 1x1x4x6"}},
	{"Resize", nil, []string{"f 1x1x2x2", "-", "-", "i 4: 1 1 5 1"}, []string{"f 1x1x5x1"}},
	{"Upsample", []onnx.NewAttribute{{Name: "scales", Value: []float32{1, 1, 2, 3}}}, []string{"f 1x1x2x2"}, []string{"f 1x1x4x6"}},
	{"Upsample", []onnx.NewAttribute{{Name: "scales", Value: []int64{1, 1, 2, 2}}}, []string{"f 1x1x2x2"}, []string{"f 1x1x4x4"}},
	{"Upsample", []onnx.NewAttribute{{Name: "scales", Value: []int64{2, 2}}}, []string{"f 1x1x2x2"}, []string{"?"}},
	{"DFT", []onnx.NewAttribute{{Name: "onesided", Value: int64(1)}}, []string{"f 2x9x1"}, []string{"f 2x5x2"}},
	{"DFT", []onnx.NewAttribute{{Name: "axis", Value: int64(2)}}, []string{"f 2x3x9x2", "i: 16"}, []string{"f 2x3x16x2"}},
	{"DFT", []onnx.NewAttribute{{Name: "onesided", Value: int64(1)}, {Name: "inverse", Value: int64(1)}}, []string{"f 2x3x9x2", "i: 16", "i: -2"}, []string{"f 2x3x16x1"}},
	{"DFT", nil, []string{"f 2x3x9x2", "", "i: 3"}, []string{"?"}},
	{"DeformConv", []onnx.NewAttribute{{Name: "kernel_shape", Value: []int64{3, 3}}, {Name: "pads", Value: []int64{1, 1, 1, 1}}}, []string{"f 1x2x5x6", "f 4x2x3x3", "f 1x18x5x6"}, []string{"f 1x4x5x6"}},
	{"com.microsoft NhwcConv", []onnx.NewAttribute{{Name: "strides", Value: []int64{4, 4}}}, []string{"f 1x8x12x3", "f 6x4x4x3"}, []string{"f 1x2x3x6"}},
	{"com.microsoft NhwcConv", nil, []string{"f 1x8x12x4", "f 6x4x4x3"}, []string{"error"}},
	{"com.microsoft NhwcFusedConv", []onnx.NewAttribute{{Name: "strides", Value: []int64{4, 4}}}, []string{"f 1x8x12x3", "f 6x3x4x4"}, []string{"f 1x2x3x6"}},
	{"com.microsoft NhwcMaxPool", []onnx.NewAttribute{{Name: "kernel_shape", Value: []int64{2, 3}}, {Name: "strides", Value: []int64{2, 3}}}, []string{"f 1x8x12x3"}, []string{"f 1x4x4x3"}},
	{"com.microsoft QLinearConv", []onnx.NewAttribute{{Name: "channels_last", Value: int64(1)}}, []string{"f 1x8x12x3", "f: 1", "f: 0", "f 6x3x8x12", "f: 1", "f: 0", "f: 1", "f: 0"}, []string{"f 1x1x1x6"}},
	{"com.microsoft QLinearConv", nil, []string{"f 1x3x8x12", "f: 1", "f: 0", "f 6x3x8x12", "f: 1", "f: 0", "f: 1", "f: 0"}, []string{"f 1x6x1x1"}},
	{"com.microsoft QLinearGlobalAveragePool", []onnx.NewAttribute{{Name: "channels_last", Value: int64(1)}}, []string{"f 1x8x12x3", "f: 1", "f: 0", "f: 1", "f: 0"}, []string{"f 1x1x1x3"}},
	{"com.microsoft QLinearWhere", nil, []string{"b 2: 1 0", "f 3x2", "f: 1", "f: 0", "f 1x2", "f: 1", "f: 0", "f: 1", "f: 0"}, []string{"f 3x2"}},
	{"com.microsoft SkipGroupNorm", nil, []string{"f 1x4x4x8", "f 8", "f 8", "f 1x1x1x8"}, []string{"f 1x4x4x8", "f 1x4x4x8"}},
	{"com.microsoft BiasSplitGelu", nil, []string{"f 1x5x8", "f 8"}, []string{"f 1x5x4"}},
	{"GridSample", nil, []string{"f 1x1x2x3: 0 1 2 3 4 5", "f 1x1x4x2: -1 -1 0.7 -0.7 0.1 0.9 9 9"}, []string{"f 1x1x1x4: 0 2 4 5"}},
	{"GridSample", []onnx.NewAttribute{{Name: "align_corners", Value: int64(1)}}, []string{"f 1x1x1x4: 0 1 2 3", "f 1x1x2x2: 0.4 0 0.3 0"}, []string{"f 1x1x1x2: 2 2"}},
	{"GridSample", nil, []string{"f 1x1x2x3: 0 1 2 3 4 5", "f 1x1x2x2"}, []string{"f 1x1x1x2"}},
	{"GridSample", nil, []string{"f 1x1x0x3:", "f 1x1x1x2: 0 0"}, []string{"f 1x1x1x1"}},
	{"GridSample", nil, []string{"f 1x1x2x3: 0 1 2 3 4 5", "f 1x1x1x3: 0 0 0"}, []string{"f 1x1x1x1"}},
	{"Concat", []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}}, []string{"i 2x1: 1 2", "i 2x2: 3 4 5 6"}, []string{"i 2x3: 1 3 4 2 5 6"}},
	{"Concat", []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}, []string{"i 2x1: 1 2", "i 2x2: 3 4 5 6"}, []string{"error"}},
	{"Concat", []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}, []string{"i 1: 1", "f 2: 2 3"}, []string{"i 3"}},
	{"Concat", []onnx.NewAttribute{{Name: "axis", Value: int64(0)}}, []string{"i 0:", "f 2: 2 3"}, []string{"i 2: 2 3"}},
	{"Transpose", []onnx.NewAttribute{{Name: "perm", Value: []int64{1, 0}}}, []string{"i 2x3: 0 1 2 3 4 5"}, []string{"i 3x2: 0 3 1 4 2 5"}},
	{"Transpose", []onnx.NewAttribute{{Name: "perm", Value: []int64{1}}}, []string{"i 2x3: 0 1 2 3 4 5"}, []string{"error"}},
	{"Unsqueeze", nil, []string{"i 2: 1 2", "i 2: -1 0"}, []string{"i 1x2x1: 1 2"}},
	{"Squeeze", nil, []string{"i 1x2x1: 1 2"}, []string{"i 2: 1 2"}},
	{"Squeeze", nil, []string{"i 1x2x1: 1 2", "i 1: 1"}, []string{"error"}},
	{"Shape", []onnx.NewAttribute{{Name: "start", Value: int64(-2)}}, []string{"f 3x4x5"}, []string{"i 2: 4 5"}},
	{"Shape", []onnx.NewAttribute{{Name: "start", Value: int64(2)}, {Name: "end", Value: int64(1)}}, []string{"f 3x4x5"}, []string{"i 0:"}},
	{"ConstantOfShape", nil, []string{"i 2: 1 2"}, []string{"f 1x2: 0 0"}},
	{"ConstantOfShape", nil, []string{"i 2: -1 2"}, []string{"error"}},
	{"Mod", nil, []string{"i 4: -7 7 -7 7", "i 4: 3 3 -3 -3"}, []string{"i 4: 2 1 -1 -2"}},
	{"Mod", []onnx.NewAttribute{{Name: "fmod", Value: int64(1)}}, []string{"i 2: -7 7", "i: 3"}, []string{"i 2: -1 1"}},
	{"Div", nil, []string{"i 3: -7 7 1", "i 3: 2 2 0"}, []string{"i 3: -3 3 0"}},
	{"Add", nil, []string{"f 2x1", "f 3"}, []string{"f 2x3"}},
	{"Add", nil, []string{"f 2", "f 3"}, []string{"error"}},
	{"Mul", nil, []string{"i: 4611686018427387905", "i: 2"}, []string{"i: -9.223372e+18"}},
	{"Clip", nil, []string{"i 3: -5 0 5", "i: -1", "i: 2"}, []string{"i 3: -1 0 2"}},
	{"Cast", []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Int64)}}, []string{"f 3: -1.5 1.5 2.999"}, []string{"i 3: -1 1 2"}},
	{"Cast", []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Int4)}}, []string{"f 3: -9 7 8"}, []string{"? 3: 7 7 -8"}},
	{"Cast", []onnx.NewAttribute{{Name: "to", Value: int64(onnx.Uint8)}}, []string{"i 3: -1 255 300"}, []string{"? 3: 255 255 44"}},
	{"ReduceSum", nil, []string{"i 2x2: 1 2 3 4", "i 1: 1"}, []string{"i 2x1: 3 7"}},
	{"ReduceMax", []onnx.NewAttribute{{Name: "keepdims", Value: int64(0)}}, []string{"i 2x2: 1 2 3 4"}, []string{"i: 4"}},
	{"NonZero", nil, []string{"i 2x2: 1 0 0 4"}, []string{"i 2x2: 0 1 0 1"}},
	{"Pad", nil, []string{"f 2x2", "i 4: 0 1 0 2"}, []string{"f 2x5"}},
	{"Pad", nil, []string{"f 2x2", "i 4: 0 -3 0 0"}, []string{"error"}},
	{"Pad", nil, []string{"f 2x2: 1 2 3 4", "i 4: 0 1 0 -1"}, []string{"f 2x2: 0 1 0 3"}},
	{"Pad", nil, []string{"i 2: 5 6", "i 2: 1 2", "i: 9"}, []string{"i 5: 9 5 6 9 9"}},
	{"Pad", nil, []string{"f 0:", "i 2: 1 1", "f: 0.5"}, []string{"f 2: 0.5 0.5"}},
	{"Pad", nil, []string{"f 1: 1", "i 2: 1 1", "f"}, []string{"f 3"}},
	{"Pad", []onnx.NewAttribute{{Name: "mode", Value: "wrap"}}, []string{"f 3: 2 3 1", "i 2: -2 3"}, []string{"f 4"}},
	{"OneHot", nil, []string{"i 3: 1 2 0", "f: 2.5", "f 2: 0 1"}, []string{"f 3x2: 0 1 0 0 1 0"}},
	{"OneHot", nil, []string{"i 1: 1", "f: NaN", "f 2: 0 1"}, []string{"error"}},
	{"Pad", nil, []string{"f 1x2: 1 2", "i 2: 1 1", "f: 7", "i 1: -1"}, []string{"f 1x4: 7 1 2 7"}},
	{"Pad", []onnx.NewAttribute{{Name: "mode", Value: "reflect"}}, []string{"f 3: 1 2 3", "i 2: 2 3"}, []string{"f 8: 3 2 1 2 3 2 1 2"}},
	{"Pad", []onnx.NewAttribute{{Name: "mode", Value: "edge"}}, []string{"f 2: 1 2", "i 2: 1 2"}, []string{"f 5: 1 1 2 2 2"}},
	{"Pad", []onnx.NewAttribute{{Name: "mode", Value: "wrap"}}, []string{"f 2: 1 2", "i 2: 1 2"}, []string{"f 5: 2 1 2 1 2"}},
	{"Pad", []onnx.NewAttribute{{Name: "pads", Value: []int64{1, 0}}, {Name: "value", Value: float32(3)}}, []string{"f 2: 1 2"}, []string{"f 3: 3 1 2"}},
	{"MatMulInteger", nil, []string{"i 2x2: 1 2 3 4", "i 2x1: 5 6", "i: 1", "i: 4"}, []string{"? 2x1: 2 8"}},
	{"MatMulInteger", nil, []string{"i 2x2: 1 2 3 4", "i 2x2: 5 6 7 8", "i 2: 1 3", "i 2: 5 6"}, []string{"? 2x2: 2 2 2 2"}},
	{"MatMulInteger", nil, []string{"i 2x2: 1 2 3 4", "i 2x2: 5 6 7 8", "i: 1", "i"}, []string{"? 2x2"}},
	{"DynamicQuantizeLinear", nil, []string{"f 4: -1 0 1.55 0.5"}, []string{"? 4: 0 100 255 150", "f: 0.01", "?: 100"}},
	{"DynamicQuantizeLinear", nil, []string{"f 2: 0 0"}, []string{"? 2", "f", "?"}},
	{"Gemm", []onnx.NewAttribute{{Name: "transB", Value: int64(1)}}, []string{"f 2x3", "f 5x3"}, []string{"f 2x5"}},
	{"Gemm", []onnx.NewAttribute{{Name: "transB", Value: int64(1)}, {Name: "alpha", Value: float32(2)}, {Name: "beta", Value: float32(0.5)}},
		[]string{"f 2x3: 1 2 3 4 5 6", "f 2x3: 1 0 2 0 1 1", "f 2: 4 8"}, []string{"f 2x2: 16 14 34 26"}},
	{"Gemm", []onnx.NewAttribute{{Name: "transA", Value: int64(1)}}, []string{"f 3x1: 1 2 3", "f 3x2: 1 0 2 1 0 1"}, []string{"f 1x2: 5 5"}},
	{"Flatten", []onnx.NewAttribute{{Name: "axis", Value: int64(-1)}}, []string{"f 2x3x4"}, []string{"f 6x4"}},
	{"Flatten", []onnx.NewAttribute{{Name: "axis", Value: int64(-3)}}, []string{"f 2x3x4"}, []string{"f 1x24"}},
	{"Loop", nil, []string{"i: 3", "b: 1"}, []string{"?"}},
	{"NoSuchOperator", nil, []string{"f 2"}, []string{"?"}},
}

func TestOperators(t *testing.T) {
	for _, c := range operators {
		domain, op, of := strings.Cut(c.op, " ")
		if !of {
			domain, op = "", c.op
		}
		node := onnx.NewNode{Op: op, Domain: domain, Attributes: c.attributes}
		inputs := map[string]*Value{}
		for i, text := range c.in {
			name := ""
			if v := val(text); v != nil {
				name = fmt.Sprint("in", i)
				inputs[name] = v
			}
			node.Inputs = append(node.Inputs, name)
		}
		for i := range c.out {
			node.Outputs = append(node.Outputs, fmt.Sprint("out", i))
		}
		b := onnx.NewModel{Opset: 18, Nodes: []onnx.NewNode{node}}.Build()
		f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		e := New(f, inputs)
		e.Run()
		for i, want := range c.out {
			got := say(e.Main.Value(fmt.Sprint("out", i)))
			if len(e.Failures) > 0 {
				got = "error"
			}
			if got != want {
				t.Errorf("%s%v %v: output %d is %s, want %s (%v)", c.op, c.attributes, c.in, i, got, want, e.Failures)
			}
		}
	}
}

// The helpers below write what onnx.NewModel has no words for.

func msg(n protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), bytes.Join(parts, nil))
}

func txt(n protowire.Number, s string) []byte { return msg(n, []byte(s)) }

func num(n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
}

func node(field protowire.Number, op string, in, out string, more ...[]byte) []byte {
	parts := [][]byte{txt(4, op)}
	for _, s := range strings.Fields(in) {
		parts = append(parts, txt(1, s))
	}
	for _, s := range strings.Fields(out) {
		parts = append(parts, txt(2, s))
	}
	return msg(field, append(parts, more...)...)
}

func model(t *testing.T, parts ...[]byte) *onnx.File {
	t.Helper()
	b := bytes.Join(append([][]byte{num(1, 8), msg(8, num(2, 17))}, parts...), nil)
	f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func intAttribute(name string, v int64) []byte {
	return msg(5, txt(1, name), num(3, uint64(v)), num(20, 2))
}

// TestIf takes the branch that the condition chooses, and of an unknown one
// what both agree in.
func TestIf(t *testing.T) {
	branch := func(name string, v int64, bad bool) []byte {
		nodes := append(node(1, "Constant", "", "c", intAttribute("value_int", v)), node(1, "Add", "outer c", "o_"+name)...)
		if bad {
			nodes = append(nodes, node(1, "Reshape", "outer shape", "never")...)
		}
		return msg(5, txt(1, name), msg(6, nodes, msg(12, txt(1, "o_"+name))), num(20, 5))
	}
	f := model(t, msg(7, node(1, "If", "condition", "o", branch("then_branch", 5, true), branch("else_branch", 7, false)), node(1, "Add", "o outer", "p")))
	inputs := map[string]*Value{"outer": val("i 2: 1 2"), "shape": val("i 1: 5")}
	for _, c := range []struct {
		condition, want string
		failures        int
	}{{"b: 1", "i 2: 7 9", 1}, {"b: 0", "i 2: 9 11", 0}, {"b", "i 2", 1}} {
		inputs["condition"] = val(c.condition)
		e := New(f, inputs)
		e.Run()
		if got := say(e.Main.Value("p")); got != c.want || len(e.Failures) != c.failures {
			t.Errorf("condition %s: %s, %d failures; want %s, %d", c.condition, got, len(e.Failures), c.want, c.failures)
		}
	}
}

// TestFunctions evaluates local functions that hand attributes on, from call
// to call.
func TestFunctions(t *testing.T) {
	local := txt(7, "local")
	ref := func(name, from string) []byte { return msg(5, txt(1, name), txt(21, from), num(20, 2)) }
	inner := msg(25, txt(1, "pick"), txt(10, "local"), txt(4, "x"), txt(4, "i"), txt(5, "y"), txt(6, "along"), node(7, "Gather", "x i", "y", ref("axis", "along")))
	preset := msg(25, txt(1, "second"), txt(10, "local"), txt(4, "x"), txt(5, "y"), msg(11, txt(1, "along"), num(3, 1), num(20, 2)),
		node(7, "Constant", "", "one", intAttribute("value_int", 1)), node(7, "Gather", "x one", "y", ref("axis", "along")))
	outer := msg(25, txt(1, "twice"), txt(10, "local"), txt(4, "a"), txt(5, "b"), txt(6, "dim"),
		node(7, "Constant", "", "zero", intAttribute("value_int", 0)),
		node(7, "pick", "a zero", "first", local, ref("along", "dim")), node(7, "Add", "first first", "b"))
	f := model(t, msg(7, node(1, "twice", "x", "rows", local, intAttribute("dim", 0)), node(1, "twice", "x", "columns", local, intAttribute("dim", 1)), node(1, "twice", "x", "default", local),
		node(1, "second", "x", "preset", local), node(1, "second", "x", "set", local, intAttribute("along", 0))), inner, outer, preset)
	e := New(f, map[string]*Value{"x": val("i 2x3: 1 2 3 4 5 6")})
	e.Run()
	for name, want := range map[string]string{"rows": "i 3: 2 4 6", "columns": "i 2: 2 8", "default": "i 3: 2 4 6", "preset": "i 2: 2 5", "set": "i 3: 4 5 6"} {
		if got := say(e.Main.Value(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if n := len(e.Scopes()); n != 9 {
		t.Errorf("%d scopes, want the main graph, two for each of three calls, and two more", n)
	}
	call := e.Main.Call(f.Graph.Nodes[1])
	if call == nil || call.Outer != e.Main || e.Scopes()[call.Index()] != call {
		t.Fatal("the scope of the second call is not found")
	}
	if name, s := call.Through("a"); name != "x" || s != e.Main {
		t.Errorf("a stands for %s", name)
	}
}

// TestDoublingFunctions ends on forty functions that each call the next twice.
func TestDoublingFunctions(t *testing.T) {
	parts := [][]byte{msg(7, node(1, "f0", "x", "y", txt(7, "local")))}
	for i := range 40 {
		next := fmt.Sprint("f", i+1)
		parts = append(parts, msg(25, txt(1, fmt.Sprint("f", i)), txt(10, "local"), txt(4, "a"), txt(5, "c"), node(7, next, "a", "b", txt(7, "local")), node(7, next, "b", "c", txt(7, "local"))))
	}
	e := New(model(t, parts...), map[string]*Value{"x": val("f 2")})
	e.Run()
	if n := len(e.Scopes()); n > maxScopes {
		t.Errorf("%d scopes", n)
	}
}

// TestCycle ends on nodes that need their own output.
func TestCycle(t *testing.T) {
	e := New(model(t, msg(7, node(1, "Add", "b x", "a"), node(1, "Add", "a x", "b"), node(1, "Identity", "i", "i"))), map[string]*Value{"x": val("i: 1")})
	e.Run()
	if e.Main.Value("a").Known() {
		t.Error("a node of a cycle has a value")
	}
	e.Main.Through("i")
}

// TestCounts tells lists that count from others.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		value string
		axis  int
		first int64
		ok    bool
	}{
		{"i 3: 0 1 2", 0, 0, true}, {"i 3: 2 3 4", 0, 2, true}, {"i 1x3: 5 6 7", 1, 5, true}, {"i 3x1: 5 6 7", 0, 5, true},
		{"i 2x3: 0 1 2 0 1 2", 1, 0, true}, {"i 3x2: 0 0 1 1 2 2", 0, 0, true}, {"i 6: 0 1 2 0 1 2", 0, 0, true},
		{"i 3: 0 1 3", 0, 0, false}, {"i 3: 2 1 0", 0, 0, false}, {"i 1: 0", 0, 0, false}, {"i 3: 7 7 7", 0, 0, false}, {"i 5: 0 1 2 0 1", 0, 0, false}, {"i 0:", 0, 0, false}, {"f 2: 0 1", 0, 0, false},
	} {
		axis, first, ok := val(c.value).Counts()
		if ok != c.ok || ok && (axis != c.axis || first != c.first) {
			t.Errorf("%s: axis %d from %d, %v", c.value, axis, first, ok)
		}
	}
}

// TestOverlay puts another constant in the place of the file's.
func TestOverlay(t *testing.T) {
	raw := make([]byte, 8*4)
	b := onnx.NewModel{Opset: 17, Initializers: []onnx.NewTensor{{Name: "w", Type: onnx.Float, Dims: []int64{4, 2}, Raw: raw}},
		Nodes: []onnx.NewNode{{Op: "Gather", Inputs: []string{"w", "i"}, Outputs: []string{"o"}}}}.Build()
	f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	run := func(rows int) *Evaluator {
		e := New(f, map[string]*Value{"i": val("i 2: 3 4")})
		if rows > 0 {
			e.Overlay[f.Graph.Initializers[0]] = Shaped(onnx.Float, rows, 2)
		}
		e.Run()
		return e
	}
	if e := run(0); len(e.Failures) != 1 || e.Failures[0].Node.Op != "Gather" {
		t.Errorf("four rows: %v", e.Failures)
	}
	if e := run(5); len(e.Failures) != 0 || !slices.Equal(e.Main.Value("o").Shape, []int{2, 2}) {
		t.Errorf("five rows: %v", e.Failures)
	}
}

// TestRound replays a graph's precision.
func TestRound(t *testing.T) {
	for _, c := range []struct {
		t    onnx.DataType
		want float64
	}{{onnx.Float, float64(float32(0.1))}, {onnx.Double, 0.1}, {onnx.Float16, 0.0999755859375}, {onnx.BFloat16, 0.10009765625}} {
		if got := round(c.t, 0.1); got != c.want {
			t.Errorf("0.1 as %v is %v, want %v", c.t, got, c.want)
		}
	}
	if onnx.Size([]int{math.MaxInt, math.MaxInt, 0}) != 0 || onnx.Size([]int{1 << 40, 1 << 40}) <= 0 {
		t.Error("a product wraps")
	}
}

// TestPositionIDs evaluates the graphs that exporters make of position ids
// which depend on padding, against transformers (golden/misc.json).
func TestPositionIDs(t *testing.T) {
	raw, err := os.ReadFile("../../../shared/golden/misc.json")
	if err != nil {
		t.Skip("skipped by name: golden/misc.json (../shared is not here)")
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	type positions struct {
		Name   string
		Params struct {
			Input [][]int64 `json:"input_ids"`
			Mask  [][]int64 `json:"attention_mask"`
		}
		Values []int64
	}
	var cases []positions // xPos, KERPLE, FIRE and Llama 4's temperature are no schemes here
	for _, one := range all {
		if !strings.Contains(string(one), `"position ids"`) {
			continue
		}
		var c positions
		if err := json.Unmarshal(one, &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatal("no position ids among the golden numbers")
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			ids, past, first := c.Params.Input, int64(0), int64(1)
			if strings.Contains(c.Name, "past 3") {
				past = 3
			}
			input := slices.Concat(ids...)
			if c.Params.Mask != nil { // OPT counts the mask, and its rows begin at 2
				ids, input, first = c.Params.Mask, slices.Concat(c.Params.Mask...), 1
			}
			for i := range input { // Cast(Not(Equal(ids, pad))), or the mask itself
				if c.Params.Mask == nil && input[i] == 1 {
					input[i] = 0
				} else if c.Params.Mask == nil {
					input[i] = 1
				}
			}
			got := evaluatePositions(t, IntValue(onnx.Int64, []int{len(ids), len(ids[0])}, input), past, first)
			if !slices.Equal(got.Ints, c.Values) {
				t.Errorf("%v, want %v", got.Ints, c.Values)
			}
		})
	}
}

// evaluatePositions is (CumSum(kept) + past)·kept + first, as a graph.
func evaluatePositions(t *testing.T, kept *Value, past, first int64) *Value {
	t.Helper()
	number := func(name string, v int64) onnx.NewTensor {
		b, _ := onnx.EncodeInts(onnx.Int64, []int64{v}, nil)
		return onnx.NewTensor{Name: name, Type: onnx.Int64, Raw: b}
	}
	dims := []int64{int64(kept.Shape[0]), int64(kept.Shape[1])}
	m := onnx.NewModel{Opset: 17, Inputs: []onnx.NewValue{{Name: "kept", Type: onnx.Int64, Dims: dims}}, Outputs: []onnx.NewValue{{Name: "ids", Type: onnx.Int64, Dims: dims}},
		Initializers: []onnx.NewTensor{number("axis", 1), number("past", past), number("first", first)},
		Nodes: []onnx.NewNode{{Op: "CumSum", Inputs: []string{"kept", "axis"}, Outputs: []string{"counted"}}, {Op: "Add", Inputs: []string{"counted", "past"}, Outputs: []string{"later"}},
			{Op: "Mul", Inputs: []string{"later", "kept"}, Outputs: []string{"of"}}, {Op: "Add", Inputs: []string{"of", "first"}, Outputs: []string{"ids"}}}}
	b := m.Build()
	f, err := onnx.NewFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	e := New(f, map[string]*Value{"kept": kept})
	e.Run()
	return e.Main.Value("ids")
}
