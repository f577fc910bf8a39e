package axes

import (
	"testing"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// TestRulesAreThere holds that every rule that the table of operators names has its
// code here.
func TestRulesAreThere(t *testing.T) {
	for r := eval.AxisRule(1); r < eval.AxisRules; r++ {
		if rules[r] == nil {
			t.Errorf("rule %d of eval's table is not followed", r)
		}
	}
}
