package diff

import (
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestLimits: an encoding that nothing bounds and one of which the end is not known differ.
func TestLimits(t *testing.T) {
	limited := report.Encoding{Scheme: report.SchemeRope, Capacity: report.Pointer(24), Beyond: report.BeyondError}
	free, unknown := report.Encoding{Scheme: report.SchemeRope, Beyond: report.BeyondContinues}, report.Encoding{Scheme: report.SchemeRope, Beyond: report.BeyondUnknown}
	for _, c := range []struct {
		from, to report.Encoding
		want     string
	}{{limited, free, "24 positions → no limit"}, {limited, unknown, "24 positions → not known"}, {free, unknown, "no limit → not known"}} {
		if got := changes(c.from, c.to); !slices.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
