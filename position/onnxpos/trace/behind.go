package trace

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// Stored is the constant that a value is, or is dequantised from.
func Stored(s *eval.Scope, name string) *onnx.Tensor {
	for range 4 {
		if t := s.Tensor(name); t != nil {
			return t
		}
		n, at := s.Find(name)
		if n == nil || !eval.Is(n, eval.Elements) {
			return nil
		}
		name, s = n.Input(0), at
	}
	return nil
}

// Upstream finds the nearest node of an operator behind a value.
func Upstream(s *eval.Scope, name, op string) (*onnx.Node, *eval.Scope) {
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < MaxSteps; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if n.Op == op && len(n.Inputs) > 2 {
			return n, at
		}
		queue = append(queue, DataInputs(n)...)
	}
	return nil, nil
}

// Threshold reads the constant that a comparison sets a length against: the
// longest length on the shorter side.
func Threshold(s *eval.Scope, name string) (int, bool) {
	n, s := s.Find(name)
	for depth := 0; n != nil && depth < 8; depth++ {
		switch {
		case eval.Is(n, eval.Comparison):
			for i := range 2 {
				from, _ := s.Find(n.Input(i))
				for range 4 { // casts, say
					if from != nil && eval.Is(from, eval.Elements) {
						from, _ = s.Find(from.Input(0))
					}
				}
				if t := Stored(s, n.Input(i)); (t == nil || t.Len() != 1) && (from == nil || from.Op != "Constant") {
					continue
				}
				x, ok := s.Value(n.Input(i)).Scalar()
				open := (n.Op == "GreaterOrEqual" || n.Op == "Less") == (i == 1) // the constant itself is beyond
				if open {
					x--
				}
				return int(x), ok && x > 0
			}
			return 0, false
		case eval.Is(n, eval.Layout|eval.Repetition) || n.Op == "Not":
			n, s = s.Find(n.Input(0))
		default:
			return 0, false
		}
	}
	return 0, false
}

// Clamped reports whether a number is kept within bounds on its way.
func Clamped(s *eval.Scope, name string) bool {
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < MaxSteps; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if eval.Is(n, eval.Largest|eval.Choice) || n.Op == "Clip" {
			return true
		}
		queue = append(queue, n.Inputs...)
	}
	return false
}

// Resized is the nearest node of the scope that resampled a value, nil where there is none.
func Resized(s *eval.Scope, name string) *onnx.Node {
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < MaxSteps; i++ {
		if seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		n, at := s.Find(queue[i])
		if n == nil || at != s {
			continue
		}
		if n.Op == "Resize" || eval.Is(n, 1<<eval.AxesSample) {
			return n
		}
		queue = append(queue, DataInputs(n)...)
	}
	return nil
}

// Cone lists the constants behind a node, nearest first.
func Cone(s *eval.Scope, n *onnx.Node) []*onnx.Tensor {
	type place struct {
		scope *eval.Scope
		name  string
	}
	var queue []place
	for _, in := range n.Inputs {
		queue = append(queue, place{s, in})
	}
	seen := map[place]bool{}
	var out []*onnx.Tensor
	for i := 0; i < len(queue) && i < maxCone; i++ {
		name, at := queue[i].scope.Through(queue[i].name)
		if at == nil || name == "" || seen[place{at, name}] {
			continue
		}
		seen[place{at, name}] = true
		if t := at.Tensor(name); t != nil {
			out = append(out, t)
			continue
		}
		p, ps := at.Find(name)
		if p == nil {
			continue
		}
		if child := ps.Call(p); child != nil {
			for k, o := range p.Outputs {
				if o == name && k < len(child.Results) {
					queue = append(queue, place{child, child.Results[k]})
				}
			}
			continue
		}
		for _, in := range p.Inputs {
			queue = append(queue, place{ps, in})
		}
	}
	return out
}

// maxCone bounds the nodes that are searched behind a failure.
const maxCone = 600

// FromInput reports whether a value's numbers come from an input of the model,
// beyond the sizes of its axes.
func FromInput(s *eval.Scope, name string) bool {
	if s.Graph.Parent == nil && s.Caller == nil { // the main graph: all of it at once
		number, ok := s.Graph.Wiring().Number(name)
		return !ok || inputsReach(s)[number]
	}
	return eval.Once(s, "from input", name, func() bool { return fromInputBehind(s, name) })
}

// inputsReach tells of every value of the main graph whether it comes from an input.
func inputsReach(s *eval.Scope) []bool {
	return eval.Once(s, "inputs reach", "", func() []bool {
		w := s.Graph.Wiring()
		out := make([]bool, w.Len())
		queue := make([]int, 0, len(out))
		for v := range out {
			if w.Producer(v) == nil && w.Constant(v) == nil {
				out[v] = true
				queue = append(queue, v)
			}
		}
		for i := 0; i < len(queue); i++ {
			readers := w.Readers(queue[i])
			s.Spend(1 + len(readers))
			for _, n := range readers {
				if eval.Is(n, eval.Sizes) {
					continue
				}
				for k := range n.Outputs {
					if v, ok := w.Output(n, k); ok && !out[v] && w.Producer(v) == n {
						out[v] = true
						queue = append(queue, v)
					}
				}
			}
		}
		return out
	})
}

func fromInputBehind(s *eval.Scope, name string) bool {
	seen := map[sourceKey]bool{}
	queue := []sourceKey{{s, name}}
	for i := 0; i < len(queue) && i < MaxValues; i++ {
		n, at := queue[i].scope.Find(queue[i].name)
		switch {
		case n == nil && (at == nil || at.Tensor(queue[i].name) == nil):
			return true // an input, or an outer name that is not followed
		case n == nil || eval.Is(n, eval.Sizes):
			continue
		}
		for _, in := range n.Inputs {
			key := sourceKey{at, in}
			if in != "" && !seen[key] {
				seen[key] = true
				queue = append(queue, key)
			}
		}
	}
	return false
}

// LogDivisors are the scalar constants that something is divided by on the way
// to an index: ln(max_distance / max_exact) is one. What divides a logarithm
// itself comes first; t is the type in which it was rounded.
func LogDivisors(s *eval.Scope, name string) (divisors []float64, t onnx.DataType) {
	var logarithms, out []float64
	seen := map[string]bool{}
	var walk func(s *eval.Scope, name string, depth int)
	walk = func(s *eval.Scope, name string, depth int) {
		if seen[name] || depth > 40 {
			return
		}
		seen[name] = true
		n, at := s.Find(name)
		if n == nil {
			return
		}
		if n.Op == "Div" || n.Op == "Mul" {
			by := at.Value(n.Input(1))
			if x, ok := by.Scalar(); ok && by.Type.IsFloat() {
				if n.Op == "Mul" && x != 0 {
					x = 1 / x
				}
				if from, _ := at.Find(n.Input(0)); from != nil && from.Op == "Log" {
					logarithms, t = append(logarithms, x), by.Type
					for _, stored := range by.Origins { // an optimiser that computes in 32 bits keeps what was rounded to 16
						if stored.Type.IsFloat() && stored.Type.Bits() < t.Bits() {
							t = stored.Type
						}
					}
				} else {
					out = append(out, x)
				}
			}
		}
		for _, in := range BesideSizes(n) {
			walk(at, in, depth+1)
		}
	}
	walk(s, name, 0)
	return append(logarithms, out...), t
}

// Index is where a node that looks up rows is given their numbers: which node reads them, as which of its inputs, and the value's name.
type Index struct {
	Node  *onnx.Node
	Input int
	Name  string
}

// IndexOf is the index of a Gather; or of a GatherND that takes one number for each row, and of what gives each number the axis that it wants
// (x[index] by torch.export). Its node is nil for other nodes.
func IndexOf(s *eval.Scope, n *onnx.Node) Index {
	if n.Op == "Gather" {
		return Index{n, 1, n.Input(1)}
	}
	if n.Op != "GatherND" || n.Int("batch_dims", 0) != 0 {
		return Index{}
	}
	wide, at := s.Find(n.Input(1))
	if wide == nil || at != s || !eval.Is(wide, eval.Layout) {
		return Index{}
	}
	shape, of := s.Value(n.Input(1)).Shape, s.Value(wide.Input(0)).Shape
	if k := len(shape) - 1; k < 0 || shape[k] != 1 || !slices.Equal(shape[:k], of) {
		return Index{}
	}
	return Index{wide, 0, wide.Input(0)}
}

// RelativeGather finds a node that looks up rows of a constant by a matrix of indices that
// depends on positions alone.
func RelativeGather(s *eval.Scope, name string) (*onnx.Node, *eval.Scope) {
	g := eval.Once(s, "relative gather", name, func() gatherAt {
		n, at := relativeGatherIn(s, name, map[sourceKey]bool{})
		return gatherAt{n, at}
	})
	return g.node, g.scope
}

// gatherAt is a Gather and where it stands.
type gatherAt struct {
	node  *onnx.Node
	scope *eval.Scope
}

// maxBehind bounds the values that are looked at behind one.
const maxBehind = 400

func relativeGatherIn(s *eval.Scope, name string, seen map[sourceKey]bool) (*onnx.Node, *eval.Scope) {
	name, s = s.Through(name)
	if key := (sourceKey{s, name}); seen[key] || len(seen) > maxBehind {
		return nil, nil
	} else {
		seen[key] = true
	}
	n, at := s.Find(name)
	if n == nil {
		return nil, nil
	}
	if i := IndexOf(at, n); i.Node != nil && Stored(at, n.Input(0)) != nil {
		index := at.Enlarge(i.Name)
		if first := at.FirstPlaces(i.Name); index.Large() && first != nil {
			index = first
		}
		if len(index.Shape) >= 2 && index.Known() && !index.Data && index.Varies(len(index.Shape)-1) {
			if _, _, counts := index.Counts(); !counts {
				return n, at
			}
		}
	}
	for _, in := range DataInputs(n) {
		if found, scope := relativeGatherIn(at, in, seen); found != nil {
			return found, scope
		}
	}
	return nil, nil
}
