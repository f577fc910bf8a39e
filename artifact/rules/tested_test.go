package rules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// untested are the rules that no test names so far; none is to be added.
var untested = map[string]bool{"edit-unfinished": true, "table-not-scanned": true, "cache-differs-from-formula": true, "onnx-shared-data": true, "onnx-sparse-index": true,
	"onnx-table-not-scanned": true}

// TestRulesAreTested: a rule that no test names, by its ID or by the constant that holds it, may be gone and nobody would
// notice.
func TestRulesAreTested(t *testing.T) {
	named := regexp.MustCompile(`(\w+) += +(?:site\.Rule\{ID: )?"([a-z0-9-]+)"`)
	constants := map[string][]string{} // by the ID that they hold
	var tests strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		test := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".txtar")
		if err != nil || d.IsDir() || !test && !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "rules/tested_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if test {
			tests.Write(text)
			return nil
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			constants[m[2]] = append(constants[m[2]], m[1])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]bool{}
	for _, w := range regexp.MustCompile(`[A-Za-z0-9]+(?:-[a-z0-9]+)*`).FindAllString(tests.String(), -1) {
		words[w] = true
	}
	for _, r := range List {
		found := words[r.ID]
		for _, c := range constants[r.ID] {
			found = found || words[c]
		}
		switch {
		case !found && !untested[r.ID]:
			t.Errorf("no test names %s", r.ID)
		case found && untested[r.ID]:
			t.Errorf("%s is tested by now: take it off the list", r.ID)
		}
	}
}
