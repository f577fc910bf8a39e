package parameters

import (
	"reflect"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestScalingNumbers holds the list against the fields of a report: each number is there once, with a label, and comes
// back as it was.
func TestScalingNumbers(t *testing.T) {
	given := schemes.Scaling{Type: schemes.ScalingYaRN}
	for i, n := range ScalingNumbers {
		if n.Label == "" || (n.real == nil) == (n.whole == nil) {
			t.Errorf("%s: label %q, or not exactly one field", n.Name, n.Label)
		}
		n.Set(&given, float64(i+1))
	}
	said := scaling(given)
	numbers := 0
	for _, field := range reflect.ValueOf(*said).Fields() {
		switch v := field.Interface().(type) {
		case *report.Number, *int:
			numbers++
			if reflect.ValueOf(v).IsNil() {
				t.Errorf("a number of report.Scaling is not in the list: %+v", *said)
			}
		}
	}
	if numbers != len(ScalingNumbers) {
		t.Errorf("%d numbers in report.Scaling, %d in the list", numbers, len(ScalingNumbers))
	}
	var back schemes.Scaling
	for i, n := range ScalingNumbers {
		n.take(&back, *said)
		if n.Get(back) != float64(i+1) {
			t.Errorf("%s: %g came back as %g", n.Name, float64(i+1), n.Get(back))
		}
	}
}
