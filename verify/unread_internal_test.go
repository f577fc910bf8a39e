package verify

import (
	"errors"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// odd is the error of a table whose storage is not read.
type odd struct{}

func (odd) Error() string { return "its parts are quantised apart" }
func (odd) Unread() bool  { return true }

// TestWithoutRow: a row that cannot be read is a fault of the file, unless its storage is one that is not read.
func TestWithoutRow(t *testing.T) {
	for want, err := range map[string]error{report.CheckFail: errors.New("row 9 of 8"), report.CheckSkipped: odd{}} {
		if k := withoutRow(report.Check{Verdict: report.CheckPass}, 0, err); k.Verdict != want || !strings.Contains(k.Why, err.Error()) {
			t.Errorf("%v: %+v", err, k)
		}
	}
	c := comparison{}
	c.report.Checks = []report.Check{withoutRow(report.Check{}, 0, odd{})}
	if got := c.single(); !strings.Contains(got, "not read") {
		t.Errorf("%q", got)
	}
}
