// Package fault finds what is wrong with an ONNX file whatever its encodings are: what stands twice, cycles, numbers that are none, scales,
// shared bytes; and what sites find in themselves. It says so by rules, as findings of a report.
package fault

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/site"
	"github.com/modelpatch/modelpatch/report"
)

// Rules of findings.
var (
	DuplicateInitializer = site.Rule{ID: "onnx-duplicate-initializer", Level: report.LevelError, Doc: "a constant has two values"}
	RawAndTyped          = site.Rule{ID: "onnx-raw-and-typed-data", Level: report.LevelError, Doc: "a constant has its data twice, raw and typed"}
	DuplicateAttribute   = site.Rule{ID: "onnx-duplicate-attribute", Level: report.LevelError, Doc: "a node has an attribute twice"}
	DuplicateFunction    = site.Rule{ID: "onnx-duplicate-function", Level: report.LevelError, Doc: "a function is defined twice"}
	DuplicateValue       = site.Rule{ID: "onnx-duplicate-value", Level: report.LevelError, Doc: "two nodes make one value"}
	NodeCycle            = site.Rule{ID: "onnx-node-cycle", Level: report.LevelError, Doc: "nodes need their own output"}
	TableNotFinite       = site.Rule{ID: "onnx-table-not-finite", Level: report.LevelError, Doc: "a table of an encoding holds NaN or infinity"}
	TableNotScanned      = site.Rule{ID: "onnx-table-not-scanned", Level: report.LevelNote, Doc: "a table was not looked through for NaN and infinity"}
	UnreadTable          = site.Rule{ID: "onnx-unread-table", Level: report.LevelNote, Doc: "a constant has the shape of the table in use, and nothing reads it"}
	ElementType          = site.Rule{ID: "onnx-unknown-element-type", Level: report.LevelNote, Doc: "a constant is of an element type that is unknown here"}
	Version              = site.Rule{ID: "onnx-ir-version", Level: report.LevelNote, Doc: "the IR version is newer than those that were tried"}
	Size                 = site.Rule{ID: "onnx-file-size", Level: report.LevelWarning, Doc: "the file is larger than readers of protobuf take"}
	SharedData           = site.Rule{ID: "onnx-shared-data", Level: report.LevelNote, Doc: "two constants lie on the same bytes of a data file"}
	Fails                = site.Rule{ID: "onnx-fails", Level: report.LevelWarning, Doc: "a node fails at the sizes of inputs at which the graph was computed"}
	PositionsAssumed     = site.Rule{ID: "onnx-positions-assumed", Level: report.LevelNote, Doc: "an input is taken for positions, as its name says nothing"}
	Scale                = site.Rule{ID: "onnx-quantisation-scale", Level: report.LevelError, Doc: "a quantised constant has a scale that is not a positive number"}
	Sparse               = site.Rule{ID: "onnx-sparse-index", Level: report.LevelError, Doc: "a sparse constant has indices outside of its dimensions"}
)

// MaxFindings bounds the findings of one rule; the last of them tells how many there are.
const MaxFindings = 100

// Finder looks for the faults of one file.
type Finder struct {
	graph  *site.Graph
	sites  []site.Site
	found  []report.Finding
	count  map[string]int
	shapes map[tableShape]bool // of the tables in use, made when first asked for
}

// New begins a look at a file in which sites were found.
func New(g *site.Graph, sites []site.Site) *Finder {
	return &Finder{graph: g, sites: sites, count: map[string]int{}}
}

// Found are the findings, the last of each rule saying how many more there are.
func (f *Finder) Found() []report.Finding {
	for rule, n := range f.count {
		if n <= MaxFindings {
			continue
		}
		for i := range f.found {
			if last := &f.found[i]; last.Rule == rule {
				last.Message = fmt.Sprintf("%s (and %d more)", last.Message, n-MaxFindings)
				break
			}
		}
	}
	return f.found
}

// Add notes a finding, while there are not too many of its rule.
func (f *Finder) Add(rule site.Rule, message, hint string, where *report.Where) {
	if f.count[rule.ID]++; f.count[rule.ID] > MaxFindings {
		return
	}
	f.found = append(f.found, report.Finding{Rule: rule.ID, Level: rule.Level, Message: message, Hint: hint, Where: where})
}

func (f *Finder) at(t *onnx.Tensor) *report.Where {
	if t == nil {
		return nil
	}
	w := f.graph.Where(t)
	return &w
}

const onceHint = "have the model exported again, so that every name and tensor stands once"

// File tells of places that give two answers, and of nodes that cannot run.
func (f *Finder) File() {
	f.repeats()
	f.graphs()
}

// repeats tells of places that give two answers.
func (f *Finder) repeats() {
	rules := map[onnx.RepeatKind]site.Rule{onnx.RepeatInitializer: DuplicateInitializer, onnx.RepeatData: RawAndTyped,
		onnx.RepeatAttribute: DuplicateAttribute, onnx.RepeatFunction: DuplicateFunction}
	for _, r := range f.graph.File.Repeats {
		f.Add(rules[r.Kind], r.What+": readers differ in which one counts", onceHint, f.at(r.Tensor))
	}
}

// Unknown reports whether an encoding was not recognised, which names the node already.
func (f *Finder) Unknown() bool {
	return slices.ContainsFunc(f.sites, func(s site.Site) bool { return s.Encoding().Scheme.Name() == report.SchemeUnknown })
}

// Assumed tells of inputs that are taken for positions by what is done with them alone.
func (f *Finder) Assumed() {
	for _, in := range probe.Given(f.graph.File) {
		if probe.AssumesPositions(f.graph.File, in) {
			f.Add(PositionsAssumed, fmt.Sprintf("input %q is taken for positions: rows that it picks are added to those of tokens, and its name says nothing", in.Name),
				"were it something else, what is told of positions would be wrong: see what it is given", nil)
		}
	}
}

// Fails tells of a graph that cannot be computed: what is said of its length is then read off its parts alone.
func (f *Finder) Fails() {
	if len(f.graph.Eval.Failures) == 0 || f.Unknown() {
		return
	}
	first := f.graph.Eval.Failures[0]
	f.Add(Fails, fmt.Sprintf("%s fails with %s, which were tried: %v; so nothing is known of longer ones", first.Node.Title(), f.graph.Tried(), first.Err),
		"run the model: if engines fail as well, export it again", At(first.Node))
}

// graphs looks at every graph's nodes.
func (f *Finder) graphs() {
	f.graph.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		made := make([]bool, w.Len())
		for _, n := range g.Nodes {
			for i, o := range n.Outputs {
				number, ok := w.Output(n, i)
				if !ok {
					continue // an absent one
				}
				if made[number] {
					f.Add(DuplicateValue, fmt.Sprintf("two nodes make the value %q", o), onceHint, At(n))
				}
				made[number] = true
			}
		}
		for _, s := range g.Sparse {
			if fault, err := s.Fault(); err == nil && fault != "" {
				f.Add(Sparse, fmt.Sprintf("sparse constant %q: %s", f.graph.TensorName(s.Values), fault), "have the model exported again", f.at(s.Values))
			}
		}
		if n := g.Cycle(); n != nil {
			f.Add(NodeCycle, fmt.Sprintf("%s stands in a cycle of nodes: none of them can run first", n.Title()), "have the model exported again", At(n))
		}
	})
}

// At is where a node stands in the file.
func At(n *onnx.Node) *report.Where {
	r := n.Range()
	return &report.Where{Node: n.Title(), Range: &r}
}

// MaxScanned bounds the elements of a table that inspect looks at one by one. A table that is changed is read whole.
const MaxScanned = 1 << 22

// Tables looks for numbers that are none, and for tables that nobody reads.
func (f *Finder) Tables() {
	seen := map[*onnx.Tensor]bool{}
	for _, s := range f.sites {
		for _, t := range s.Tables() {
			if seen[t.Tensor] {
				continue
			}
			seen[t.Tensor] = true
			if n := t.Tensor.Type.Size(t.Tensor.Len()); f.graph.File.Distant() && n > position.DistantBytes && t.Tensor.Type.IsFloat() {
				f.Add(TableNotScanned, fmt.Sprintf("table %q was not looked through for NaN and infinity: its %d bytes would be fetched", f.graph.TensorName(t.Tensor), n), "the option scan looks it through", f.at(t.Tensor))
				continue
			}
			f.graph.SpendElements(int(min(t.Tensor.Len(), MaxScanned)))
			if row, column, bad := t.NotFinite(MaxScanned); bad {
				f.Add(TableNotFinite, fmt.Sprintf("table %q holds a number that is not finite: row %d, column %d", f.graph.TensorName(t.Tensor), row, column),
					"fetch the file again, or take an earlier checkpoint", f.at(t.Tensor))
			}
		}
	}
	var read map[string]bool // by any graph, made when it is needed
	f.graph.File.Graphs(func(g *onnx.Graph) {
		w := g.Wiring()
		for _, t := range g.Initializers {
			if number, ok := w.Number(t.Name); ok && len(w.Readers(number)) > 0 || !t.Type.IsFloat() || !f.resembles(t) {
				continue
			}
			if read == nil {
				read = f.graph.File.ReadNames()
			}
			if !read[t.Name] {
				f.Add(UnreadTable, fmt.Sprintf("nothing reads %q, which has the shape of the table in use", t.Name), "", f.at(t))
			}
		}
	})
}

// resembles reports whether a constant has the shape of a table in use, or of one with more or fewer rows.
func (f *Finder) resembles(t *onnx.Tensor) bool {
	if f.shapes == nil {
		f.shapes = map[tableShape]bool{}
		for _, s := range f.sites {
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

// Declared looks at what the file says of itself, and of its constants.
func (f *Finder) Declared() {
	file := f.graph.File
	if file.IRVersion > KnownIR {
		f.Add(Version, fmt.Sprintf("IR version %d is newer than what is known here (%d)", file.IRVersion, KnownIR), "", nil)
	}
	if file.Size > MaxProtobuf {
		f.Add(Size, fmt.Sprintf("the file has %d bytes, and readers of protobuf stop at %d", file.Size, MaxProtobuf), "store the weights as external data", nil)
	}
	file.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if !t.Type.Known() {
			f.Add(ElementType, fmt.Sprintf("constant %q is of element type %d, which is unknown here", f.graph.TensorName(t), t.Type), "", f.at(t))
		}
	})
	f.sharedData()
}

// sharedData tells of constants that lie on the same bytes of a data file. A change of one gives it bytes of its own.
func (f *Finder) sharedData() {
	type span struct {
		tensor *onnx.Tensor
		file   string
		at     [2]int64
	}
	var spans []span
	f.graph.File.Tensors(func(t *onnx.Tensor, _ *onnx.Graph) {
		if t.External() && t.Len() > 0 {
			spans = append(spans, span{t, t.DataFile(), t.Range()})
		}
	})
	slices.SortStableFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.at[0], b.at[0]))
	})
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; a.file == b.file && b.at[0] < a.at[1] {
			f.Add(SharedData, fmt.Sprintf("constants %q and %q lie on the same bytes of %s", f.graph.TensorName(a.tensor), f.graph.TensorName(b.tensor), a.file), "", f.at(b.tensor))
		}
	}
}

// KnownIR is the newest IR version that this package was tried with.
const KnownIR = 14

// MaxProtobuf is the most bytes of a file that readers of protobuf take.
const MaxProtobuf = 1<<31 - 1

// Scales looks at the scales of quantised constants (facts/BAD-INPUTS C18).
func (f *Finder) Scales() {
	for _, s := range f.graph.Eval.Scopes() {
		s.Spend(len(s.Graph.Nodes))
		for _, n := range s.Graph.Nodes {
			if n.Op != "DequantizeLinear" || s.Tensor(n.Input(0)) == nil {
				continue
			}
			if x, ok := s.Value(n.Input(1)).Scalar(); ok && (!(x > 0) || math.IsInf(x, 0)) {
				f.Add(Scale, fmt.Sprintf("the scale of %q is %v", f.graph.TensorName(s.Tensor(n.Input(0))), x), "quantise the model again", At(n))
			}
		}
	}
}

// OfSites are the faults that sites find in themselves.
func (f *Finder) OfSites() {
	for _, s := range f.sites {
		for _, fault := range s.Faults() {
			f.Add(fault.Rule, fault.Message, fault.Hint, f.at(fault.At))
		}
	}
}
