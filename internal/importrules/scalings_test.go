package importrules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestScalingsAreValues looks for places that compare a scaling's type with one of
// its names, or switch over it: what is special about a type stands in its own
// file, schemes/scaling_NAME.go, as a field that such a place asks for. A switch
// over names silently takes the next type for plain.
func TestScalingsAreValues(t *testing.T) {
	root := "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		if strings.HasPrefix(path, filepath.Join(root, "schemes", "scaling")) {
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var compared []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared = []ast.Expr{n.X, n.Y}
				}
			case *ast.CaseClause:
				compared = n.List
			}
			for _, e := range compared {
				if isScalingName(e) {
					t.Errorf("%s: compares a scaling's type with a name: ask the ScalingType for what is special about it", set.Position(e.Pos()))
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isScalingName reports whether an expression is a constant schemes.Scaling….
func isScalingName(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); !ok || x.Name != "schemes" {
			return false
		}
		name = e.Sel.Name
	case *ast.Ident:
		name = e.Name
	}
	return len(name) > len("Scaling") && strings.HasPrefix(name, "Scaling") && !strings.HasPrefix(name, "ScalingType") && !strings.HasPrefix(name, "ScalingNam")
}
