package onnxpos

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// otherSite is an encoding that is recognised and that no verb changes.
type otherSite struct{ encoding position.Encoding }

// Encoding is what inspect tells of the site.
func (o *otherSite) Encoding() position.Encoding { return o.encoding }

// join makes the same mechanism of another layer part of the site, which stands for
// the first that tells its window.
func (o *otherSite) join(other *otherSite) {
	if o.encoding.Scheme.(schemes.Other).Window == nil && other.encoding.Scheme.(schemes.Other).Window != nil {
		o.encoding.Scheme = other.encoding.Scheme
	}
	o.encoding.Where = append(o.encoding.Where, other.encoding.Where...)
}

// Hold refuses: nothing here can be given other numbers.
func (o *otherSite) Hold(position.Want) error {
	return &position.Refusal{Why: fmt.Sprintf("%s cannot be changed in an ONNX file", o.encoding.Scheme),
		Instead: "export the model again with the wanted configuration"}
}

func (o *otherSite) overlay(map[*onnx.Tensor]*eval.Value) {}

// addOthers looks for the mechanisms that are neither added tables nor
// rotations nor biases, and says none when nothing was found.
func (m *Model) addOthers(d *detector) {
	if !m.hasRotary() {
		if s := m.relativeSinusoid(d); s != nil {
			m.sites = append(m.sites, s)
		}
	}
	m.distanceVectors(d)
	if !m.hasScheme(report.SchemeRelativeSinusoid) && !m.hasScheme(report.SchemeRelativeTable) {
		if s := m.skewed(d); s != nil {
			m.sites = append(m.sites, s)
		}
	}
	if s := m.disentangled(d); s != nil {
		m.sites = append(m.sites, s)
	}
	if !slices.ContainsFunc(m.sites, func(s site) bool { return !besideConvolution(s) }) {
		if s := m.positionalConvolution(d); s != nil {
			m.sites = append(m.sites, s)
		}
	}
	m.unread = m.addMet(d)
	m.endTables()
	if len(m.sites) == 0 {
		if s := m.unexplained(); s != nil {
			m.sites = append(m.sites, s)
		}
	}
	if len(m.sites) == 0 && d.unread != nil {
		m.sites = append(m.sites, unknownAt(nodeName(d.unread), "constants meet the data here that are too many to be looked at; no other encoding was recognised"))
	}
	if len(m.sites) == 0 && !m.enlargePicture() {
		m.sites = append(m.sites, m.withoutEncoding())
	}
}

// longerLengths are tried on graphs that nothing seems to bound.
var longerLengths = []int{40, 200, 1100}

// bound is how far a graph runs that nothing seems to bound, and what fails
// one position further; nil when it runs at every length that was tried, or
// when its input is not of tokens with a free length.
func (m *Model) bound() (runs int, failure *eval.Failure) {
	if m.bounds == nil {
		m.bounds = &bounds{}
		m.bounds.runs, m.bounds.failure = m.findBound()
	}
	return m.bounds.runs, m.bounds.failure
}

// bounds is what bound found.
type bounds struct {
	runs    int
	failure *eval.Failure
}

func (m *Model) findBound() (runs int, failure *eval.Failure) {
	if m.fixedLength() > 0 || m.tokenInput() == nil || m.imageInput() != nil || m.videoInput() != nil || m.audio() != nil {
		return 0, nil
	}
	runs = m.sizes.length
	fails := 0
	for _, n := range longerLengths {
		if f := m.failsAt(n); f != nil {
			fails, failure = n, f
			break
		}
		runs = n
	}
	for failure != nil && fails-runs > 1 {
		if f := m.failsAt((runs + fails) / 2); f != nil {
			fails, failure = (runs+fails)/2, f
		} else {
			runs = (runs + fails) / 2
		}
	}
	return runs, failure
}

// endTables bounds tables of distances that nothing seemed to bound: a trace may
// have lost the clamp that keeps distances inside (DeBERTa of version 1,
// facts/ONNX-PATTERNS §5).
func (m *Model) endTables() {
	if slices.ContainsFunc(m.sites, func(s site) bool { return s.Encoding().Capacity > 0 }) {
		return
	}
	for _, s := range m.sites {
		o, ok := s.(*otherSite)
		if !ok || o.encoding.Form != report.FormTable {
			continue
		}
		if runs, failure := m.bound(); failure != nil && strings.HasPrefix(failure.Node.Op, "Gather") {
			o.encoding.Capacity, o.encoding.Beyond = runs, report.BeyondError
			o.encoding.Evidence = append(o.encoding.Evidence, report.Evidence{Kind: "structure",
				Says: fmt.Sprintf("%s fails at %d tokens: %v", nodeName(failure.Node), runs+1, failure.Err)})
		}
	}
}

// unexplained is the table that ends a graph in which no encoding was found:
// something counts there that was not recognised.
func (m *Model) unexplained() site {
	runs, failure := m.bound()
	if failure == nil || !strings.HasPrefix(failure.Node.Op, "Gather") {
		return nil
	}
	return &otherSite{position.Encoding{Scheme: schemes.Other{Kind: report.SchemeUnknown}, Form: report.FormRuntime, Capacity: runs, Beyond: report.BeyondError,
		Where: []report.Where{{Node: nodeName(failure.Node)}},
		Evidence: []report.Evidence{{Kind: "structure",
			Says: fmt.Sprintf("no encoding was recognised, and the graph cannot run at %d tokens: %s: %v", runs+1, nodeName(failure.Node), failure.Err)}}}}
}

// failsAt is what first fails at another length, and not at that of the probe.
func (m *Model) failsAt(length int) *eval.Failure {
	if f, asked := m.failed[length]; asked {
		return f
	}
	if m.failed == nil {
		m.failed = map[int]*eval.Failure{}
	}
	f := m.failsFirst(length)
	m.failed[length] = f
	return f
}

func (m *Model) failsFirst(length int) *eval.Failure {
	size := m.sizes
	size.length = length
	c := &lengthChange{m: m, known: m.failsAnyway()}
	return c.first(m.failing(size, nil))
}

func (m *Model) hasRotary() bool {
	for _, s := range m.sites {
		if _, ok := s.(*rotarySite); ok {
			return true
		}
	}
	return false
}

// relativeSinusoid finds sines and cosines of distances that are multiplied by
// weights, as in Transformer-XL, XLNet and Conformers (facts/ONNX-PATTERNS §3).
func (m *Model) relativeSinusoid(d *detector) site {
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if n.Op != "MatMul" && n.Op != "Einsum" && n.Op != "Gemm" && n.Op != "MatMulInteger" || len(n.Inputs) < 2 {
				continue
			}
			for i := range 2 {
				if site := m.relativeOperand(s, n, n.Input(i), n.Input(1-i)); site != nil {
					return site
				}
			}
		}
	}
	return nil
}

func (m *Model) relativeOperand(s *eval.Scope, n *onnx.Node, name, weights string) site {
	if q, at := s.Find(name); q != nil && at == s && q.Op == "DynamicQuantizeLinear" {
		name = q.Input(0)
	}
	v := s.Value(name)
	if len(v.Shape) < 2 || s.Value(weights).Type != v.Type && n.Op != "MatMulInteger" || !isWeight(s, weights) {
		return nil // before a constant is read that is no table
	}
	if !v.Known() || v.Floats == nil {
		return nil
	}
	axis := positionAxis(v)
	if axis < 0 {
		return nil
	}
	rows := eval.Ask(v, "rows", func() matrix {
		m.spendElements(v.Len())
		return rowsOf(v, axis)
	})
	form := report.FormBaked
	var trig *onnx.Node
	var cut *source // a table of all distances, of which the graph cuts what a length needs
	for _, src := range sources(s, name) {
		if src.trig != nil {
			form, trig = report.FormRuntime, src.trig
		}
		if src.tensor != nil && src.indexed != nil && src.indexed.Op == "Slice" {
			cut = &src
		}
	}
	found := eval.Ask(v, "relative base", func() relativeSinusoids {
		base, ok := relativeBase(rows)
		if !ok {
			base, ok = relativeBase(rows.deinterleaved())
		}
		return relativeSinusoids{base, ok}
	})
	base, ok := found.base, found.ok
	if !ok && (trig == nil || m.imageInput() != nil) { // of a picture's rows and columns (Conditional DETR)
		return nil
	}
	if cut != nil && trig == nil {
		return m.relativeCut(n, *cut, rows.Cols(), base)
	}
	other := schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: rows.Cols(), Base: base}
	e := position.Encoding{Scheme: other, Form: form, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: nodeName(n) + " multiplies sines and cosines of distances by weights"}}}
	if form == report.FormBaked {
		e.Beyond, e.Capacity = report.BeyondError, m.sizes.length
	}
	return &otherSite{e}
}

// relativeCut is a table of the sinusoids of 2n−1 distances, from the middle of
// which the graph cuts those of the input's length (Conformer). With one
// position more than n the cut begins at −1, which is the last row: the graph
// runs and is wrong (facts/ONNX-PATTERNS §8).
func (m *Model) relativeCut(n *onnx.Node, src source, dim int, base float64) site {
	e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeRelativeSinusoid, Dim: dim, Base: base}, Form: report.FormTable,
		Capacity: int(src.tensor.Dims[src.axis]+1) / 2, Beyond: report.BeyondError, Where: []report.Where{m.where(src.tensor)},
		Evidence: []report.Evidence{{Kind: "structure", Says: fmt.Sprintf("%s multiplies sines and cosines of distances by weights; %s cuts them out of a table", nodeName(n), nodeName(src.indexed))}}}
	if from := src.indexed.Input(1); from != "" && !clamped(src.scope, from) {
		e.Beyond = report.BeyondWrong
	}
	return &otherSite{e}
}

// clamped reports whether a number is kept within bounds on its way.
func clamped(s *eval.Scope, name string) bool {
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < maxTrace; i++ {
		n, at := s.Find(queue[i])
		if n == nil || at != s || seen[queue[i]] {
			continue
		}
		seen[queue[i]] = true
		if n.Op == "Max" || n.Op == "Clip" || n.Op == "Where" {
			return true
		}
		queue = append(queue, n.Inputs...)
	}
	return false
}

// deinterleaved puts even columns before odd ones.
func (m matrix) deinterleaved() matrix {
	out := make(matrix, len(m))
	for i, row := range m {
		out[i] = make([]float64, 0, len(row))
		for first := range 2 {
			for c := first; c < len(row); c += 2 {
				out[i] = append(out[i], row[c])
			}
		}
	}
	return out
}

// isWeight reports whether a value is a constant matrix of the model.
func isWeight(s *eval.Scope, name string) bool {
	t := stored(s, name)
	return t != nil && len(t.Dims) >= 2
}

// relativeSinusoids are sines and cosines of distances, and their base.
type relativeSinusoids struct {
	base float64
	ok   bool
}

// coarseFrequency is the relative error of frequencies from differences of
// float32 angles at large distances, or of half precision.
const coarseFrequency = 5e-2

// relativeBase recovers the base of sin | cos rows whose positions count up or
// down.
func relativeBase(rows matrix) (float64, bool) {
	if len(rows) < 3 || rows.Cols() < 4 {
		return 0, false
	}
	n := rows.Cols() / 2
	f := make([]float64, n)
	for k := range n {
		turn := math.Atan2(rows[1][k], rows[1][n+k]) - math.Atan2(rows[0][k], rows[0][n+k])
		f[k] = math.Abs(math.Remainder(turn, 2*math.Pi))
		if math.Abs(math.Hypot(rows[0][k], rows[0][n+k])-1) > 1e-2 {
			return 0, false
		}
	}
	r := fit.InverseFrequencies(f, fit.Precision("float32"), fit.Options{})
	if !r.OK || !r.Rotary.Scaling.IsNone() {
		// The differences of float32 angles are coarse at large distances:
		// the first and the last frequency give the base well enough.
		if f[0] <= 0 || f[n-1] <= 0 || n < 2 {
			return 0, false
		}
		base := math.Pow(f[0]/f[n-1], float64(n)/float64(n-1))
		for k := range f {
			if math.Abs(f[k]/f[0]*math.Pow(base, float64(k)/float64(n))-1) > coarseFrequency {
				return 0, false
			}
		}
		if rounded := math.Round(base/100) * 100; math.Abs(rounded-base) < 1e-2*base {
			base = rounded
		}
		return base, base > 1
	}
	return r.Rotary.Base, true
}

// disentangled finds DeBERTa's terms: scores against a table of distances,
// picked by GatherElements with indices made from positions.
func (m *Model) disentangled(d *detector) site {
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if n.Op != "GatherElements" {
				continue
			}
			data, index := s.Value(n.Input(0)), s.Value(n.Input(1))
			if data.Known() || !index.Known() || index.Ints == nil || index.Data || len(index.Shape) < 2 || len(data.Shape) < 2 {
				continue
			}
			k := len(index.Shape)
			if index.Shape[k-1] < 2 || !index.Varies(k-1) || !index.Varies(k-2) || !isScores(s, n.Output(0)) {
				continue
			}
			return m.disentangledSite(d, s, n, data.Shape[len(data.Shape)-1])
		}
	}
	return nil
}

func (m *Model) disentangledSite(d *detector, s *eval.Scope, n *onnx.Node, rows int) site {
	for _, src := range sources(s, n.Input(0)) {
		// Version 1 cuts what one length needs out of the middle of its table.
		if t := src.tensor; t != nil && src.indexed != nil && src.indexed.Op == "Slice" && src.axis == 0 && len(t.Dims) == 2 && int(t.Dims[0]) > rows && src.first > 0 {
			rows = int(t.Dims[0])
			break
		}
	}
	index := m.bucketIndex(s, n.Input(1))
	other := schemes.Other{Kind: report.SchemeDisentangled, Rows: rows, Buckets: rows / 2, MaxDistance: m.bucketsFarthest(s, n.Input(1), index, rows)}
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondContinues,
		Evidence: []report.Evidence{{Kind: "structure", Says: nodeName(n) + " picks scores against a table by bucket of distance"}}}
	if other.MaxDistance == 0 && m.fixedLength() > 0 && index != nil && index.Shape[len(index.Shape)-1] > rows/4+1 { // the logarithm was folded
		for _, far := range fit.UsualDistances(rows, rows/4) {
			if deberta(index, rows, far) {
				other.MaxDistance = far
				e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: fmt.Sprintf("a largest distance of %d is a usual one of those that give these buckets", far)})
				break
			}
		}
	}
	e.Scheme = other
	return &otherSite{e}
}

// bucketsFarthest is the largest distance of DeBERTa's buckets that the graph
// computes to an index of the given name and value, 0 if it does not: mid is
// buckets/2, and ln((max−1)/mid) a divisor on the way (facts/NUMERICS §6). Which
// one, the index itself tells.
func (m *Model) bucketsFarthest(s *eval.Scope, name string, index *eval.Value, rows int) int {
	for _, x := range m.logDivisors(s, name) {
		far := int(math.Round(float64(rows/4)*math.Exp(x))) + 1
		if far > rows/4 && far < 1e5 && deberta(index, rows, far) {
			return far
		}
	}
	return 0
}

// deberta reports whether indices are DeBERTa's buckets of distance, in either
// direction, with the given largest distance. At that distance less one the
// logarithms are equal, and rounding decides whether their ratio is more than 1.
func deberta(index *eval.Value, rows, far int) bool {
	if index == nil || !index.Known() || index.Ints == nil {
		return false
	}
	k := len(index.Shape)
	queries, keys, span := index.Shape[k-2], index.Shape[k-1], rows/2
	for _, sign := range []int{1, -1} {
		fits := true
		for q := range queries {
			for i := range keys {
				b := schemes.DebertaBucket(sign*(q-i), span, far)
				off := int(index.Ints[q*keys+i]) - min(max(b+span, 0), rows-1)
				even := q-i == far-1 || i-q == far-1
				fits = fits && (off == 0 || even && (off == 1 || off == -1))
			}
		}
		if fits {
			return true
		}
	}
	return false
}

// besideConvolution reports whether an encoding is one that models of speech have
// together with a convolution: buckets of distance (WavLM, SEW-D).
func besideConvolution(s site) bool {
	if _, ok := s.(*bucketSite); ok {
		return true
	}
	other, ok := s.Encoding().Scheme.(schemes.Other)
	return ok && other.Kind == report.SchemeDisentangled
}

// positionalConvolution finds a grouped convolution over the sequence whose
// result is added to what went in (wav2vec 2.0, CPVT).
func (m *Model) positionalConvolution(d *detector) site {
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			if !isConvolution(n) || n.Int("group", 1) < 2 {
				continue
			}
			if add := residualOf(s, n); add != nil {
				e := position.Encoding{Scheme: schemes.Other{Kind: report.SchemeConv}, Beyond: report.BeyondContinues,
					Where:    []report.Where{{Node: nodeName(n)}},
					Evidence: []report.Evidence{{Kind: "structure", Says: nodeName(add) + " adds a grouped convolution of the sequence to its input"}}}
				return &otherSite{e}
			}
		}
	}
	return nil
}

// reshapes are operators that leave the elements as they are, or nearly so.
var reshapes = map[string]bool{"Transpose": true, "Reshape": true, "Unsqueeze": true, "Squeeze": true, "Identity": true, "Cast": true,
	"QuantizeLinear": true, "DequantizeLinear": true, "DynamicQuantizeLinear": true}

// onTheWay are what a positional convolution's output may go through before
// it is added: activations, norms, further convolutions over the sequence.
var onTheWay = map[string]bool{"Slice": true, "Div": true, "Mul": true, "Erf": true, "Gelu": true, "Sigmoid": true, "Tanh": true, "Relu": true,
	"Flatten": true, "Add": true, "Sub": true, "Pow": true, "Sqrt": true, "ReduceMean": true, "LayerNormalization": true, "BiasGelu": true, "FastGelu": true}

// maxOnTheWay bounds that way: five convolutions, each with a norm and an
// activation in single operators (data2vec).
const maxOnTheWay = 120

// pooled reports whether a value is one of the given, averaged over neighbours
// as a convolution with strides has it (SEW).
func pooled(s *eval.Scope, name string, before map[string]bool) bool {
	averaged := false
	for range 10 {
		n, at := s.Find(name)
		if averaged && before[name] {
			return true
		}
		if n == nil || at != s || !reshapes[n.Op] && n.Op != "AveragePool" && n.Op != "Slice" && n.Op != "Pad" {
			return false
		}
		averaged = averaged || n.Op == "AveragePool"
		name = n.Input(0)
	}
	return false
}

// residualOf follows a convolution's output to an Add of what the convolution
// read.
func residualOf(s *eval.Scope, n *onnx.Node) *onnx.Node {
	before := map[string]bool{}
	for name, depth := n.Input(0), 0; name != "" && depth < 10; depth++ {
		before[name] = true
		p, at := s.Find(name)
		if p == nil || at != s || !reshapes[p.Op] {
			break
		}
		name = p.Input(0)
	}
	seen := map[string]bool{}
	var walk func(name string, depth int) *onnx.Node
	walk = func(name string, depth int) *onnx.Node {
		if depth > maxOnTheWay || len(seen) > maxTraced || seen[name] {
			return nil
		}
		seen[name] = true
		for _, c := range s.Consumers(name) {
			switch {
			case c.Op == "Add" || c.Op == "SkipLayerNormalization":
				if before[c.Input(0)] || before[c.Input(1)] || len(s.Value(n.Input(1)).Shape) == 3 && (pooled(s, c.Input(0), before) || pooled(s, c.Input(1), before)) {
					return c
				}
				if c.Op != "Add" {
					continue
				}
			case isConvolution(c) && c.Int("group", 1) > 1:
			case !reshapes[c.Op] && !onTheWay[c.Op]:
				continue
			}
			if found := walk(c.Output(0), depth+1); found != nil {
				return found
			}
		}
		return nil
	}
	return walk(n.Output(0), 0)
}
