package eval

import (
	"github.com/modelpatch/modelpatch/onnx"
	"slices"
	"strings"
	"testing"
)

// TestTable holds that rows stand in the order in which they are looked up, and say
// what is not modelled where something is not.
func TestTable(t *testing.T) {
	for domain, table := range map[string][]Operator{"": standardOperators[:], "com.microsoft": microsoftOperators[:], "ai.onnx.contrib": extensionOperators[:], "ai.onnx.ml": learningOperators[:]} {
		if !slices.IsSortedFunc(table, func(a, b Operator) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%q is out of order", domain)
		}
		for i := range table {
			o := &table[i]
			if Lookup(domain, o.Name) != o {
				t.Errorf("%s is not found, or stands twice", o.Name)
			}
			if whole := o.computes() && o.Axes > 0 && o.Axes != AxesAttendBlocks && o.Axes != AxesTurns && o.Axes != AxesDecode; whole != (o.NotModelled == "") {
				t.Errorf("%s: not modelled: %q", o.Name, o.NotModelled)
			}
			if o.Since < 1 {
				t.Errorf("%s is of no version", o.Name)
			}
			if o.value != nil && (o.unary != nil || o.binary != nil) || o.unary != nil && o.binary != nil {
				t.Errorf("%s is computed in two ways", o.Name)
			}
		}
	}
	if Lookup("acme", "Add") != nil || Lookup("", "FusedMatMul") != nil {
		t.Error("found in another domain")
	}
}

// TestAssumed: operators of other domains are taken for quantisers by whole names, and by no part of one.
func TestAssumed(t *testing.T) {
	for name, want := range map[string]bool{
		"Quant": true, "BipolarQuant": true, "FakeQuantize": true, "ExtendedQuantizeLinear": true, "ExtendedDequantizeLinear": true, "BFPQuantizeDequantize": true, "MXQuantizeDequantize": true, "TRT_FP8DequantizeLinear": true, "QcQuantizeOp": true,
		"QuantLinear": false, "QuantConv": false, "QuantizedAttention": false, "QuantizedRotaryEmbedding": false, "QuantLSTM": false, "QuantileNormalize": false, "Rotate": false,
	} {
		if got := Assumed("acme", name); got != want {
			t.Errorf("%s: %v", name, got)
		}
		if Assumed("", name) || Assumed("com.microsoft", name) {
			t.Errorf("%s of a known domain", name)
		}
	}
}

// TestFourierAxis: the axis of a DFT that none is given for, by the operator set.
func TestFourierAxis(t *testing.T) {
	n := &onnx.Node{Op: "DFT"}
	for opset, want := range map[int64]int{17: 1, 19: 1, 20: 2} {
		if got := FourierAxis(n, opset, unknown(), 4); got != want {
			t.Errorf("set %d: %d", opset, got)
		}
	}
}
