// Package wording holds the words of this program: no code, a test that reads what the other packages may print.
package wording

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var list = flag.String("messages", "", "write the table of all messages to this file: place and text, with a tab between")

// notUnderstood are words that readers stumbled over: engineers who know the formats and had not
// seen the code.
var notUnderstood = []string{
	"computed anew", "and others besides", "the bounds of the ramp are rounded to whole pairs", "operators tell positions apart",
	"not given to foreign code", "the laws of", "encoded length", "or for this one", "fails in the engine",
	"Make encodings that the graph computes tables of constants", "would not be visible in this file", "there are [",
}

// message is a text in the source that somebody may be shown: three words or more.
type message struct{ place, text string }

func messages(t *testing.T, root string) (out []message) {
	t.Helper()
	seen := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "test" || d.Name() == "benchmarks" || strings.HasPrefix(d.Name(), ".") && path != root):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(text)) > 2 && !seen[text] {
				seen[text] = true
				name, _ := filepath.Rel(root, path)
				out = append(out, message{fmt.Sprintf("%s:%d", filepath.ToSlash(name), files.Position(literal.Pos()).Line), text})
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWords holds that words that were not understood do not come back, and writes the table of
// messages for who wants to read them all (go test ./internal/wording -messages FILE).
func TestWords(t *testing.T) {
	all := messages(t, filepath.Join("..", ".."))
	if len(all) < 1000 {
		t.Fatalf("%d messages were found: where the source lies has changed", len(all))
	}
	var table strings.Builder
	for _, m := range all {
		if i := slices.IndexFunc(notUnderstood, func(words string) bool { return strings.Contains(m.text, words) }); i >= 0 {
			t.Errorf("%s says %q, which readers did not understand: %q", m.place, notUnderstood[i], m.text)
		}
		fmt.Fprintf(&table, "%s\t%s\n", m.place, strings.ReplaceAll(m.text, "\n", `\n`))
	}
	if *list != "" {
		if err := os.WriteFile(*list, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
