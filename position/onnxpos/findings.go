package onnxpos

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/report"
)

// Rules of findings about ONNX files. Those at level error keep a model from
// being changed.
const (
	ruleDuplicateInitializer = "onnx-duplicate-initializer"
	ruleRawAndTyped          = "onnx-raw-and-typed-data"
	ruleDuplicateAttribute   = "onnx-duplicate-attribute"
	ruleDuplicateFunction    = "onnx-duplicate-function"
	ruleDuplicateValue       = "onnx-duplicate-value"
	ruleNodeCycle            = "onnx-node-cycle"
	ruleTableNotFinite       = "onnx-table-not-finite"
	ruleUnreadTable          = "onnx-unread-table"
	ruleElementType          = "onnx-unknown-element-type"
	ruleVersion              = "onnx-ir-version"
	ruleSize                 = "onnx-file-size"
	ruleSharedData           = "onnx-shared-data"
	ruleLengthBound          = "onnx-length-bound"
	ruleScale                = "onnx-quantisation-scale"
	ruleCacheRows            = "onnx-cache-rows-differ"
	ruleCache                = "onnx-cache-unexplained"
	ruleTooLarge             = "onnx-too-large"
)

// maxFindings bounds the findings of one rule; the last of them tells how many
// there are.
const maxFindings = 100

// inspectFindings looks for what the owner of the file should know.
func (m *Model) inspectFindings() {
	f := finder{m: m, count: map[string]int{}}
	f.repeats()
	f.graphs()
	f.encodings(f.tables)
	f.file()
	f.sharedData()
	f.encodings(f.bound, f.scales, f.caches)
	if m.gaveUp != "" {
		f.add(ruleTooLarge, report.LevelError, m.gaveUp, "what was not looked at is not changed either: simplify the graph (onnxslim), or export the model again", nil)
	}
	for rule, n := range f.count {
		if n > maxFindings {
			for i := range m.findings {
				if last := &m.findings[i]; last.Rule == rule {
					last.Message = fmt.Sprintf("%s (and %d more)", last.Message, n-maxFindings)
					break
				}
			}
		}
	}
}

// encodings looks at what was found, unless that is too large.
func (f *finder) encodings(looks ...func()) {
	defer func() {
		if r := recover(); r != nil {
			spent, ok := r.(*eval.Spent)
			if !ok || spent.Err != nil {
				panic(r)
			}
			f.m.giveUp(spent.Error())
		}
	}()
	f.m.Budget.What = "the look for faults"
	for _, look := range looks {
		if f.m.gaveUp == "" {
			look()
		}
	}
}

type finder struct {
	m     *Model
	count map[string]int
	// shapes are those of the tables in use, made when first asked for.
	shapes map[tableShape]bool
}

func (f *finder) add(rule, level, message, hint string, where *report.Where) {
	if f.count[rule]++; f.count[rule] > maxFindings {
		return
	}
	f.m.findings = append(f.m.findings, report.Finding{Rule: rule, Level: level, Message: message, Hint: hint, Where: where})
}

func (f *finder) at(t *onnx.Tensor) *report.Where {
	if t == nil {
		return nil
	}
	w := f.m.Where(t)
	return &w
}

const onceHint = "have the model exported again, so that every name and tensor stands once"

// repeats tells of places that give two answers.
func (f *finder) repeats() {
	rules := map[onnx.RepeatKind]string{onnx.RepeatInitializer: ruleDuplicateInitializer, onnx.RepeatData: ruleRawAndTyped,
		onnx.RepeatAttribute: ruleDuplicateAttribute, onnx.RepeatFunction: ruleDuplicateFunction}
	for _, r := range f.m.File.Repeats {
		f.add(rules[r.Kind], report.LevelError, r.What+": readers differ in which one counts", onceHint, f.at(r.Tensor))
	}
}

// graphs looks at every graph's nodes.
func (f *finder) graphs() {
	f.m.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		made := make([]bool, w.Len())
		for _, n := range g.Nodes {
			for i, o := range n.Outputs {
				number, ok := w.Output(n, i)
				if !ok {
					continue // an absent one
				}
				if made[number] {
					f.add(ruleDuplicateValue, report.LevelError, fmt.Sprintf("two nodes make the value %q", o), onceHint, nodeWhere(n))
				}
				made[number] = true
			}
		}
		if n := g.Cycle(); n != nil {
			f.add(ruleNodeCycle, report.LevelError, fmt.Sprintf("%s stands in a cycle of nodes: none of them can run first", n.Title()), "have the model exported again", nodeWhere(n))
		}
	})
}

func nodeWhere(n *onnx.Node) *report.Where {
	r := n.Range()
	return &report.Where{Node: n.Title(), Range: &r}
}

// maxScanned bounds the elements of a table that inspect looks at one by one.
// A table that is changed is read whole.
const maxScanned = 1 << 22

// tables looks for numbers that are none, and for tables that nobody reads.
func (f *finder) tables() {
	seen := map[*onnx.Tensor]bool{}
	for _, s := range f.m.sites {
		for _, t := range siteTables(s) {
			if seen[t.Tensor] {
				continue
			}
			seen[t.Tensor] = true
			f.m.SpendElements(int(min(t.Tensor.Len(), maxScanned)))
			if row, column, bad := t.NotFinite(maxScanned); bad {
				f.add(ruleTableNotFinite, report.LevelError, fmt.Sprintf("table %q holds a number that is not finite: row %d, column %d", f.m.TensorName(t.Tensor), row, column),
					"fetch the file again, or take an earlier checkpoint", f.at(t.Tensor))
			}
		}
	}
	var read map[string]bool // by any graph, made when it is needed
	f.m.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		for _, t := range g.Initializers {
			if number, ok := w.Number(t.Name); ok && len(w.Readers(number)) > 0 || !t.Type.IsFloat() || !f.resembles(t) {
				continue
			}
			if read == nil {
				read = f.m.File.ReadNames()
			}
			if !read[t.Name] {
				f.add(ruleUnreadTable, report.LevelNote, fmt.Sprintf("nothing reads %q, which has the shape of the table in use", t.Name), "", f.at(t))
			}
		}
	})
}

// resembles reports whether a constant has the shape of a table in use, or of
// one with more or fewer rows.
func (f *finder) resembles(t *onnx.Tensor) bool {
	if f.shapes == nil {
		f.shapes = map[tableShape]bool{}
		for _, s := range f.m.sites {
			for _, own := range siteTables(s) {
				if k := len(own.Tensor.Dims); k >= 2 {
					f.shapes[tableShape{k, own.Tensor.Dims[k-1]}] = true
				}
			}
		}
	}
	k := len(t.Dims)
	return k >= 2 && t.Len() > t.Dims[k-1] && f.shapes[tableShape{k, t.Dims[k-1]}]
}

// tableShape is the shape of a table whatever its number of rows.
type tableShape struct {
	rank    int
	columns int64
}

// siteTables are the tables of rows that a site owns.
func siteTables(s site) []rows.Table {
	var out []rows.Table
	switch s := s.(type) {
	case *tableSite:
		if s.uses[0].source.Tensor == nil {
			return nil
		}
		rows := s.rows()
		for _, t := range s.tensors() {
			out = append(out, rows.Of(t))
		}
	case *rotarySite:
		for _, c := range s.caches {
			out = append(out, c.Cos)
			if c.Sin.Tensor != c.Cos.Tensor {
				out = append(out, c.Sin)
			}
		}
	}
	return out
}

// file looks at what the file says of itself.
func (f *finder) file() {
	file := f.m.File
	if file.IRVersion > knownIR {
		f.add(ruleVersion, report.LevelNote, fmt.Sprintf("IR version %d is newer than what is known here (%d)", file.IRVersion, knownIR), "", nil)
	}
	if file.Size > maxProtobuf {
		f.add(ruleSize, report.LevelWarning, fmt.Sprintf("the file has %d bytes, and readers of protobuf stop at %d", file.Size, maxProtobuf), "store the weights as external data", nil)
	}
	file.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if !t.Type.Known() {
			f.add(ruleElementType, report.LevelNote, fmt.Sprintf("constant %q is of element type %d, which is unknown here", f.m.TensorName(t), t.Type), "", f.at(t))
		}
	})
}

// sharedData tells of constants that lie on the same bytes of a data file. A
// change of one gives it bytes of its own.
func (f *finder) sharedData() {
	type span struct {
		tensor *onnx.Tensor
		file   string
		at     [2]int64
	}
	var spans []span
	f.m.File.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if t.External() && t.Len() > 0 {
			spans = append(spans, span{t, t.DataFile(), t.Range()})
		}
	})
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.at[0], b.at[0]))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; a.file == b.file && b.at[0] < a.at[1] {
			f.add(ruleSharedData, report.LevelNote, fmt.Sprintf("constants %q and %q lie on the same bytes of %s", f.m.TensorName(a.tensor), f.m.TensorName(b.tensor), a.file), "", f.at(b.tensor))
		}
	}
}

// knownIR is the newest IR version that this package was tried with.
const knownIR = 14

const maxProtobuf = 1<<31 - 1

// sound refuses to change a model whose file is at fault: which of two answers
// a reader takes is not for us to decide.
func (m *Model) sound() error {
	for _, f := range m.findings {
		if f.Level == report.LevelError {
			return &position.Refusal{Why: f.Message, Instead: f.Hint}
		}
	}
	for _, s := range m.sites {
		for _, t := range siteTables(s) {
			if t.Tensor.Len() <= maxScanned || !m.Editor.Replaced(t.Tensor) {
				continue
			}
			if row, column, bad := t.NotFinite(t.Tensor.Len()); bad {
				return &position.Refusal{Why: fmt.Sprintf("table %q holds a number that is not finite: row %d, column %d", m.TensorName(t.Tensor), row, column)}
			}
		}
	}
	return nil
}

// bound tells of graphs whose encodings go on and that were traced for one
// length all the same.
func (f *finder) bound() {
	for _, s := range f.m.sites {
		if s.Encoding().Capacity > 0 {
			return
		}
	}
	if runs, failure := f.m.Bound(); failure != nil {
		f.add(ruleLengthBound, report.LevelWarning, fmt.Sprintf("the graph runs up to %d tokens and not at %d, though its axes are free: %v", runs, runs+1, failure.Err),
			"it was traced with constants of one length: export it again", nodeWhere(failure.Node))
	}
}

// scales looks at the scales of quantised constants (facts/BAD-INPUTS C18).
func (f *finder) scales() {
	for _, s := range f.m.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if n.Op != "DequantizeLinear" || s.Tensor(n.Input(0)) == nil {
				continue
			}
			if x, ok := s.Value(n.Input(1)).Scalar(); ok && (!(x > 0) || math.IsInf(x, 0)) {
				f.add(ruleScale, report.LevelError, fmt.Sprintf("the scale of %q is %v", f.m.TensorName(s.Tensor(n.Input(0))), x), "quantise the model again", nodeWhere(n))
			}
		}
	}
}

// caches looks at tables of cosines and sines (facts/BAD-INPUTS C17).
func (f *finder) caches() {
	for _, s := range f.m.sites {
		r, ok := s.(*rotarySite)
		if !ok {
			continue
		}
		for _, c := range r.caches {
			switch a, b := c.Cos.Len(), c.Sin.Len(); {
			case a != b:
				f.add(ruleCacheRows, report.LevelError, fmt.Sprintf("%q has %d rows of cosines and %q %d of sines", f.m.TensorName(c.Cos.Tensor), a, f.m.TensorName(c.Sin.Tensor), b),
					"export the model again", f.at(c.Sin.Tensor))
			case !c.Fitted && r.scheme.Grid == nil:
				f.add(ruleCache, report.LevelWarning, fmt.Sprintf("%q and %q are no cosines and sines of one formula", f.m.TensorName(c.Cos.Tensor), f.m.TensorName(c.Sin.Tensor)),
					"it can be read and not made longer", f.at(c.Cos.Tensor))
			}
		}
	}
}
