package page

import (
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestLimits tells three limits apart: of a model and of each encoding.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		capacity *int
		beyond   string
		want     string
	}{{report.Pointer(24), report.BeyondError, "24 positions"}, {nil, report.BeyondContinues, "no limit"}, {nil, report.BeyondUnknown, "not known"}} {
		r := report.Inspect{Kind: report.KindModel, Length: report.Length{Capacity: c.capacity, Beyond: c.beyond},
			Encodings: []report.Encoding{{Scheme: report.SchemeLearned, Capacity: c.capacity, Beyond: c.beyond}}}
		got, err := Write(Content{Title: "a", Reports: []report.Inspect{r}})
		if err != nil {
			t.Fatal(err)
		}
		row := "<dt>longest input</dt>\n<dd>" + c.want + "</dd>"
		if n := strings.Count(string(got), row); n != 2 {
			t.Errorf("%q stands there %d times", row, n)
		}
		if headline := `<p class="headline">` + r.Headline(); !strings.Contains(string(got), headline) {
			t.Errorf("no %q", headline)
		}
	}
}
