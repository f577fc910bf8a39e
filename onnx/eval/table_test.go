package eval

import (
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
