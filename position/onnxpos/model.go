// Package onnxpos finds the places where an ONNX graph encodes position and
// changes them: one file a mechanism, each with the patterns to find it and
// the edits to hold new numbers.
//
// New evaluates the graph at a small length (package onnx/eval) and judges
// values and structure; internal names decide nothing, since exporters erase
// them (facts/ONNX-PATTERNS §1).
package onnxpos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// probeLength is the sequence length of the first probe: no usual number of
// heads, so that axes are not mistaken for each other.
const probeLength = 5

// Model is an ONNX model as positions see it.
type Model struct {
	file       *onnx.File
	editor     *onnx.Editor
	sizes      sizes
	probe      *eval.Evaluator
	first      *eval.Evaluator // of all: what no input changes is taken from it
	probes     map[sizes]*eval.Evaluator
	sites      []site
	attentions []*position.Attention
	findings   []report.Finding
	looked     bool // attentions were looked for
	bounds     *bounds
	budget     *eval.Budget
	given      *inputs // the model's inputs, once they were looked at
	fixed      struct {
		asked  bool
		length int
	}
	convolution struct {
		asked bool
		first *onnx.Node
	}
	shown    []position.Site         // sites as Sites gives them
	names    map[*onnx.Tensor]string // of constants without a name of their own, once one was asked for
	failed   map[int]*eval.Failure   // what fails at a length, by length
	lengths  map[int]bool            // at which indices of tables of distances were computed
	gaveUp   string                  // what was given up, since the graph is too large; "": nothing
	enlarged bool                    // the picture of the probe was chosen anew, since its map vanished
	patches  *onnx.Node              // the convolution that makes an image's patches, where it is not the first
}

// site is a position.Site of this package with what the model needs to know
// of it when lengths change.
type site interface {
	position.Site
	// overlay tells the evaluator what the site's constants will be.
	overlay(into map[*onnx.Tensor]*eval.Value)
}

// New finds the position encodings of an opened model. A graph that defeats the
// detector is an error that says so, never a panic: graphs are hostile input,
// and one that is not understood can still be told from one that is.
//
// It is NewContext without an end.
func New(f *onnx.File) (*Model, error) { return NewContext(context.Background(), f) }

// maxSteps bounds the steps of everything that is asked about a model, a node that
// is looked at or as many numbers as are computed in its time: some seconds. The
// largest of ordinary models take a twentieth.
const maxSteps = 1 << 26

// NewContext is New, and all that is asked of the model later, until a context ends:
// then the error is the context's. A graph on which a detector has to be given up,
// because it is too large, has an encoding that is unknown and a finding that says so.
func NewContext(ctx context.Context, f *onnx.File) (m *Model, err error) {
	defer func() {
		if r := recover(); r != nil {
			if spent, ok := r.(*eval.Spent); ok {
				m, err = nil, spent
				return
			}
			m, err = nil, &onnx.UnsupportedError{Place: f.Path, What: fmt.Sprintf("the graph is not understood (%v): please report it", r)}
		}
	}()
	return find(f, eval.NewBudget(ctx, maxSteps))
}

// find is New without its net.
func find(f *onnx.File, budget *eval.Budget) (*Model, error) {
	if err := f.CheckData(); err != nil {
		return nil, err
	}
	m := &Model{file: f, editor: onnx.NewEditor(f), budget: budget}
	if err := m.look(); err != nil {
		return nil, err
	}
	m.inspectFindings()
	return m, nil
}

// look evaluates the graph and finds the encodings. What is too large to be looked at
// whole has one that is unknown.
func (m *Model) look() (err error) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		spent, ok := r.(*eval.Spent)
		if !ok {
			panic(r)
		}
		if err = spent.Err; err == nil {
			m.giveUp(spent.Error())
		}
	}()
	m.budget.What = "evaluating it"
	m.sizes = m.probeSizes()
	m.probe = m.evaluate(m.sizes)
	if len(m.probe.Failures) > 0 && m.fixedLength() == 0 && m.tokenInput() != nil {
		m.probeTraced()
	}
	m.budget.What = "the search for position encodings"
	m.detect()
	if why := m.probe.Bounded(); why != "" {
		m.giveUp("the graph is too large to be looked at whole: " + why)
	}
	return nil
}

// giveUp leaves nothing of what was found but that it is not known.
func (m *Model) giveUp(why string) {
	m.gaveUp = why
	m.sites, m.shown = []site{&otherSite{position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Beyond: report.BeyondUnknown,
		Evidence: []report.Evidence{{Kind: "structure", Says: why}}}}}, nil
	m.attentions, m.looked = nil, true
}

// probeSizes chooses the sizes of the first probe; a length that the file
// fixes is taken from it.
func (m *Model) probeSizes() sizes {
	s := sizes{batch: 1, length: probeLength, image: 16}
	if n := m.fixedLength(); n > 0 {
		s.length = n
	}
	if in := m.waveInput(); in != nil && in.Dims[len(in.Dims)-1].Value < 0 {
		s.length = m.waveLength(s)
	}
	if m.freeImage() {
		s.image = m.imageSize(s)
	}
	return s
}

// tracedLengths are lengths that exporters trace graphs with. Some graphs keep a
// constant of theirs and run at no other.
var tracedLengths = []int{11, 8, 16, 32, 64, 128}

// probeTraced looks for a length at which the graph runs.
func (m *Model) probeTraced() {
	s := m.sizes
	for _, s.length = range tracedLengths {
		if e := m.evaluate(s); len(e.Failures) == 0 {
			m.sizes, m.probe = s, e
			return
		}
	}
}

// waveLengths are numbers of samples that recordings are tried with: strided
// convolutions make a frame of hundreds in trained models, of a few in small
// ones.
var waveLengths = []int{100, 400, 1000, 4000, 16000}

// minFrames is how many frames a probe must have, so that axes are told apart.
const minFrames = 5

// waveLength is the least number of samples of which the graph makes frames.
func (m *Model) waveLength(s sizes) int {
	for _, n := range waveLengths {
		s.length = n
		e := m.evaluate(s)
		if len(e.Failures) > 0 || len(m.file.Graph.Outputs) == 0 {
			continue
		}
		if out := e.Main.Value(m.file.Graph.Outputs[0].Name); len(out.Shape) >= 2 && out.Shape[1] >= minFrames {
			return n
		}
	}
	return waveLengths[3]
}

// imageSizes are the sides that free image axes are tried with, the usual ones
// of trained models and of small ones.
var imageSizes = []int{32, 224, 384, 256, 336, 512, 518, 64, 16, 448, 128}

// freeImage reports whether an image input leaves its height to the caller.
func (m *Model) freeImage() bool {
	in := m.imageInput()
	return in != nil && in.Dims[2].Value < 0
}

// imageSize is the side at which the graph runs.
func (m *Model) imageSize(s sizes) int {
	sides := slices.Clone(imageSizes)
	if patch := m.PatchSize(); patch > 0 {
		for n := 1; n <= maxProbedGrid; n++ {
			sides = append(sides, n*patch)
		}
	}
	for _, side := range sides {
		s.image = side
		if e := m.failing(s, func(eval.Failure) bool { return true }); len(e.Failures) == 0 {
			return side
		}
	}
	return imageSizes[0]
}

// enlargePicture probes anew with a larger picture, where convolutions leave a
// single position of the first one, and looks for encodings again. It reports
// whether it did.
func (m *Model) enlargePicture() bool {
	if m.enlarged || m.vanished() == nil {
		return false
	}
	m.enlarged = true
	s := m.sizes
	for _, s.image = range imageSizes {
		if s.image <= 2*m.sizes.image {
			continue
		}
		if e := m.evaluate(s); len(e.Failures) == 0 {
			m.sizes, m.probe, m.probes = s, e, nil
			m.detect()
			return true
		}
	}
	return false
}

// maxProbedGrid bounds the grids that a free picture is tried with.
const maxProbedGrid = 64

// at returns the evaluation at other sizes, kept for the next question. Values
// are computed when they are asked for.
func (m *Model) at(s sizes) *eval.Evaluator {
	if e := m.probes[s]; e != nil {
		return e
	}
	if m.probes == nil {
		m.probes = map[sizes]*eval.Evaluator{}
	}
	e := m.evaluator(s)
	if len(m.probe.Scopes()) > 1 {
		e.Run() // or scopes would not have the places that they have in the probe
	}
	m.probes[s] = e
	return e
}

// evaluate runs the graph at the given sizes.
func (m *Model) evaluate(s sizes) *eval.Evaluator {
	e := m.evaluator(s)
	if m.first == nil {
		m.first = e
	}
	e.Run()
	return e
}

// failing runs the graph to see what fails, until stop is true of a failure;
// nil runs it to the end.
func (m *Model) failing(s sizes, stop func(eval.Failure) bool) *eval.Evaluator {
	e := m.evaluator(s)
	e.Stop, e.MaxFloats = stop, failureFloats
	e.Run()
	return e
}

// failsAnyway are the nodes that fail at the sizes of the first probe already:
// what they do elsewhere says nothing.
func (m *Model) failsAnyway() map[*onnx.Node]bool {
	out := map[*onnx.Node]bool{}
	for _, f := range m.probe.Failures {
		out[f.Node] = true
	}
	return out
}

// failureFloats bounds the numbers that are looked at where only failures count:
// indices by logarithms of distances among 64 tokens. Masks and angles of long
// inputs fail nowhere.
const failureFloats = 64 * 64

// elementsAStep is how many elements that are looked at count as one step.
const elementsAStep = 8

// spendElements counts elements that are looked at one by one.
func (m *Model) spendElements(n int) { m.budget.Spend(n / elementsAStep) }

// evaluator prepares a run of the graph at the given sizes.
func (m *Model) evaluator(s sizes) *eval.Evaluator {
	inputs := probeInputs(m.file, s)
	m.budget.Spend(m.file.Graph.Wiring().Len() / elementsAStep)
	if m.first != nil {
		return m.first.Again(inputs)
	}
	e := eval.New(m.file, inputs)
	e.Unquantized, e.Budget = true, m.budget
	return e
}

// inputs are the model's inputs by what they carry; nil where there is none of a
// kind.
type inputs struct {
	tokens   *onnx.ValueInfo // the first integer matrix that is no mask
	features *onnx.ValueInfo // the first of (batch, frames, channels) or the like
	wave     *onnx.ValueInfo // the first matrix of samples
	image    *onnx.ValueInfo // the first picture
	video    *onnx.ValueInfo // the first video
}

// kinds looks at the inputs once.
func (m *Model) kinds() *inputs {
	if m.given != nil {
		return m.given
	}
	k := &inputs{}
	m.given = k
	first := func(place **onnx.ValueInfo, in *onnx.ValueInfo) {
		if *place == nil {
			*place = in
		}
	}
	for _, in := range m.file.Graph.Inputs {
		if m.isConstant(in.Name) {
			continue
		}
		name, rank := strings.ToLower(in.Name), len(in.Dims)
		switch {
		case in.Type.IsInteger() && in.Type != onnx.Bool && rank == 2 && !strings.Contains(name, "mask"):
			first(&k.tokens, in)
		case !in.Type.IsFloat():
		case rank == 2 && !strings.Contains(name, "mask"):
			first(&k.wave, in)
		case rank == 3:
			first(&k.features, in)
		case rank == 4 && !strings.Contains(in.Name, "past"):
			first(&k.image, in)
		case rank == 5 && !strings.Contains(in.Name, "past"):
			first(&k.video, in)
		}
	}
	return k
}

// tokenInput is the input that carries the sequence: the first matrix of token
// ids, else the first of features.
func (m *Model) tokenInput() *onnx.ValueInfo {
	if in := m.tokenMatrix(); in != nil {
		return in
	}
	return m.kinds().features
}

// tokenMatrix is the first integer matrix among the inputs that is no mask.
func (m *Model) tokenMatrix() *onnx.ValueInfo { return m.kinds().tokens }

// waveInput is a raw audio input: (batch, samples).
func (m *Model) waveInput() *onnx.ValueInfo {
	if m.tokenInput() != nil {
		return nil
	}
	return m.kinds().wave
}

// imageInput is a picture: (batch, channels, height, width).
func (m *Model) imageInput() *onnx.ValueInfo { return m.kinds().image }

// videoInput is a video: (batch, frames, channels, height, width), the two
// in the middle in either order.
func (m *Model) videoInput() *onnx.ValueInfo { return m.kinds().video }

func (m *Model) isConstant(name string) bool {
	return m.file.Graph.Initializer(name) != nil
}

// fixedLength is the sequence length that the main input fixes, 0 when free.
func (m *Model) fixedLength() int {
	if !m.fixed.asked {
		m.fixed.asked, m.fixed.length = true, m.lengthOf(m.tokenInput())
	}
	return m.fixed.length
}

// lengthOf is the sequence length that an input fixes, 0 when free.
func (m *Model) lengthOf(in *onnx.ValueInfo) int {
	if in == nil || m.convolved(in.Name) {
		return 0
	}
	axis := 1
	if in.Dims[0].Value > 1 && in.Dims[1].Value == 1 {
		axis = 0 // sequence first
	}
	if n := in.Dims[axis].Value; n > 1 && (in.Type.IsInteger() || len(in.Dims) == 3) {
		return int(n)
	}
	return 0
}

// convolved reports whether an input goes into a convolution first: then its
// axes are channels and frames.
func (m *Model) convolved(name string) bool {
	w := m.file.Graph.Wiring()
	for range 16 { // hostile graphs have circles
		number, used := w.Number(name)
		if !used {
			return false
		}
		readers := w.Readers(number)
		i := slices.IndexFunc(readers, func(n *onnx.Node) bool { return n.Input(0) == name && n.Op != "Shape" })
		m.budget.Spend(1 + len(readers))
		if i < 0 {
			return false
		}
		n := readers[i]
		switch n.Op {
		case "DynamicQuantizeLinear", "QuantizeLinear", "DequantizeLinear", "Unsqueeze", "Transpose", "Cast", "Identity":
			name = n.Output(0)
		default:
			return n.IsConvolution()
		}
	}
	return false
}

// GaveUp says why the graph was not looked at whole, "" where it was.
func (m *Model) GaveUp() string { return m.gaveUp }

// Sites are the position encodings that were found.
func (m *Model) Sites() []position.Site {
	for len(m.shown) < len(m.sites) {
		m.shown = append(m.shown, m.sites[len(m.shown)])
	}
	return m.shown[:len(m.sites):len(m.sites)]
}

// Findings are what the owner of the file should know.
func (m *Model) Findings() []report.Finding { return m.findings }

// Describe says what the file is, apart from its encodings.
func (m *Model) Describe() report.Inspect {
	r := report.Inspect{Path: m.file.Path, Format: "onnx", Bytes: m.file.Size, Kind: report.KindModel, Files: []report.File{}}
	if p := m.file.Describe(); p != "" {
		r.Producer = &p
	}
	for _, d := range m.file.DataFiles() {
		r.Files = append(r.Files, report.File{Path: d.Path, Bytes: d.Size})
	}
	if n := m.fixedLength(); n > 0 {
		r.Length.Stated = &n
	}
	return r
}

// Close closes the file.
func (m *Model) Close() error { return m.file.Close() }

// replace gives a constant other content; a constant that cannot be given any
// refuses the change.
func (m *Model) replace(t *onnx.Tensor, dims []int64, data patch.Source, why string) error {
	return refusal(m.editor.ReplaceTensor(t, dims, data, why))
}

// refusal is the error of the editor for what it cannot do, as a refusal.
func refusal(err error) error {
	if u, ok := errors.AsType[*onnx.UnsupportedError](err); ok {
		return &position.Refusal{Why: u.Error(), Instead: "have the model exported again"}
	}
	return err
}

// NameData tells the model the path at which it will be written, after
// which its data files are named.
func (m *Model) NameData(path string) { m.editor.NameData(path) }

// Edits returns the plan of everything that was recorded.
func (m *Model) Edits() (patch.Plan, error) {
	if m.editor.Changed() {
		if err := m.sound(); err != nil {
			return patch.Plan{}, err
		}
	}
	p, err := m.editor.Plan()
	if err != nil {
		return p, refusal(err)
	}
	return p, m.readable(p)
}

// readable refuses a plan whose model file would be larger than readers of protobuf
// take, where the old one was not.
func (m *Model) readable(p patch.Plan) error {
	size := m.file.Size
	for _, e := range p.Edits {
		if e.File != 0 {
			continue
		}
		if size -= e.Old; e.New != nil {
			size += e.New.Size()
		}
	}
	if size <= maxProtobuf || size <= m.file.Size {
		return nil
	}
	return &position.Refusal{Why: fmt.Sprintf("the new file would have %d bytes, and readers of protobuf stop at %d", size, maxProtobuf),
		Instead: "store the weights as external data first, or choose a lesser length"}
}
