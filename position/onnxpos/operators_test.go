package onnxpos

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/onnx/eval"
)

// mostNamed is how many operators one condition may name: more are a group, and belong
// into the table of operators (eval.Group), where a new one is added once for all.
const mostNamed = 2

// TestGroupsAreInTheTable keeps lists of operators out of the packages that find and
// change encodings.
func TestGroupsAreInTheTable(t *testing.T) {
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var named []string
			switch n := n.(type) {
			case *ast.CaseClause:
				for _, e := range n.List {
					named = append(named, operatorsIn(e)...)
				}
			case *ast.BinaryExpr:
				if n.Op == token.LAND || n.Op == token.LOR {
					named = operatorsIn(n)
				}
			case *ast.CompositeLit:
				if _, names := n.Type.(*ast.MapType); names {
					named = operatorsIn(n)
				}
			default:
				return true
			}
			if len(named) > mostNamed {
				t.Errorf("%s: a list of operators, %v: make it a group of the table (onnx/eval/group.go)", files.Position(n.Pos()), named)
				return false
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// operatorsIn are the operators that an expression names.
func operatorsIn(e ast.Node) (names []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			name, _ := strconv.Unquote(literal.Value)
			if eval.Lookup("", name) != nil || eval.Lookup("com.microsoft", name) != nil {
				names = append(names, name)
			}
		}
		_, function := n.(*ast.FuncLit)
		return !function
	})
	return names
}
