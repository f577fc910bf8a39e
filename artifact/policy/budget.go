package policy

import (
	"errors"
	"fmt"
	"reflect"
	"regexp/syntax"
	"slices"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
)

// A policy may come from a stranger's pull request, and expr-lang counts neither steps nor the bytes
// of strings. So every expression is rewritten before it is compiled: each round of a predicate, and
// each value that an operator or function reads, is charged to a budget, values by their size. What
// makes more than it reads (repeat, replace, join), or compares all with all (uniq), is not there.
const (
	maxExpression = 4 << 10 // bytes of an expression
	maxNodes      = 1000    // of an expression
	maxCompiled   = 1000    // expressions of a policy
	maxRegexp     = 100_000 // instructions of all regular expressions of a policy
	maxSteps      = 4 << 20 // of all expressions for one file
)

// absent are the functions of expr-lang that expressions do not have.
var absent = []string{"repeat", "replace", "join", "uniq"}

// charge is the name of [Env.Charge] in expressions.
const charge = "_charge"

var errBudget = fmt.Errorf("it takes more than %d steps, a byte of a value that is read being one", maxSteps)

// budget is what the expressions of a policy may still use for one file.
type budget struct{ left int }

// charge takes what reading a value so many times costs.
func (b *budget) charge(value any, times int) (bool, error) {
	b.left--
	b.size(reflect.ValueOf(value), times)
	if b.left < 0 {
		return false, errBudget
	}
	return true, nil
}

// size takes the size of a value, of everything in it; it ends where the budget does.
func (b *budget) size(v reflect.Value, times int) {
	if b.left < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		b.left -= v.Len() * times
	case reflect.Slice, reflect.Array:
		b.left--
		for i := 0; i < v.Len() && b.left >= 0; i++ {
			b.size(v.Index(i), times)
		}
	case reflect.Map:
		b.left--
		for i := v.MapRange(); b.left >= 0 && i.Next(); {
			b.size(i.Key(), times)
			b.size(i.Value(), times)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			b.size(v.Field(i), times)
		}
	case reflect.Interface, reflect.Pointer:
		b.size(v.Elem(), times)
	default:
		b.left -= times
	}
}

// compiler compiles the expressions of one policy.
type compiler struct{ expressions, instructions int }

// compile reads an expression that is to be true or false.
func (c *compiler) compile(text string) (*vm.Program, error) {
	switch c.expressions++; {
	case c.expressions > maxCompiled:
		return nil, fmt.Errorf("more than %d of them", maxCompiled)
	case len(text) > maxExpression:
		return nil, fmt.Errorf("%d bytes, more than %d", len(text), maxExpression)
	}
	m := &metering{compiler: c}
	options := []expr.Option{expr.Env(Env{}), expr.AsBool(), expr.MaxNodes(maxNodes), expr.Patch(m), expr.Optimize(false)} // the optimizer computes, too
	for _, name := range absent {
		options = append(options, expr.DisableBuiltin(name))
	}
	program, err := expr.Compile(text, options...)
	if m.err != nil {
		return nil, m.err
	}
	return program, err
}

// metering is the visitor that adds charges to an expression.
type metering struct {
	compiler *compiler
	names    int
	err      error
}

// Visit adds charges to what a node reads.
func (m *metering) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.PredicateNode:
		m.charge(&n.Node, 1)
	case *ast.BinaryNode:
		m.compared(n)
		if n.Operator == "matches" {
			m.read(&n.Left, m.instructions(n.Right))
			return
		}
		m.read(&n.Left, 1)
		m.read(&n.Right, 1)
	case *ast.BuiltinNode:
		m.readAll(n.Arguments)
	case *ast.CallNode:
		m.readAll(n.Arguments)
	case *ast.MemberNode:
		if _, ok := n.Property.(*ast.StringNode); !ok {
			m.read(&n.Property, 1)
		}
	case *ast.PairNode:
		m.read(&n.Key, 1)
	}
}

// compared refuses a comparison of a field with a word that the field never has: it would hold, or
// not, for every model.
func (m *metering) compared(n *ast.BinaryNode) {
	if n.Operator != "==" && n.Operator != "!=" && n.Operator != "in" {
		return
	}
	for _, side := range [][2]ast.Node{{n.Left, n.Right}, {n.Right, n.Left}} {
		field := ""
		switch f := side[0].(type) {
		case *ast.IdentifierNode:
			field = f.Value
		case *ast.MemberNode:
			if name, ok := f.Property.(*ast.StringNode); ok {
				field = name.Value
			}
		}
		known := map[string][]string{"scheme": report.Schemes, "type": append(scalings(), ""), "format": formats,
			"beyond": {report.BeyondError, report.BeyondClamps, report.BeyondWrong, report.BeyondContinues, report.BeyondUnknown}}[field]
		words := []ast.Node{side[1]}
		if list, ok := side[1].(*ast.ArrayNode); ok {
			words = list.Nodes
		}
		for _, w := range words {
			if s, ok := w.(*ast.StringNode); ok && known != nil && !slices.Contains(known, s.Value) {
				m.fail(fmt.Errorf("%s is never %q; %s", field, report.Printable(s.Value), spelling.Words(s.Value, known)))
			}
		}
	}
}

func (m *metering) readAll(nodes []ast.Node) {
	for i := range nodes {
		if _, ok := nodes[i].(*ast.PredicateNode); !ok {
			m.read(&nodes[i], 1)
		}
	}
}

// read charges a node whose values may be large.
func (m *metering) read(node *ast.Node, times int) {
	if t := (*node).Type(); t != nil {
		switch t.Kind() {
		case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
			return
		}
	}
	m.charge(node, times)
}

// charge replaces a node by one of the same type: let v = node; _charge(v, times) ? v : v.
func (m *metering) charge(node *ast.Node, times int) {
	m.names++
	name := fmt.Sprint(charge, m.names)
	value := func() ast.Node { return &ast.IdentifierNode{Value: name} }
	ast.Patch(node, &ast.VariableDeclaratorNode{Name: name, Value: *node, Expr: &ast.ConditionalNode{
		Cond: &ast.CallNode{Callee: &ast.IdentifierNode{Value: charge}, Arguments: []ast.Node{value(), &ast.IntegerNode{Value: times}}},
		Exp1: value(), Exp2: value(),
	}})
}

// instructions is how many a regular expression has, which each character that it reads may cost.
func (m *metering) instructions(node ast.Node) int {
	pattern, ok := node.(*ast.StringNode)
	if !ok {
		m.fail(errors.New("matches needs a regular expression in quotes on its right"))
		return 1
	}
	re, err := syntax.Parse(pattern.Value, syntax.Perl)
	if err != nil {
		return 1 // told by expr
	}
	n := instructions(re)
	if m.compiler.instructions += n; m.compiler.instructions > maxRegexp {
		m.fail(fmt.Errorf("the regular expressions of this policy have more than %d instructions", maxRegexp))
	}
	return n
}

func (m *metering) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// instructions is how many a regular expression has, repetitions written out.
func instructions(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
