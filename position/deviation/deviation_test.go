package deviation

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// TestRamped holds the share of frequencies that rounding moves against numbers computed by transformers
// 5.23 and the arithmetic of ONNX Runtime GenAI's builder (facts/NUMERICS §4: Qwen2.5 ×4, gpt-oss).
func TestRamped(t *testing.T) {
	for _, c := range []struct {
		name string
		r    schemes.Rotary
		want string
	}{
		{"Qwen2.5", schemes.Rotary{Base: 1e6, Dim: 128, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 4, OriginalLength: 32768}},
			"here they are rounded, and the other way 16 of 64 frequencies differ, by up to 4.7 %"},
		{"gpt-oss", schemes.Rotary{Base: 150000, Dim: 64, Scaling: schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 32, OriginalLength: 4096, NoTruncate: true}},
			"here they are not rounded, and the other way 9 of 32 frequencies differ, by up to 76 %"},
	} {
		if got, ok := ramped(c.r, report.Inspect{}); !ok || got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, ok := ramped(schemes.Rotary{Base: 1e4, Dim: 64}, report.Inspect{}); ok {
		t.Error("a ramp without YaRN")
	}
}

// TestList holds the table together: identifiers once, and every function named.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range List {
		if seen[v.ID] || !slices.Contains(Engines, v.Engine) || v.Function == "" || v.Title == "" || strings.HasSuffix(v.Does, ".") {
			t.Errorf("%+v", v)
		}
		seen[v.ID] = true
	}
}

// docs is the page with the table of deviations.
const docs = "../../docs/deviations.md"

var update = flag.Bool("update", false, "write the table of docs/deviations.md anew")

// TestDocs holds the table of the page against the deviations.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| engine | where | what it does | function |\n|---|---|---|---|\n")
	for _, v := range List {
		fmt.Fprintf(&table, "| %s | %s | %s | `%s` |\n", v.Engine, v.Title, v.Does, v.Function)
	}
	head, rest, ok := strings.Cut(string(page), "| engine |")
	_, tail, ok2 := strings.Cut(rest, "\n\n")
	if !ok || !ok2 {
		t.Fatal("the page has no table of engines")
	}
	want := head + table.String() + "\n" + tail
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Error("the table is not that of deviation.List: go test ./position/deviation -update")
	}
}
