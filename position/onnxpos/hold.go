package onnxpos

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// rowFunc computes row i of a table that is to be stored, one float64 a column.
type rowFunc func(i int, dst []float64) error

// resize records that a table becomes newRows rows along its axis: the first
// kept rows are copied as bytes, the others computed when they are written.
func (m *Model) resize(t tableRows, newRows, kept int, row rowFunc, why string) error {
	if t.Dim() > maxColumns {
		return &position.Refusal{Why: fmt.Sprintf("%q has rows of %d columns, and no model has more than %d", m.tensorName(t.tensor), t.Dim(), maxColumns),
			Instead: "have the model exported again"}
	}
	if err := t.fits(kept, newRows, row); err != nil {
		return err
	}
	dims := slices.Clone(t.tensor.Dims)
	dims[t.axis] = int64(newRows)
	if t.planar {
		if t.grid[0]*t.grid[1] != newRows {
			return fmt.Errorf("%d rows for a grid of %v", newRows, t.grid)
		}
		dims[t.axis], dims[t.axis+1] = int64(t.grid[0]), int64(t.grid[1])
	}
	inner := int64(t.inner())
	var parts []patch.Source
	for o := range t.outer() {
		if kept > 0 {
			old, err := t.tensor.Source(int64(o*t.Len())*inner, int64(kept)*inner)
			if err != nil {
				return err
			}
			parts = append(parts, old)
		}
		if newRows > kept {
			parts = append(parts, t.newRows(o, kept, newRows, row))
		}
	}
	return m.replace(t.tensor, dims, patch.Concat(parts...), why)
}

// fits computes rows for a storage type of narrow range ahead of writing: a
// value that does not fit refuses the change instead of failing half-way
// (facts/BAD-INPUTS C04). Of very many rows the rest is found out while writing, which
// is then given up.
func (t tableRows) fits(from, to int, row rowFunc) error {
	if t.scale == 0 && t.tensor.Type != onnx.Float16 {
		return nil
	}
	dst := make([]float64, t.Dim())
	for i := from; i < min(to, from+maxTriedRows); i++ {
		if err := row(i, dst); err != nil {
			return err
		}
		if _, err := t.encode(dst); err != nil {
			return &position.Refusal{Why: fmt.Sprintf("row %d: %v", i, err), Range: true,
				Remedies: []report.Remedy{report.Do("", "makes rows of values that the table has", "method", "repeat-last|tile")}}
		}
	}
	return nil
}

// maxTriedRows bounds the rows that are computed ahead of writing.
const maxTriedRows = 1 << 16

// newRows is a stream of rows [from, to) of outer block o.
func (t tableRows) newRows(o, from, to int, row rowFunc) patch.Source {
	inner := t.inner()
	size := t.tensor.Type.Size(int64((to - from) * inner))
	return patch.Func(size, func() io.Reader {
		return &rowReader{t: t, outer: o, next: from, end: to, row: row, dst: make([]float64, t.Dim())}
	})
}

// rowReader encodes rows as they are read.
type rowReader struct {
	t         tableRows
	outer     int
	next, end int
	row       rowFunc
	dst       []float64
	pending   bytes.Reader
}

// Read gives the encoded rows, each made when the one before has been read.
func (r *rowReader) Read(p []byte) (int, error) {
	for r.pending.Len() == 0 {
		if r.next == r.end {
			return 0, io.EOF
		}
		if err := r.row(r.next, r.dst); err != nil {
			return 0, err
		}
		inner := r.t.inner()
		b, err := r.t.encode(r.dst[r.outer*inner : (r.outer+1)*inner])
		if err != nil {
			return 0, fmt.Errorf("row %d: %w", r.next, err)
		}
		r.pending.Reset(b)
		r.next++
	}
	return r.pending.Read(p)
}

// encode rounds values once to the table's storage type, with the scale that
// the table has where it is quantised.
func (t tableRows) encode(values []float64) ([]byte, error) {
	if t.scale == 0 {
		return onnx.EncodeFloats(t.tensor.Type, values, nil)
	}
	low, high := 0.0, 255.0
	if t.tensor.Type == onnx.Int8 {
		low, high = -128, 127
	}
	q := make([]int64, len(values))
	for i, v := range values {
		x := math.RoundToEven(v/t.scale) + t.zero
		if x < low-1 || x > high+1 { // quantisers saturate by a step, too
			return nil, fmt.Errorf("value %g does not fit the scale %g of the quantised table", v, t.scale)
		}
		q[i] = int64(math.Min(math.Max(x, low), high))
	}
	return onnx.EncodeInts(t.tensor.Type, q, nil)
}

// Hold stores more rows, or the rows of another scheme, in the table.
func (t *tableSite) Hold(want position.Want) error {
	if t.uses[0].source.trig != nil {
		return t.holdRuntime(want)
	}
	rows := t.rows()
	offset := int(t.uses[0].source.first)
	n := want.Positions + offset
	if g, ok := t.encoding.Scheme.(schemes.Learned); ok && g.Grid != nil {
		if w, ok := want.Scheme.(schemes.Learned); !ok || w.Grid == nil || want.Rows == nil {
			return &position.Refusal{Why: "the table holds the patches of an image grid", Remedies: []report.Remedy{report.Do("extend", "", "grid", "HxW"), report.Do("extend", "", "image", "SIZE")}}
		}
		if t.Resampled() {
			return &position.Refusal{Why: "the graph resamples its table of patches itself", Instead: "give it a larger picture, if its axes are free; else export it for the wanted size"}
		}
	}
	kept, row := rows.Len(), rowFunc(nil)
	if w, ok := want.Scheme.(schemes.Learned); ok && w.Grid != nil {
		rows.grid = [2]int(w.Grid)
	}
	switch {
	case t.encoding.IsGrid() && t.sinusoid == nil && want.Rows == nil: // a formula of rows and columns
		s, ok := want.Scheme.(schemes.Sinusoid)
		if !ok || s.Grid == nil {
			return &position.Refusal{Why: "the table holds the patches of an image grid", Remedies: []report.Remedy{report.Do("extend", "", "grid", "HxW"), report.Do("extend", "", "image", "SIZE")}}
		}
		table := s.Table()
		n, kept, rows.grid = s.Rows, 0, [2]int(s.Grid)
		row = func(i int, dst []float64) error { table.Row(i, dst); return nil }
	case want.Rows != nil:
		n, kept, row = want.Rows.Len(), want.Rows.Kept(), want.Rows.Row
	case t.sinusoid != nil && t.m.relativeToLength(t.sinusoid.Sinusoid):
		return &position.Refusal{Why: fmt.Sprintf("the sines and cosines are of places relative to the %d positions", t.m.fixedLength()), Instead: "export the model for the wanted length"}
	case t.sinusoid != nil:
		table := t.sinusoid.Sinusoid.Table()
		row = func(i int, dst []float64) error { table.Row(i, dst); return nil }
	default:
		return &position.Refusal{Why: "new rows of a trained table follow no formula", Remedies: []report.Remedy{report.Do("", "makes them", "method", "hierarchical")}}
	}
	t.held, t.heldGrid = n, rows.grid
	for _, c := range t.tensors() {
		if err := t.m.resize(rows.of(c), n, kept, row, fmt.Sprintf("%d rows", n)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tableSite) holdRuntime(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(t.encoding.Scheme) {
		return nil // the formula goes on
	}
	return &position.Refusal{Why: "the graph computes its sinusoid; its formula is not in a table", Instead: "export the model again with the wanted formula"}
}

// Neutralize makes the table add nothing.
func (t *tableSite) Neutralize() error {
	if t.uses[0].source.tensor == nil {
		return &position.Refusal{Why: "the graph computes its sinusoid: no table can be emptied", Instead: "leave the old encoding in place"}
	}
	zero := func(_ int, dst []float64) error { clear(dst); return nil }
	rows := t.rows()
	for _, c := range t.tensors() {
		if err := t.m.resize(rows.of(c), rows.Len(), 0, zero, "zeros: the table adds nothing"); err != nil {
			return err
		}
	}
	return nil
}

// Hold stores longer caches, or other frequencies.
func (r *rotarySite) Hold(want position.Want) error {
	scheme, ok := any(want.Scheme).(schemes.Rotary)
	if !ok {
		return &position.Refusal{Why: "a rotary encoding cannot hold " + fmt.Sprint(want.Scheme), Instead: "choose a rotary scheme"}
	}
	if err := scheme.Scaling.Known(); err != nil {
		return &position.Refusal{Why: err.Error()}
	}
	if r.scheme.Grid != nil {
		return &position.Refusal{Why: "cosines and sines turn an image's patches by their rows and columns", Instead: "export the model for the wanted picture"}
	}
	same := r.sameNumbers(scheme)
	if len(r.caches) > 0 {
		return r.holdCaches(scheme, want.Positions, same)
	}
	if r.encoding.Form == report.FormBaked {
		return r.holdAngles(want.Positions, same)
	}
	if same {
		return nil
	}
	return r.holdFrequencies(scheme)
}

// angles are the constants that hold the angles of a fixed number of positions.
func (r *rotarySite) angles() []tableRows {
	var out []tableRows
	for _, t := range r.trig {
		for _, a := range r.tablesOf(sources(t.scope, t.trig.Input(0)), r.uses[0]) {
			if a.Len() == r.encoding.Capacity && !slices.ContainsFunc(out, func(o tableRows) bool { return o.tensor == a.tensor }) {
				out = append(out, a)
			}
		}
	}
	return out
}

// holdAngles continues angles that an exporter folded for one length: row p is
// p · frequency, in one float32 product as the graph had it.
func (r *rotarySite) holdAngles(positions int, same bool) error {
	tables := r.angles()
	if len(tables) == 0 || !same {
		return &position.Refusal{Why: fmt.Sprintf("the angles of just %d positions are constants of the graph", r.encoding.Capacity),
			Instead: "export the model with a free sequence length"}
	}
	for _, t := range tables {
		first, second := make([]float64, t.Dim()), make([]float64, t.Dim())
		if err := t.Row(0, first); err != nil {
			return err
		}
		if err := t.Row(1, second); err != nil {
			return err
		}
		row := func(i int, dst []float64) error {
			for c := range dst {
				dst[c] = float64(float32(i) * float32(second[c]-first[c]))
			}
			return nil
		}
		if err := r.m.resize(t, positions, t.Len(), row, fmt.Sprintf("angles of %d positions", positions)); err != nil {
			return err
		}
	}
	r.held = positions
	return nil
}

// sameNumbers reports whether a scheme asks for the numbers that are there.
func (r *rotarySite) sameNumbers(s schemes.Rotary) bool {
	now := r.scheme.InverseFrequencies()
	then := s.InverseFrequencies()
	if len(now) != len(then) || math.Abs(s.Amplitude()-r.currentAmplitude()) > 1e-9+1e-6*math.Abs(s.Amplitude()) {
		return false
	}
	for i := range now {
		if math.Abs(now[i]-then[i]) > 1e-9*math.Abs(then[i]) {
			return false
		}
	}
	return true
}

func (r *rotarySite) currentAmplitude() float64 {
	if r.amplitude == 0 {
		return 1
	}
	return r.amplitude
}

func (r *rotarySite) holdCaches(scheme schemes.Rotary, positions int, same bool) error {
	if !same && (r.short != nil || slices.ContainsFunc(r.caches, func(c *cache) bool { return c.ahead > 0 })) {
		return &position.Refusal{Why: "the file switches between a short and a long cache", Instead: "export the model again with the wanted scaling"}
	}
	for _, c := range r.caches {
		if !c.fitted {
			return &position.Refusal{Why: fmt.Sprintf("no formula explains the cache of cosines and sines in %q", r.m.tensorName(c.cos.tensor)),
				Instead: "export the model with a longer cache"}
		}
	}
	if r.held = positions; positions == 0 {
		r.held = r.encoding.Capacity
	}
	for _, c := range r.caches {
		if c == r.short {
			continue
		}
		if err := c.hold(r.m, scheme, max(positions, c.positions()), same); err != nil {
			return err
		}
	}
	return nil
}

// hold stores a pair of tables of the given length. The rows that are there
// stay when the numbers do; only then is the maker's rounding replayed from
// the recovered frequencies.
func (c *cache) hold(m *Model, scheme schemes.Rotary, positions int, same bool) error {
	kept := 0
	if same {
		scheme = c.result.Rotary
		kept = min(c.cos.Len(), positions+c.ahead)
	}
	amplitude := scheme.Amplitude()
	if same && c.result.Amplitude != 0 {
		amplitude = c.result.Amplitude
	}
	n := len(scheme.InverseFrequencies())
	rotator := scheme.Rotator(c.result.Recipe, 0)
	factor := 1.0
	if a := scheme.Amplitude(); a != 0 {
		factor = amplitude / a
	}
	cos, sin := make([]float64, n), make([]float64, n)
	row := func(sine bool) rowFunc {
		return func(i int, dst []float64) error {
			rotator.Row(float64(i-c.ahead)+c.result.Start, cos, sin)
			for k := range n {
				cos[k] *= factor
				sin[k] *= factor
				if c.negated {
					sin[k] = -sin[k]
				}
				if c.coarse != "" {
					cos[k], sin[k] = c.coarse.Round(cos[k]), c.coarse.Round(sin[k])
				}
			}
			c.spread(cos, sin, sine, dst)
			return nil
		}
	}
	why := fmt.Sprintf("%d rows of %s", positions+c.ahead, scheme)
	if err := m.resize(c.cos, positions+c.ahead, kept, row(false), why); err != nil {
		return err
	}
	if c.sin.tensor == c.cos.tensor {
		return nil
	}
	return m.resize(c.sin, positions+c.ahead, kept, row(true), why)
}

// spread puts the n cosines or sines of one position into the columns of a
// table row.
func (c *cache) spread(cos, sin []float64, sine bool, dst []float64) {
	n := len(cos)
	from := cos
	if sine {
		from = sin
	}
	switch {
	case c.sin.tensor == c.cos.tensor:
		for k := range n {
			dst[fit.PackedColumn(c.result.Packed, k, n, false)] = cos[k]
			dst[fit.PackedColumn(c.result.Packed, k, n, true)] = sin[k]
		}
	case len(dst) == n:
		copy(dst, from)
	case c.result.Columns == fit.ColumnsInterleavedDuplicated:
		for k := range n {
			dst[2*k], dst[2*k+1] = from[k], from[k]
		}
	default:
		copy(dst, from)
		copy(dst[n:], from)
	}
}

// holdFrequencies rewrites the frequencies that the graph multiplies with
// positions, and the amplitude after Cos and Sin.
func (r *rotarySite) holdFrequencies(scheme schemes.Rotary) error {
	if r.scheme.Scaling.LongFrequencies != nil {
		return &position.Refusal{Why: "the graph switches between a short and a long list of frequencies", Instead: "export the model again with the wanted scaling"}
	}
	old, _ := r.frequencies(r.uses[0])
	frequencies := scheme.InverseFrequencies()
	if len(old) != len(frequencies) {
		return &position.Refusal{Why: fmt.Sprintf("the graph has %d frequencies and the scheme has %d", len(old), len(frequencies)), Instead: "keep the rotary dimension"}
	}
	tensors := r.frequencyTensors(old)
	if len(tensors) == 0 {
		return &position.Refusal{Why: "no constant of the graph holds the frequencies", Instead: "export the model again with the wanted base or scaling"}
	}
	for _, t := range tensors {
		values := make([]float64, t.Len())
		for i := range values {
			values[i] = frequencies[frequencyAt(t, old, i)]
		}
		b, err := onnx.EncodeFloats(t.Type, values, nil)
		if err != nil {
			return err
		}
		if err := r.m.replace(t, t.Dims, patch.Bytes(b), "frequencies of "+scheme.String()); err != nil {
			return err
		}
	}
	r.setAmplitude(scheme.Amplitude())
	return nil
}

// frequencyTensors are the constants behind the argument of Cos and Sin that
// hold the frequencies, once or doubled.
func (r *rotarySite) frequencyTensors(f []float64) []*onnx.Tensor {
	var out []*onnx.Tensor
	for _, t := range r.trig {
		for _, src := range sources(t.scope, t.trig.Input(0)) {
			c := src.tensor
			if c == nil || slices.Contains(out, c) || int(c.Len()) != len(f) && int(c.Len()) != 2*len(f) || !c.Type.IsFloat() {
				continue
			}
			x, err := c.Floats(0, c.Len())
			if err != nil {
				continue
			}
			fits := true
			for i := range x {
				fits = fits && math.Abs(x[i]-f[frequencyAt(c, f, i)]) <= 1e-6*math.Abs(x[i])
			}
			if fits {
				out = append(out, c)
			}
		}
	}
	return out
}

// frequencyAt tells which frequency element i of a constant holds: doubled
// constants repeat the list or each element.
func frequencyAt(t *onnx.Tensor, f []float64, i int) int {
	n := len(f)
	if int(t.Len()) == n {
		return i
	}
	x, err := t.Floats(0, t.Len())
	if err == nil && n > 1 && x[0] == x[1] && x[0] != x[n] {
		return i / 2
	}
	return i % n
}

// setAmplitude multiplies what Cos and Sin give, by the constant that does so
// already or by a new node.
func (r *rotarySite) setAmplitude(a float64) {
	ratio := a / r.currentAmplitude()
	if math.Abs(ratio-1) < 1e-9 {
		return
	}
	for _, t := range r.trig {
		if c := amplitudeConstant(t); c != nil {
			if x, err := c.Floats(0, 1); err == nil {
				if b, err := onnx.EncodeFloats(c.Type, []float64{x[0] * ratio}, nil); err == nil &&
					r.m.replace(c, c.Dims, patch.Bytes(b), "attention factor") == nil {
					continue
				}
			}
		}
		r.multiply(t, ratio)
	}
}

// amplitudeConstant is the scalar by which the output of Cos or Sin is
// multiplied at once, where every reader does and it is no other's.
func amplitudeConstant(t source) *onnx.Tensor {
	consumers := t.scope.Consumers(t.trig.Output(0))
	if len(consumers) != 1 || consumers[0].Op != "Mul" {
		return nil
	}
	n := consumers[0]
	for i := range 2 {
		c := t.scope.Tensor(n.Input(i))
		if c == nil || c.Len() != 1 {
			continue
		}
		for _, o := range t.scope.Consumers(n.Input(i)) { // shared by cos and sin only
			if in, _ := t.scope.Find(o.Input(1 - slices.Index(o.Inputs, n.Input(i)))); in == nil || in.Op != "Cos" && in.Op != "Sin" {
				return nil
			}
		}
		return c
	}
	return nil
}

// multiply puts a Mul behind a Cos or Sin node.
func (r *rotarySite) multiply(t source, by float64) {
	e := r.m.editor
	v := t.scope.Value(t.trig.Output(0))
	b, err := onnx.EncodeFloats(v.Type, []float64{by}, nil)
	consumers := t.scope.Consumers(t.trig.Output(0))
	if err != nil || len(consumers) == 0 {
		return
	}
	why := "attention factor"
	c := e.AddInitializer(outermost(t.trig.Graph), "modelpatch/attention_factor", v.Type, nil, b, why)
	out := e.FreshName("modelpatch/" + t.trig.Output(0))
	e.InsertNodes(consumers[0], []onnx.NewNode{{Op: "Mul", Inputs: []string{t.trig.Output(0), c}, Outputs: []string{out}}}, why)
	for _, n := range consumers {
		for i, in := range n.Inputs {
			if in == t.trig.Output(0) {
				e.RenameInput(n, i, out, why)
			}
		}
	}
}

// Neutralize makes the rotation turn by nothing: frequencies of zero, or
// caches of ones and zeros.
func (r *rotarySite) Neutralize() error {
	why := "no rotation"
	if len(r.caches) > 0 {
		for _, c := range r.caches {
			if !c.fitted {
				return &position.Refusal{Why: fmt.Sprintf("no formula explains the cache of cosines and sines in %q", r.m.tensorName(c.cos.tensor)), Instead: "leave the rotation in place"}
			}
			ones := make([]float64, len(c.result.Rotary.InverseFrequencies()))
			zeros := make([]float64, len(ones))
			for i := range ones {
				ones[i] = 1
			}
			fill := func(sine bool) rowFunc {
				return func(_ int, dst []float64) error { c.spread(ones, zeros, sine, dst); return nil }
			}
			if err := r.m.resize(c.cos, c.cos.Len(), 0, fill(false), why); err != nil {
				return err
			}
			if c.sin.tensor != c.cos.tensor {
				if err := r.m.resize(c.sin, c.sin.Len(), 0, fill(true), why); err != nil {
					return err
				}
			}
		}
		return nil
	}
	old, _ := r.frequencies(r.uses[0])
	tensors := r.frequencyTensors(old)
	if len(tensors) == 0 {
		return &position.Refusal{Why: "no constant of the graph holds the frequencies", Instead: "leave the rotation in place"}
	}
	for _, t := range tensors {
		size := t.Type.Size(t.Len())
		if err := r.m.replace(t, t.Dims, patch.Zeros(size), why); err != nil {
			return err
		}
	}
	r.setAmplitude(1)
	return nil
}

// Hold stores a longer table of a linear bias.
func (a *alibiSite) Hold(want position.Want) error {
	if len(a.tables) == 0 || want.Positions == 0 {
		return nil
	}
	if want.Scheme != nil && !want.Scheme.Equal(a.encoding.Scheme) {
		return &position.Refusal{Why: "the slopes of a bias table are not changed", Remedies: []report.Remedy{report.Do("alibi", "puts another bias in its place", "replace", "")}}
	}
	a.held = want.Positions
	for _, src := range a.tables {
		if err := a.grow(src.tensor, want.Positions); err != nil {
			return err
		}
	}
	return nil
}

// grow extends a bias table [heads, 1, n] or [heads, n, n]. Where the values of
// the last key are zero the table counts from its end (MPT) and new values go
// before the old ones; the graph then slices from the end.
func (a *alibiSite) grow(t *onnx.Tensor, n int) error {
	old := a.encoding.Capacity
	k := len(t.Dims)
	heads, queries := sizeOf(t.Dims[:max(k-2, 0)]), 1
	if k >= 2 {
		queries = int(t.Dims[k-2])
	}
	newQueries := queries
	if queries == old {
		newQueries = n
	}
	dims := slices.Clone(t.Dims)
	dims[k-1] = int64(n)
	if queries == old {
		dims[k-2] = int64(n)
	}
	var err error
	if !fitsBuffer(t, heads, newQueries, n) {
		return &position.Refusal{Why: fmt.Sprintf("the bias %q of %v would become one of %v, more than the 2 GiB that a file can have", a.m.tensorName(t), t.Dims, dims),
			Instead: "a lesser length, or export the model again with a bias that it computes"}
	}
	lines := make([]*biasLine, heads)
	for h := range lines {
		if lines[h], err = newBiasLine(t, h, queries, old); err != nil {
			return err
		}
	}
	data, err := stream(t, int64(heads)*int64(newQueries)*int64(n), func(first int64, dst []float64) error {
		key := int(first % int64(n))
		q := int(first / int64(n) % int64(newQueries))
		h := int(first / int64(n) / int64(newQueries))
		for len(dst) > 0 {
			some := min(len(dst), n-key)
			if err := lines[h].fill(q, key, n, dst[:some]); err != nil {
				return err
			}
			dst = dst[some:]
			if key += some; key == n {
				key = 0
				if q++; q == newQueries {
					q = 0
					h++
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.m.replace(t, dims, data, fmt.Sprintf("bias of %d positions", n))
}

// biasLine is a head's bias at any query and key, equal to the table's bits where it
// has them.
type biasLine struct {
	t             *onnx.Tensor
	first         int64 // element of the head's first query and key
	queries, keys int
	start, end    float64 // of the first query
	step          float64 // from key to key, of one query
	below, above  float64 // per step of query − key, and of key − query
	masked        bool    // what lies ahead
}

func newBiasLine(t *onnx.Tensor, head, queries, keys int) (*biasLine, error) {
	b := &biasLine{t: t, first: int64(head) * int64(queries) * int64(keys), queries: queries, keys: keys}
	read := func(at int) (x float64, err error) {
		v, err := t.Floats(b.first+int64(at), 1)
		if err != nil {
			return 0, err
		}
		return v[0], nil
	}
	var err error
	if b.start, err = read(0); err != nil {
		return nil, err
	}
	if b.end, err = read(keys - 1); err != nil {
		return nil, err
	}
	b.step = (b.end - b.start) / float64(keys-1)
	if queries == 1 {
		return b, nil
	}
	last, err := read((keys - 1) * keys)
	b.below, b.above = last/float64(keys-1), b.end/float64(keys-1)
	b.masked = b.end < maskedBelow || math.IsInf(b.end, 0)
	return b, err
}

// fill computes the biases of one query and of keys from a first one on, where there
// are so many keys in all.
func (b *biasLine) fill(query, key, keys int, dst []float64) error {
	shift := 0 // of the old keys: those of a table that counts from its end go there
	if b.queries == 1 && b.end == 0 && b.start != 0 {
		shift = keys - b.keys
	}
	for i := range dst {
		dst[i] = b.at(query, key+i-shift)
	}
	from, to := max(key, shift), min(key+len(dst), shift+b.keys)
	if from >= to || query >= b.queries {
		return nil
	}
	old, err := b.t.Floats(b.first+int64(query)*int64(b.keys)+int64(from-shift), int64(to-from))
	copy(dst[from-key:], old)
	return err
}

// at is the bias where the table has none; keys before its first are negative.
func (b *biasLine) at(query, key int) float64 {
	switch {
	case b.queries == 1 && key < 0:
		return b.start + b.step*float64(key)
	case b.queries == 1:
		return b.end + b.step*float64(key-b.keys+1)
	case key > query && b.masked:
		return b.end
	case key > query:
		return b.above * float64(key-query)
	}
	return b.below * float64(query-key)
}

// Hold has nothing to store: buckets saturate, the table does not depend on
// the length.
func (b *bucketSite) Hold(want position.Want) error {
	if want.Scheme == nil || want.Scheme.Equal(b.encoding.Scheme) {
		return nil
	}
	return &position.Refusal{Why: "a bias by buckets cannot hold " + want.Scheme.String(), Instead: "train or export another model"}
}
