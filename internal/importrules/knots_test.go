package importrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A knot is a set of files of one package of which each needs, by the objects
// that they declare, every other: whoever reads one has to read them all.
const (
	maxKnot  = 8    // files
	maxLines = 4000 // of a package below position, its tests left out
)

// exported is a package with what `go list -export` tells of it.
type exported struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	Standard                bool
}

// TestKnots keeps packages readable file by file, and those below position
// small enough to be read at all.
func TestKnots(t *testing.T) {
	if testing.Short() {
		t.Skip("type-checks every package")
	}
	packages, exports := listExports(t)
	for _, p := range packages {
		path, mine := own(p.ImportPath)
		if !mine || len(p.GoFiles) == 0 {
			continue
		}
		found, size, err := knotsOf(p, exports)
		if err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
			continue
		}
		t.Logf("%-28s %5d lines, %2d files, largest knot %d", path, size, len(p.GoFiles), len(found))
		if len(found) > maxKnot {
			t.Errorf("%s: %d files need each other, more than %d: %s", p.ImportPath, len(found), maxKnot, strings.Join(found, " "))
		}
		if strings.HasPrefix(path, "position") && size > maxLines {
			t.Errorf("%s has %d lines without its tests, more than %d", p.ImportPath, size, maxLines)
		}
	}
}

// listExports lists the packages of the module, and where the compiler put what
// each package, also of those that they import, exports.
func listExports(t *testing.T) (packages []exported, exports map[string]string) {
	t.Helper()
	c := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,Standard", "./...")
	c.Dir = "../.."
	out, err := c.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %s", e.Stderr)
	} else if err != nil {
		t.Skipf("no go command: %v", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p exported
		if err := d.Decode(&p); err == io.EOF {
			return packages, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.Standard {
			packages = append(packages, p)
		}
	}
}

// knotsOf returns the files of a package's largest knot, and its lines.
func knotsOf(p exported, exports map[string]string) (largest []string, lines int, err error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		content, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, 0, err
		}
		lines += bytes.Count(content, []byte("\n"))
		f, err := parser.ParseFile(fset, name, content, parser.SkipObjectResolution)
		if err != nil {
			return nil, 0, err
		}
		files = append(files, f)
	}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("nothing exported by %s", path)
		}
		return os.Open(exports[path])
	})}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, 0, err
	}
	needs := map[string][]string{}
	for ident, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		from, to := fset.Position(ident.Pos()).Filename, fset.Position(object.Pos()).Filename
		if from != to && !slices.Contains(needs[from], to) {
			needs[from] = append(needs[from], to)
		}
	}
	return largestKnot(p.GoFiles, needs), lines, nil
}

// largestKnot returns the largest strongly connected component of a graph
// (Tarjan 1972), sorted.
func largestKnot(nodes []string, edges map[string][]string) (largest []string) {
	index, low, on := map[string]int{}, map[string]int{}, map[string]bool{}
	var stack []string
	var visit func(n string)
	visit = func(n string) {
		index[n] = len(index) + 1
		low[n] = index[n]
		stack, on[n] = append(stack, n), true
		for _, m := range edges[n] {
			if index[m] == 0 {
				visit(m)
				low[n] = min(low[n], low[m])
			} else if on[m] {
				low[n] = min(low[n], index[m])
			}
		}
		if low[n] != index[n] {
			return
		}
		i := slices.Index(stack, n)
		knot := slices.Clone(stack[i:])
		for _, m := range knot {
			on[m] = false
		}
		if stack = stack[:i]; len(knot) > len(largest) {
			largest = knot
		}
	}
	for _, n := range nodes {
		if index[n] == 0 {
			visit(n)
		}
	}
	slices.Sort(largest)
	return largest
}

func TestLargestKnot(t *testing.T) {
	edges := map[string][]string{"a": {"b"}, "b": {"c", "e"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}
	if got := largestKnot([]string{"d", "a", "b", "c", "e", "f"}, edges); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("the largest knot is %v", got)
	}
}
