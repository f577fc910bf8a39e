package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/report"
)

// TestTable: every id that the packages of the formats tell is in the table, every rule of
// the table is found by somebody, and every text is a sentence.
func TestTable(t *testing.T) {
	emitted := map[string]bool{}
	form := regexp.MustCompile(`"((?:gguf|onnx)-[a-z0-9]+(?:-[a-z0-9]+)*)"`)
	for _, root := range []string{"../../gguf", "../../onnx", "../../position"} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			b, err := os.ReadFile(path)
			for _, m := range form.FindAllStringSubmatch(string(b), -1) {
				emitted[m[1]] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(emitted) < 30 {
		t.Fatalf("only %d ids were found in the sources", len(emitted))
	}
	seen := map[string]bool{}
	id := regexp.MustCompile(`^[a-z]+(-[a-z0-9]+)+$`)
	for _, r := range List {
		if seen[r.ID] || !id.MatchString(r.ID) {
			t.Errorf("%q occurs twice, or is no id of two words", r.ID)
		}
		seen[r.ID] = true
		if Weight(r.Level) == 0 || r.Title == "" {
			t.Errorf("%s: level %q, title %q", r.ID, r.Level, r.Title)
		}
		for _, s := range []string{r.Says, r.Hurts, r.Mend} {
			if len(s) < 10 || strings.ContainsAny(s, "\n`") {
				t.Errorf("%s: %q is no sentence", r.ID, s)
			}
		}
		policy := slices.Contains([]string{PolicyExpectation, PatternUnmatched, WaiverExpired, WaiverUnused}, r.ID)
		if r.look == nil && !emitted[r.ID] && !policy {
			t.Errorf("%s is found by nobody", r.ID)
		}
	}
	for id := range emitted {
		if !seen[id] {
			t.Errorf("%s is told and is not in the table", id)
		}
	}
}

func TestHint(t *testing.T) {
	const lists = "modelpatch explain lists the rules"
	for misspelt, want := range map[string]string{"length-silently-wong": "did you mean length-silently-wrong? " + lists, "gguf-key-ignore": "did you mean gguf-key-ignored? " + lists, "zzz": lists} {
		if got := Hint(misspelt); got != want {
			t.Errorf("Hint(%q) = %q, not %q", misspelt, got, want)
		}
	}
}

// TestFingerprint: what moves with each export is no part of it, what names the finding is.
func TestFingerprint(t *testing.T) {
	of := func(path, rule, message, tensor string, at int64) string {
		return Fingerprint(path, report.Finding{Rule: rule, Message: message, Where: &report.Where{Tensor: tensor, Range: &[2]int64{at, at + 4}}})
	}
	a := of("m.onnx", "table-zero-rows", "3 rows", "wpe", 10)
	if a != of("m.onnx", "table-zero-rows", "5 rows", "wpe", 90) {
		t.Error("a message or an offset changes it")
	}
	for _, other := range []string{of("n.onnx", "table-zero-rows", "3 rows", "wpe", 10), of("m.onnx", "table-norm-jump", "3 rows", "wpe", 10), of("m.onnx", "table-zero-rows", "3 rows", "wte", 10)} {
		if a == other {
			t.Error("another file, rule or tensor has the same")
		}
	}
}
