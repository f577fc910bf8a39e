package onnxpos

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/rotary"
	"github.com/modelpatch/modelpatch/position/onnxpos/sheet"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
)

// Rules of findings about ONNX files, besides those of the kinds of sites.
var (
	ruleDuplicateInitializer = site.Rule{ID: "onnx-duplicate-initializer", Level: report.LevelError, Doc: "a constant has two values"}
	ruleRawAndTyped          = site.Rule{ID: "onnx-raw-and-typed-data", Level: report.LevelError, Doc: "a constant has its data twice, raw and typed"}
	ruleDuplicateAttribute   = site.Rule{ID: "onnx-duplicate-attribute", Level: report.LevelError, Doc: "a node has an attribute twice"}
	ruleDuplicateFunction    = site.Rule{ID: "onnx-duplicate-function", Level: report.LevelError, Doc: "a function is defined twice"}
	ruleDuplicateValue       = site.Rule{ID: "onnx-duplicate-value", Level: report.LevelError, Doc: "two nodes make one value"}
	ruleNodeCycle            = site.Rule{ID: "onnx-node-cycle", Level: report.LevelError, Doc: "nodes need their own output"}
	ruleTableNotFinite       = site.Rule{ID: "onnx-table-not-finite", Level: report.LevelError, Doc: "a table of an encoding holds NaN or infinity"}
	ruleTableNotScanned      = site.Rule{ID: "onnx-table-not-scanned", Level: report.LevelNote, Doc: "a table was not looked through for NaN and infinity"}
	ruleUnreadTable          = site.Rule{ID: "onnx-unread-table", Level: report.LevelNote, Doc: "a constant has the shape of the table in use, and nothing reads it"}
	ruleElementType          = site.Rule{ID: "onnx-unknown-element-type", Level: report.LevelNote, Doc: "a constant is of an element type that is unknown here"}
	ruleVersion              = site.Rule{ID: "onnx-ir-version", Level: report.LevelNote, Doc: "the IR version is newer than those that were tried"}
	ruleSize                 = site.Rule{ID: "onnx-file-size", Level: report.LevelWarning, Doc: "the file is larger than readers of protobuf take"}
	ruleSharedData           = site.Rule{ID: "onnx-shared-data", Level: report.LevelNote, Doc: "two constants lie on the same bytes of a data file"}
	ruleLengthBound          = site.Rule{ID: "onnx-length-bound", Level: report.LevelWarning, Doc: "axes are free and the graph ends at a length all the same"}
	ruleLengthStep           = site.Rule{ID: "onnx-length-step", Level: report.LevelNote, Doc: "axes are free and only multiples of a length run"}
	ruleFails                = site.Rule{ID: "onnx-fails", Level: report.LevelWarning, Doc: "a node fails at the sizes of inputs at which the graph was computed"}
	ruleUnreadMeeting        = site.Rule{ID: "onnx-unread-encoding", Level: report.LevelWarning, Doc: "numbers that vary along positions meet the data in a form that is not read"}
	rulePositionsAssumed     = site.Rule{ID: "onnx-positions-assumed", Level: report.LevelNote, Doc: "an input is taken for positions, as its name says nothing"}
	ruleScale                = site.Rule{ID: "onnx-quantisation-scale", Level: report.LevelError, Doc: "a quantised constant has a scale that is not a positive number"}
	ruleSparse               = site.Rule{ID: "onnx-sparse-index", Level: report.LevelError, Doc: "a sparse constant has indices outside of its dimensions"}
	ruleTooLarge             = site.Rule{ID: "onnx-too-large", Level: report.LevelError, Doc: "the graph is too large to be looked at whole"}
)

// maxFindings bounds the findings of one rule; the last of them tells how many there are.
const maxFindings = 100

// inspectFindings looks for what the owner of the file should know.
func (m *Model) inspectFindings() {
	f := finder{m: m, count: map[string]int{}}
	f.repeats()
	f.graphs()
	f.encodings(f.tables)
	f.file()
	f.sharedData()
	f.encodings(f.fails, f.bound, f.scales, f.faults, f.unreadMeetings, f.assumed)
	if m.gaveUp != "" {
		f.add(ruleTooLarge, m.gaveUp, "what was not looked at is not changed either: simplify the graph (onnxslim), or export the model again", nil)
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
	f.m.graph.Budget.What = "the look for faults"
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

func (f *finder) add(rule site.Rule, message, hint string, where *report.Where) {
	if f.count[rule.ID]++; f.count[rule.ID] > maxFindings {
		return
	}
	f.m.findings = append(f.m.findings, report.Finding{Rule: rule.ID, Level: rule.Level, Message: message, Hint: hint, Where: where})
}

func (f *finder) at(t *onnx.Tensor) *report.Where {
	if t == nil {
		return nil
	}
	w := f.m.graph.Where(t)
	return &w
}

const onceHint = "have the model exported again, so that every name and tensor stands once"

// repeats tells of places that give two answers.
func (f *finder) repeats() {
	rules := map[onnx.RepeatKind]site.Rule{onnx.RepeatInitializer: ruleDuplicateInitializer, onnx.RepeatData: ruleRawAndTyped,
		onnx.RepeatAttribute: ruleDuplicateAttribute, onnx.RepeatFunction: ruleDuplicateFunction}
	for _, r := range f.m.graph.File.Repeats {
		f.add(rules[r.Kind], r.What+": readers differ in which one counts", onceHint, f.at(r.Tensor))
	}
}

// unreadMeetings tells of places where positions may be encoded beside the encodings
// that were found. Where none was found, the unknown encoding says so itself.
func (f *finder) unreadMeetings() {
	if f.unknown() {
		return
	}
	for _, x := range f.m.unread {
		f.add(ruleUnreadMeeting, fmt.Sprintf("%s: numbers that vary along positions are %s, in a form that is not read: the encodings that are told may not be all", x.Node.Title(), x.Kind), "",
			&report.Where{Node: x.Node.Title()})
	}
	for _, s := range f.m.sites {
		if r, ok := s.(*rotary.Site); ok && r.Untold() != "" && len(r.Tables()) == 0 { // else rounding may do it
			f.add(ruleUnreadMeeting, r.Untold()+": their angles alone are told", "", &s.Encoding().Where[0])
		}
	}
}

// assumed tells of inputs that are taken for positions by what is done with them alone.
func (f *finder) assumed() {
	for _, in := range probe.Given(f.m.graph.File) {
		if probe.AssumesPositions(f.m.graph.File, in) {
			f.add(rulePositionsAssumed, fmt.Sprintf("input %q is taken for positions: rows that it picks are added to those of tokens, and its name says nothing", in.Name),
				"were it something else, what is told of positions would be wrong: see what it is given", nil)
		}
	}
}

// unknown reports whether an encoding was not recognised, which names the node already.
func (f *finder) unknown() bool {
	return slices.ContainsFunc(f.m.sites, func(s site.Site) bool { return s.Encoding().Scheme.Name() == report.SchemeUnknown })
}

// fails tells of a graph that cannot be computed: what is said of its length is then read off its parts alone.
func (f *finder) fails() {
	if len(f.m.graph.Eval.Failures) == 0 || f.unknown() {
		return
	}
	first := f.m.graph.Eval.Failures[0]
	f.add(ruleFails, fmt.Sprintf("%s fails with %s, which were tried: %v; so nothing is known of longer ones", first.Node.Title(), f.m.graph.Tried(), first.Err),
		"run the model: if engines fail as well, export it again", nodeWhere(first.Node))
}

// graphs looks at every graph's nodes.
func (f *finder) graphs() {
	f.m.graph.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		made := make([]bool, w.Len())
		for _, n := range g.Nodes {
			for i, o := range n.Outputs {
				number, ok := w.Output(n, i)
				if !ok {
					continue // an absent one
				}
				if made[number] {
					f.add(ruleDuplicateValue, fmt.Sprintf("two nodes make the value %q", o), onceHint, nodeWhere(n))
				}
				made[number] = true
			}
		}
		for _, s := range g.Sparse {
			if fault, err := s.Fault(); err == nil && fault != "" {
				f.add(ruleSparse, fmt.Sprintf("sparse constant %q: %s", f.m.graph.TensorName(s.Values), fault), "have the model exported again", f.at(s.Values))
			}
		}
		if n := g.Cycle(); n != nil {
			f.add(ruleNodeCycle, fmt.Sprintf("%s stands in a cycle of nodes: none of them can run first", n.Title()), "have the model exported again", nodeWhere(n))
		}
	})
}

func nodeWhere(n *onnx.Node) *report.Where {
	r := n.Range()
	return &report.Where{Node: n.Title(), Range: &r}
}

// maxScanned bounds the elements of a table that inspect looks at one by one. A table that is changed is read whole.
const maxScanned = 1 << 22

// tables looks for numbers that are none, and for tables that nobody reads.
func (f *finder) tables() {
	seen := map[*onnx.Tensor]bool{}
	for _, s := range f.m.sites {
		for _, t := range s.Tables() {
			if seen[t.Tensor] {
				continue
			}
			seen[t.Tensor] = true
			if n := t.Tensor.Type.Size(t.Tensor.Len()); f.m.graph.File.Distant() && n > position.DistantBytes && t.Tensor.Type.IsFloat() {
				f.add(ruleTableNotScanned, fmt.Sprintf("table %q was not looked through for NaN and infinity: its %d bytes would be fetched", f.m.graph.TensorName(t.Tensor), n), "the option scan looks it through", f.at(t.Tensor))
				continue
			}
			f.m.graph.SpendElements(int(min(t.Tensor.Len(), maxScanned)))
			if row, column, bad := t.NotFinite(maxScanned); bad {
				f.add(ruleTableNotFinite, fmt.Sprintf("table %q holds a number that is not finite: row %d, column %d", f.m.graph.TensorName(t.Tensor), row, column),
					"fetch the file again, or take an earlier checkpoint", f.at(t.Tensor))
			}
		}
	}
	var read map[string]bool // by any graph, made when it is needed
	f.m.graph.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		for _, t := range g.Initializers {
			if number, ok := w.Number(t.Name); ok && len(w.Readers(number)) > 0 || !t.Type.IsFloat() || !f.resembles(t) {
				continue
			}
			if read == nil {
				read = f.m.graph.File.ReadNames()
			}
			if !read[t.Name] {
				f.add(ruleUnreadTable, fmt.Sprintf("nothing reads %q, which has the shape of the table in use", t.Name), "", f.at(t))
			}
		}
	})
}

// resembles reports whether a constant has the shape of a table in use, or of one with more or fewer rows.
func (f *finder) resembles(t *onnx.Tensor) bool {
	if f.shapes == nil {
		f.shapes = map[tableShape]bool{}
		for _, s := range f.m.sites {
			for _, own := range s.Tables() {
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

// file looks at what the file says of itself.
func (f *finder) file() {
	file := f.m.graph.File
	if file.IRVersion > knownIR {
		f.add(ruleVersion, fmt.Sprintf("IR version %d is newer than what is known here (%d)", file.IRVersion, knownIR), "", nil)
	}
	if file.Size > maxProtobuf {
		f.add(ruleSize, fmt.Sprintf("the file has %d bytes, and readers of protobuf stop at %d", file.Size, maxProtobuf), "store the weights as external data", nil)
	}
	file.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if !t.Type.Known() {
			f.add(ruleElementType, fmt.Sprintf("constant %q is of element type %d, which is unknown here", f.m.graph.TensorName(t), t.Type), "", f.at(t))
		}
	})
}

// sharedData tells of constants that lie on the same bytes of a data file. A change of one gives it bytes of its own.
func (f *finder) sharedData() {
	type span struct {
		tensor *onnx.Tensor
		file   string
		at     [2]int64
	}
	var spans []span
	f.m.graph.File.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if t.External() && t.Len() > 0 {
			spans = append(spans, span{t, t.DataFile(), t.Range()})
		}
	})
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.at[0], b.at[0]))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; a.file == b.file && b.at[0] < a.at[1] {
			f.add(ruleSharedData, fmt.Sprintf("constants %q and %q lie on the same bytes of %s", f.m.graph.TensorName(a.tensor), f.m.graph.TensorName(b.tensor), a.file), "", f.at(b.tensor))
		}
	}
}

// knownIR is the newest IR version that this package was tried with.
const knownIR = 14

const maxProtobuf = 1<<31 - 1

// bound tells of graphs that end before their encodings do, and of those that run at some lengths alone.
func (f *finder) bound() {
	switch end := f.m.end(); {
	case end.Step > 1:
		f.add(ruleLengthStep, fmt.Sprintf("the graph runs at %d tokens and at %d, and at no length between: %v", end.Runs, end.Runs+end.Step, end.Failure.Err),
			fmt.Sprintf("pad inputs to a multiple of %d", end.Step), nodeWhere(end.Failure.Node))
	case end.Step == 1:
		if _, beside := f.m.End(); beside > 0 || len(f.m.graph.CachesOf(end.Runs)) > 0 {
			return // its table ends there, of which other tokens take rows; or keys and values of its inputs do
		}
		f.add(ruleLengthBound, fmt.Sprintf("the graph runs up to %d tokens and not at %d, though its axes are free: %v", end.Runs, end.Runs+1, end.Failure.Err),
			"it was traced with constants of one length: extend changes them where it can, else export it again", nodeWhere(end.Failure.Node))
	}
}

// end is how far the graph runs, of as many tokens as its encodings reach.
func (m *Model) end() probe.End {
	if m.gaveUp != "" {
		return probe.End{}
	}
	least := 0
	for _, s := range m.sites {
		e := s.Encoding()
		if e.IsGrid() && m.graph.TokenMatrix() != nil {
			continue // of a picture beside the tokens
		}
		if n := e.Capacity; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return m.graph.Bound(least)
}

// End reports how many tokens the graph itself runs with, whatever its encodings hold, 0 where that is not less; and how many
// positions it counts beside those of its input: tokens that it puts before them itself, or behind.
func (m *Model) End() (longest, beside int) {
	end := m.end()
	if end.Step != 1 {
		return m.pictured(), 0
	}
	for _, s := range m.sites {
		if slices.ContainsFunc(s.Indices(), func(src trace.Source) bool { return src.Indexed == end.Failure.Node }) {
			beside = max(beside, s.Encoding().Capacity-end.Runs)
		}
	}
	return end.Runs, beside
}

// pictured is how many patches the one picture has that the graph takes, where it resamples a table of a grid to them itself; 0 elsewhere.
func (m *Model) pictured() int {
	if m.graph.FreeImage() || slices.ContainsFunc(m.sites, func(s site.Site) bool { return s.Encoding().Capacity > 0 && !s.Encoding().IsGrid() }) {
		return 0 // a text's positions bound the model
	}
	for _, s := range m.sites {
		if t, ok := s.(*tableSite); ok && t.Detected.Capacity > 0 && t.Resampled() {
			if grid, _, ok := t.uses[0].gridOf(); ok {
				return sheet.Size(grid)
			}
		}
	}
	return 0
}

// scales looks at the scales of quantised constants (facts/BAD-INPUTS C18).
func (f *finder) scales() {
	for _, s := range f.m.graph.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if n.Op != "DequantizeLinear" || s.Tensor(n.Input(0)) == nil {
				continue
			}
			if x, ok := s.Value(n.Input(1)).Scalar(); ok && (!(x > 0) || math.IsInf(x, 0)) {
				f.add(ruleScale, fmt.Sprintf("the scale of %q is %v", f.m.graph.TensorName(s.Tensor(n.Input(0))), x), "quantise the model again", nodeWhere(n))
			}
		}
	}
}

// faults are those that sites find in themselves.
func (f *finder) faults() {
	for _, s := range f.m.sites {
		for _, fault := range s.Faults() {
			f.add(fault.Rule, fault.Message, fault.Hint, f.at(fault.At))
		}
	}
}
