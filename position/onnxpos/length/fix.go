package length

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
)

// FreeAxes are what the free axes of inputs are called: the names that stand there, each once, and each
// axis by its input and place.
func FreeAxes(g *site.Graph) []string {
	var out, places []string
	for _, in := range fedInputs(g) {
		for i, d := range in.Dims {
			if d.Value >= 0 {
				continue
			}
			if d.Param != "" && !slices.Contains(out, d.Param) {
				out = append(out, d.Param)
			}
			places = append(places, place(in, i))
		}
	}
	return append(out, places...)
}

// fedInputs are the inputs that have no default.
func fedInputs(g *site.Graph) []*onnx.ValueInfo {
	return slices.DeleteFunc(slices.Clone(g.File.Graph.Inputs), func(in *onnx.ValueInfo) bool { return g.File.Graph.Initializer(in.Name) != nil })
}

func place(in *onnx.ValueInfo, axis int) string { return fmt.Sprintf("%s:%d", in.Name, axis) }

// maxFree bounds the free axes that stay, each of which costs an evaluation.
const maxFree = 64

// Fix gives free axes of inputs numbers, and states those of every value of the main graph that follow
// from them: the graph is evaluated with inputs of which the sizes alone are known, and again with other sizes of
// the axes that stay free, so that what depends on numbers in the inputs, or on such an axis, stays free.
func (c *Change) Fix(axes []position.Axis) (tokens int, err error) {
	c.Graph.Budget.What = "the sizes of all values"
	c.Graph.Budget.Grant(changeSteps)
	sizes := map[string]int{}
	for _, a := range axes {
		sizes[a.Name] = a.Size
	}
	for _, in := range fedInputs(c.Graph) {
		for i, d := range in.Dims { // one name is one number, wherever it stands
			if n, ok := sizes[place(in, i)]; ok && d.Param != "" {
				sizes[d.Param] = n
			}
		}
	}
	fixed, free := c.fixedInputs(sizes)
	if in := c.Graph.TokenMatrix(); in != nil {
		tokens = int(max(fixed[in.Name].Dims[c.Graph.SequenceAxis(in)].Value, 0))
	}
	if len(free) > maxFree {
		return 0, &position.Refusal{Why: fmt.Sprintf("%d axes of inputs would stay free", len(free)), Instead: "name more of them"}
	}
	first := c.sized(fixed, func(_ string, n int) int { return n })
	known := c.Graph.FailsAnyway()
	for _, f := range first.Failures {
		if !known[f.Node] {
			return tokens, &position.Refusal{Why: fmt.Sprintf("the graph cannot run with these sizes: %s: %v", f.Node.Title(), f.Err), Instead: "choose others, or export the model for them"}
		}
	}
	values := c.agreedSizes(first, func(size func(axis string, n int) int) *eval.Evaluator { return c.sized(fixed, size) }, free)
	c.stateInputs(fixed)
	c.stateValues(values, first)
	return tokens, nil
}

// fixedInputs are the inputs with numbers for the axes that have some, by name, and what the axes are
// called that stay free.
func (c *Change) fixedInputs(sizes map[string]int) (fixed map[string]*onnx.ValueInfo, free []string) {
	fixed = map[string]*onnx.ValueInfo{}
	planned := c.inputs()
	for _, in := range fedInputs(c.Graph) {
		copied := *in
		copied.Dims = slices.Clone(in.Dims)
		for i, d := range copied.Dims {
			n, ok := sizes[place(in, i)]
			if !ok {
				n, ok = sizeOf(d.Param, sizes)
			}
			switch {
			case d.Value >= 0 && planned[in.Name].Ranked:
				copied.Dims[i].Value = int64(planned[in.Name].Shape[i]) // of the new length
			case d.Value >= 0:
			case ok:
				copied.Dims[i].Value = int64(n)
			default:
				if name := cmp.Or(d.Param, place(in, i)); !slices.Contains(free, name) {
					free = append(free, name)
				}
			}
		}
		fixed[in.Name] = &copied
	}
	return fixed, free
}

// sizeOf is the number of a named axis; exporters name what two of them come to by a sum.
func sizeOf(param string, sizes map[string]int) (total int, ok bool) {
	if n, ok := sizes[param]; ok || param == "" {
		return n, ok
	}
	parts := strings.Split(param, "+")
	for _, part := range parts {
		n, ok := sizes[strings.TrimSpace(part)]
		if !ok {
			return 0, false
		}
		total += n
	}
	return total, len(parts) > 1
}

// sized evaluates the graph as it is planned with inputs of these sizes and unknown numbers; the axes that stay free are of
// other sizes than they are tried with elsewhere.
func (c *Change) sized(fixed map[string]*onnx.ValueInfo, size func(axis string, n int) int) *eval.Evaluator {
	inputs := map[string]*eval.Value{}
	for name, v := range c.inputsWith(func(in *onnx.ValueInfo) {
		if f := fixed[in.Name]; f != nil {
			in.Dims = f.Dims
		}
	}) {
		shape := slices.Clone(v.Shape)
		for i, d := range fixed[name].Dims {
			if d.Value < 0 {
				shape[i] = size(cmp.Or(d.Param, place(fixed[name], i)), shape[i])
			}
		}
		if inputs[name] = eval.Shaped(v.Type, shape...); !v.Ranked {
			inputs[name] = &eval.Value{Type: v.Type}
		}
	}
	e := c.evaluate(inputs)
	e.Unquantized = false // values are declared as they are stored
	return e
}

// stateInputs declares the numbers of inputs.
func (c *Change) stateInputs(fixed map[string]*onnx.ValueInfo) {
	for _, in := range fedInputs(c.Graph) {
		for i, d := range in.Dims {
			if n := fixed[in.Name].Dims[i].Value; d.Value < 0 && n >= 0 {
				c.Graph.Editor.SetDim(in, i, n, fmt.Sprintf("axis %d of %s is %d", i, report.Printable(in.Name), n))
			}
		}
	}
}

// Sizes that axes that stay free are given one after the other, and all at once: what is counted in patches may be as many with one more, and what is
// cut to windows or filled up to blocks differs far below or above them alone.
var (
	otherSizes = []func(n int) int{func(n int) int { return max(2*n, 1) }, func(n int) int { return n + 1 }, func(int) int { return 1 }, func(int) int { return 131 }, func(int) int { return 0 }}
	sizesOfAll = append(otherSizes[:len(otherSizes):len(otherSizes)], func(int) int { return 4099 })
)

// manyFree is from how many axes on each is given two sizes alone.
const manyFree = 8

// agreed are the sizes of values on which evaluations agree: −1 where they differ; values of which they do not know how many there are have none.
type agreed map[string][]int

// agreedSizes are the sizes of the main graph's values whatever the sizes of the axes that stay free.
func (c *Change) agreedSizes(first *eval.Evaluator, sized func(size func(axis string, n int) int) *eval.Evaluator, free []string) agreed {
	out := agreed{}
	guessed := map[string]bool{} // by operators that are followed by their names alone
	for _, n := range c.Graph.File.Graph.Nodes {
		guess := eval.Assumed(n.Domain, n.Op) || slices.ContainsFunc(n.Inputs, func(in string) bool { return guessed[in] })
		for _, name := range n.Outputs {
			if guessed[name] = guess; !guess && first.Main.Value(name).Ranked {
				out[name] = slices.Clone(first.Main.Value(name).Shape)
			}
		}
	}
	runs := func(e *eval.Evaluator) bool { return len(e.Failures) == len(first.Failures) }
	for _, axis := range free {
		some, failing := false, first
		for i, size := range otherSizes {
			if i > 1 && len(free) > manyFree {
				break
			}
			e := sized(func(name string, n int) int {
				if name == axis {
					return size(n)
				}
				return n
			})
			if runs(e) {
				out.see(e)
				some = true
			} else if failing == first {
				failing = e
			}
		}
		if !some { // what lies behind the failure is not known, and stays free
			out.see(failing)
		}
	}
	for _, size := range sizesOfAll {
		if len(free) == 0 {
			break
		}
		if e := sized(func(_ string, n int) int { return size(n) }); runs(e) {
			out.see(e)
		}
	}
	return out
}

// see takes back what another evaluation knows otherwise.
func (a agreed) see(e *eval.Evaluator) {
	for name, was := range a {
		v := e.Main.Value(name)
		if !v.Ranked || len(v.Shape) != len(was) {
			delete(a, name)
			continue
		}
		for d, n := range v.Shape {
			if n != was[d] {
				was[d] = -1
			}
		}
	}
}

// stateValues declares the numbers of outputs and of values between.
func (c *Change) stateValues(sizes agreed, types *eval.Evaluator) {
	declared := map[string]bool{}
	for _, info := range slices.Concat(c.Graph.File.Graph.Outputs, c.Graph.File.Graph.ValueInfos) {
		if c.Graph.Editor.Dropped(info) {
			continue
		}
		declared[info.Name] = true
		shape, known := sizes[info.Name]
		if !info.Ranked || !known || len(shape) != len(info.Dims) {
			continue
		}
		for i, d := range info.Dims {
			if d.Value < 0 && shape[i] >= 0 {
				c.Graph.Editor.SetDim(info, i, int64(shape[i]), fmt.Sprintf("axis %d of %s follows", i, report.Printable(info.Name)))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		shape, t := sizes[name], types.Main.Value(name).Type
		if name == "" || declared[name] || t == 0 || slices.Contains(shape, -1) {
			continue
		}
		dims := make([]int64, len(shape))
		for i, d := range shape {
			dims[i] = int64(d)
		}
		c.Graph.Editor.AddValueInfo(c.Graph.File.Graph, onnx.NewValue{Name: name, Type: t, Dims: dims}, "its size is known now")
	}
}
