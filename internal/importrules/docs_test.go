package importrules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPlaces holds that every file and folder that the pages for developers name is there: by its path
// from the root, or by its name alone.
func TestPlaces(t *testing.T) {
	const root = "../.."
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(root, path)
		names[filepath.ToSlash(relative)], names[d.Name()] = true, true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	word := regexp.MustCompile("`([A-Za-z0-9_./-]+)`")
	for _, page := range []string{"CONTRIBUTING.md", "docs/architecture.md", "docs/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, m := range word.FindAllStringSubmatch(string(text), -1) {
			path := strings.TrimSuffix(strings.TrimPrefix(m[1], "./"), "/")
			if !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".py") && !strings.HasSuffix(path, ".json") || strings.ContainsAny(path, "*") {
				continue
			}
			if strings.Contains(path, "NAME") || strings.Contains(path, "VERB") || strings.Contains(path, "SCHEME") || strings.HasPrefix(path, "../") {
				continue
			}
			seen++
			if !names[path] && !names["position/"+path] && !names["cmd/modelpatch/"+path] && !names["schemes/"+path] {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
		if seen == 0 && page != "docs/README.md" {
			t.Errorf("%s names no file", page)
		}
	}
}

// TestOptionalInterfaces holds that each interface of package position that verbs, the verifier or the
// writers ask a site or a model for is in the list of what implements it, where the compiler holds it: a
// method that is renamed would make it fall silent.
func TestOptionalInterfaces(t *testing.T) {
	listed := ""
	for _, path := range []string{"../../position/onnxpos/implements.go", "../../position/ggufpos/implements.go"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		listed += string(text)
	}
	paths, err := filepath.Glob("../../position/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^type ([A-Z]\w*) interface`).FindAllStringSubmatch(string(text), -1) {
			found++
			if m[1] != "RowSource" && !strings.Contains(listed, "position."+m[1]+" ") { // rows are handed over, not asked for
				t.Errorf("%s: nothing is listed that implements position.%s", filepath.Base(path), m[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("%d interfaces are found", found)
	}
}
