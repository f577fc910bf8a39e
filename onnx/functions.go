package onnx

import "fmt"

// maxCalls bounds functions that call functions that call functions.
const maxCalls = 1000

// checkFunctions gives model-local functions in an order in which each stands behind those that it calls, and refuses some that call each other in a
// circle: there is no order in which they could be evaluated.
func (f *File) checkFunctions() (order []*Function, err error) {
	f.functions = map[functionName]*Function{}
	for _, fn := range f.Functions {
		name := functionName{fn.Domain, fn.Name}
		if f.functions[name] != nil {
			f.Repeats = append(f.Repeats, Repeat{Kind: RepeatFunction, What: fmt.Sprintf("function %s occurs twice", quoted(fn.Name))})
			continue
		}
		f.functions[name] = fn
	}
	const visiting, done = 1, 2
	state := map[*Function]int{}
	var visit func(fn *Function, depth int) error
	visit = func(fn *Function, depth int) error {
		bad := func(what string) error {
			return &FormatError{Path: f.Path, Offset: fn.Graph.frame.start, Place: fmt.Sprintf("functions[%s]", quoted(fn.Name)), What: what}
		}
		switch {
		case state[fn] == done:
			return nil
		case state[fn] == visiting:
			return bad("functions call each other in a circle")
		case depth > maxCalls:
			return bad(fmt.Sprintf("functions nested more than %d deep", maxCalls))
		}
		state[fn] = visiting
		var err error
		fn.Graph.walk(func(g *Graph) {
			for _, n := range g.Nodes {
				if callee := f.Function(n); callee != nil && err == nil {
					err = visit(callee, depth+1)
				}
			}
		})
		state[fn] = done
		order = append(order, fn)
		return err
	}
	for _, fn := range f.Functions {
		if err := visit(fn, 0); err != nil {
			return nil, err
		}
	}
	return order, nil
}

type functionName struct{ domain, name string }

// gives are the names of what a graph gives back, or the function whose body it is.
func (f *File) gives(g *Graph) (names []string) {
	for _, o := range g.Outputs {
		names = append(names, o.Name)
	}
	for _, fn := range f.Functions {
		if fn.Graph == g {
			names = append(names, fn.Outputs...)
		}
	}
	return names
}

// Function returns the model-local function that a node calls, nil when it
// calls an operator.
func (f *File) Function(n *Node) *Function {
	return f.functions[functionName{n.Domain, n.Op}]
}
