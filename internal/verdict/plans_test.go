package verdict

import (
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestSameChanges: a plan from which a change was left out, or in which one says another thing, is another plan.
func TestSameChanges(t *testing.T) {
	base := report.Number(20000)
	a := []report.Change{{Encoding: "e0", What: "RoPE base 10000 → 20000", Expect: report.ExpectChanged, To: &report.Parameters{Base: &base}}, {What: "context length 32 → 64", Expect: report.ExpectSameOnPrefix}}
	other := report.Number(30000)
	for name, b := range map[string][]report.Change{
		"one left out":  a[:1],
		"one more":      append(append([]report.Change{}, a...), a[0]),
		"another base":  {{Encoding: "e0", What: a[0].What, Expect: a[0].Expect, To: &report.Parameters{Base: &other}}, a[1]},
		"another order": {a[1], a[0]},
		"none":          {},
	} {
		if sameChanges(a, b) {
			t.Errorf("%s: is taken for the same plan", name)
		}
	}
	same := report.Number(20000)
	if !sameChanges(a, []report.Change{{Encoding: "e0", What: a[0].What, Expect: a[0].Expect, To: &report.Parameters{Base: &same}}, a[1]}) || !sameChanges(nil, []report.Change{}) {
		t.Error("the same plan is taken for another")
	}
}
