package onnxpos

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// addition is a place where numbers that depend on position are added to the
// model's state.
type addition struct {
	scope  *eval.Scope
	node   *onnx.Node
	name   string      // the value that is added
	state  string      // the value that it is added to
	value  *eval.Value // what is known of it
	axis   int         // its axis of positions
	planar bool        // positions run along axis and the next
	source source
	before int // rows for tokens ahead of an image's patches; −1: not known
}

// addition looks at an Add of state and a known value that depends on position
// (facts/ONNX-PATTERNS §2, §3).
func (d *detector) addition(s *eval.Scope, n *onnx.Node, stateName, addedName string) {
	state, added := s.Value(stateName), s.Value(addedName)
	if !added.Known() && isScores(s, n.Output(0)) {
		if name, ok := gated(s, addedName); ok {
			d.bias(s, n, name, state)
		}
		return
	}
	if state.Known() && added.Known() && added.Floats != nil && allZero(state) {
		d.ownState(s, addedName)
	}
	if !state.Ranked || !state.Type.IsFloat() && state.Type != 0 || state.Known() || !added.Known() || added.Floats == nil {
		return
	}
	rank := len(added.Shape)
	if d.plane(s, n, addedName, state, added) {
		return
	}
	if isScores(s, n.Output(0)) {
		d.scoreBias(s, n, stateName, addedName)
		return
	}
	if rank < 2 || len(state.Shape) > 3 || len(state.Shape) < 2 {
		return
	}
	width := state.Shape[len(state.Shape)-1]
	axis := positionAxis(added)
	if axis < 0 || added.Shape[rank-1] != width || width < 2 || !added.Varies(rank-1) {
		return
	}
	if !d.lengthwise(added.Shape[axis]) || isState(s, addedName) {
		return
	}
	found := sources(s, addedName)
	computed := slices.ContainsFunc(found, func(src source) bool { return src.trig != nil })
	for _, src := range found {
		if computed && src.trig == nil && src.indexed == nil {
			continue // what computed numbers are written into
		}
		if d.additive(src, added.Shape[axis], width) || d.resampledTable(s, addedName, src, width) {
			d.tables = append(d.tables, &addition{scope: s, node: n, name: addedName, state: stateName, value: added, axis: axis, source: src, before: d.tokensAhead(s, stateName)})
		}
	}
}

// allZero reports whether a known value is zero all over.
func allZero(v *eval.Value) bool {
	for i := range v.Len() {
		if v.Number(i) != 0 {
			return false
		}
	}
	return true
}

// ownState notes constants that are added to zeros: they are what the model
// starts from, not where it is.
func (d *detector) ownState(s *eval.Scope, name string) {
	for _, src := range sources(s, name) {
		if src.tensor != nil && src.indexed == nil {
			d.queries[src.tensor] = true
		}
	}
}

// isState reports whether a known value is itself worked on as the model's
// state: object queries and latents are learned rows too, and no positions.
func isState(s *eval.Scope, name string) bool {
	for range 8 {
		for _, n := range s.Consumers(name) {
			switch n.Op {
			case "MatMul", "Gemm", "LayerNormalization", "MatMulInteger", "ReduceMean":
				return true
			}
		}
		n, at := s.Find(name)
		if n == nil || at != s || !reshapes[n.Op] && n.Op != "Expand" && n.Op != "Tile" {
			return false
		}
		name = n.Input(0)
	}
	return false
}

// lengthwise reports whether a number of rows can be that of positions. With
// nothing but token ids as input it is a length of theirs, and some tokens that
// the model adds; parameters of heads, latents and such have other sizes.
func (d *detector) lengthwise(rows int) bool {
	if d.m.imageInput() != nil || d.m.videoInput() != nil || d.m.audio() != nil {
		return true
	}
	for _, in := range d.m.file.Graph.Inputs {
		if v := d.e.Main.Value(in.Name); !d.m.isConstant(in.Name) && v.Ranked {
			for _, n := range v.Shape {
				if n > 1 && rows >= n && rows <= n+maxPrefix {
					return true
				}
			}
		}
	}
	return false
}

// gated finds the known factor of a bias that the state scales before it is
// added to scores (WavLM's gates).
func gated(s *eval.Scope, name string) (known string, ok bool) {
	for range 12 {
		n, at := s.Find(name)
		switch {
		case n == nil || at != s:
			return "", false
		case n.Op == "Mul":
			next := ""
			for i := range 2 {
				v := s.Value(n.Input(i))
				switch {
				case !v.Known() || v.Floats == nil:
				case v.Len() == 1:
					next = n.Input(1 - i)
				case len(v.Shape) >= 2 && v.Varies(len(v.Shape)-1) && !onlySwitches(v):
					return n.Input(i), true
				}
			}
			if name = next; name == "" {
				return "", false
			}
			continue
		case !reshapes[n.Op]:
			return "", false
		}
		name = n.Input(0)
	}
	return "", false
}

// onlySwitches reports whether numbers are zeros and ones: a mask that is
// multiplied.
func onlySwitches(v *eval.Value) bool {
	for i := range v.Len() {
		if x := v.Number(i); x != 0 && x != 1 {
			return false
		}
	}
	return true
}

// resampledTable reports whether a constant is a table of patches of another
// picture size, which the graph resamples before it adds it.
func (d *detector) resampledTable(s *eval.Scope, name string, src source, width int) bool {
	t := src.tensor
	if h, _ := d.m.patchGrid(d.e); h == 0 || t == nil || src.indexed != nil || sourceGrid(t, width) == 0 {
		return false
	}
	return resamples(s, name)
}

// sourceGrid is the side of the square grid that a constant holds patches of,
// in rows or as an image of its own; 0: none.
func sourceGrid(t *onnx.Tensor, width int) int {
	if width < 1 || t.Len()%int64(width) != 0 || len(t.Dims) < 3 {
		return 0
	}
	side := int(math.Sqrt(float64(t.Len()/int64(width))) + 0.5)
	switch k := len(t.Dims); {
	case side < 2 || int64(side*side*width) != t.Len():
		return 0
	case int(t.Dims[k-1]) == width, int(t.Dims[k-3]) == width && int(t.Dims[k-2]) == side:
		return side
	}
	return 0
}

// plane takes a table that is added to an image's patches while they still
// stand in rows and columns: (…, height, width, channels), as SAM does.
func (d *detector) plane(s *eval.Scope, n *onnx.Node, name string, state, added *eval.Value) bool {
	h, w := d.m.patchGrid(d.e)
	k := len(added.Shape)
	if h == 0 || k < 3 || len(state.Shape) != 4 || added.Shape[k-3] != h || added.Shape[k-2] != w || added.Shape[k-1] != state.Shape[3] ||
		!added.Varies(k-3) || !added.Varies(k-2) {
		return false
	}
	for _, src := range sources(s, name) {
		t := src.tensor
		if t == nil || src.indexed != nil || len(t.Dims) < 3 || sizeOf(t.Dims) != sizeOf(t.Dims[len(t.Dims)-3:]) {
			continue
		}
		if last := len(t.Dims) - 1; int(t.Dims[last-2]) == h && int(t.Dims[last-1]) == w && int(t.Dims[last]) == state.Shape[3] {
			src.axis = last - 2
			d.tables = append(d.tables, &addition{scope: s, node: n, name: name, value: added, axis: k - 3, source: src, planar: true})
			return true
		}
	}
	return false
}

// additive reports whether a source is where an added table's rows come from:
// selected by position, computed at run time, or a constant of just this
// length used whole.
func (d *detector) additive(src source, rows, width int) bool {
	if src.trig != nil {
		return true
	}
	if src.indexed != nil {
		return src.axis < len(src.tensor.Dims)-1 || width == 1
	}
	if d.m.fixedLength() == 0 && d.m.imageInput() == nil && d.m.videoInput() == nil && d.m.audio() == nil {
		return false // a free length cannot agree with a constant
	}
	if !d.contracts() {
		return false // element by element, no row is a position
	}
	for axis, n := range src.tensor.Dims {
		if int(n) == rows && axis < len(src.tensor.Dims)-1 && rows > 1 {
			return true
		}
	}
	_, ok := d.patchAxis(src.tensor, rows, width)
	return ok || d.channelsFirst(src.tensor, width)
}

// contracts reports whether the model sums over an axis anywhere.
func (d *detector) contracts() bool {
	for _, s := range d.e.Scopes() {
		for _, n := range s.Graph.Nodes {
			switch n.Op {
			case "MatMul", "Gemm", "Einsum", "Conv", "Attention", "MultiHeadAttention", "GroupQueryAttention", "MatMulNBits",
				"MatMulInteger", "QLinearMatMul", "DynamicQuantizeMatMul", "FusedMatMul", "LSTM", "GRU", "RNN":
				return true
			}
		}
	}
	return false
}

// patchAxis finds the axis of a table that holds an image's patches without the
// prefix tokens, whose rows stand apart when the table is resampled
// (facts/ONNX-PATTERNS §2).
func (d *detector) patchAxis(t *onnx.Tensor, rows, width int) (axis int, ok bool) {
	k := len(t.Dims)
	h, w := d.m.patchGrid(d.e)
	if h == 0 || int(t.Dims[k-1]) != width || rows < h*w {
		return 0, false
	}
	for axis, n := range t.Dims[:k-1] {
		if int(n) == h*w && sizeOf(t.Dims[:k-1]) == h*w {
			return axis, true
		}
	}
	return 0, false
}

// channelsFirst reports whether a table is an image of its own: channels, then
// rows and columns of patches, as resampling wants it.
func (d *detector) channelsFirst(t *onnx.Tensor, width int) bool {
	k := len(t.Dims)
	h, w := d.m.patchGrid(d.e)
	return h > 0 && k >= 3 && int(t.Dims[k-3]) == width && int(t.Dims[k-2]) == h && int(t.Dims[k-1]) == w
}

// patchGrid is the size of the convolution's output that makes patches of an
// image, of the frames of a video, or of a spectrogram; zeros when there is
// none.
func (m *Model) patchGrid(e *eval.Evaluator) (h, w int) {
	if n := m.patchConvolution(); n != nil {
		if v := e.Main.Value(n.Output(0)); len(v.Shape) == 4 {
			return v.Shape[2], v.Shape[3]
		}
	}
	return 0, 0
}

// patchConvolution is the first convolution over an image's two axes.
func (m *Model) patchConvolution() *onnx.Node {
	if m.imageInput() == nil && m.videoInput() == nil && m.audio() == nil {
		return nil
	}
	for _, n := range m.file.Graph.Nodes {
		if !isConvolution(n) {
			continue
		}
		if m.probe == nil { // sizes are still being chosen
			if len(n.Ints("strides")) == 2 {
				return n
			}
			return nil
		}
		if v := m.probe.Main.Value(n.Output(0)); len(v.Shape) == 4 {
			return n
		}
		return nil // over one axis, or three
	}
	return nil
}

// tokensAhead counts the rows that Concats put before an image's patches:
// class and distillation tokens; −1 when the state is not put together so.
func (d *detector) tokensAhead(s *eval.Scope, name string) int {
	if h, w := d.m.patchGrid(d.e); h > 0 {
		if n, ok := rowsAhead(s, name, h*w, 0); ok {
			return n
		}
	}
	return -1
}

// rowsAhead counts the rows ahead of an operand of the given rows in a
// concatenation, which may be one of concatenations.
func rowsAhead(s *eval.Scope, name string, rows, depth int) (ahead int, ok bool) {
	if v := s.Value(name); len(v.Shape) == 3 && v.Shape[1] == rows {
		return 0, depth > 0
	}
	n, at := s.Find(name)
	for n != nil && (n.Op == "Identity" || n.Op == "Cast" || n.Op == "Dropout") {
		n, at = at.Find(n.Input(0))
	}
	if n == nil || n.Op != "Concat" || depth > 4 {
		return 0, false
	}
	for _, in := range n.Inputs {
		if more, found := rowsAhead(at, in, rows, depth+1); found {
			return ahead + more, true
		}
		v := at.Value(in)
		if len(v.Shape) != 3 {
			return 0, false
		}
		ahead += v.Shape[1]
	}
	return 0, false
}

// audio is an input of audio features: (batch, mel bins, frames).
func (m *Model) audio() *onnx.ValueInfo {
	for _, in := range m.file.Graph.Inputs {
		if in.Type.IsFloat() && len(in.Dims) == 3 && !m.isConstant(in.Name) {
			return in
		}
	}
	return m.waveInput()
}

// embedLayerNormalization is the fused embedding of three tables; without
// position_ids the positions are 0 … length−1.
func (d *detector) embedLayerNormalization(s *eval.Scope, n *onnx.Node) {
	name := n.Input(3)
	t := stored(s, name)
	if t == nil || len(t.Dims) != 2 {
		return
	}
	src := source{tensor: t, scope: s, axis: 0, indexed: n, index: n.Input(8), indexAt: s}
	switch d, at := s.Find(name); {
	case n.Op == "QEmbedLayerNormalization": // scales and zero points follow the mask
		src.index = ""
		src.scale, _ = s.Value(n.Input(9)).Scalar()
		src.zero, _ = s.Value(n.Input(14)).Scalar()
	case d != nil && d.Op == "DequantizeLinear":
		src.scale, _ = at.Value(d.Input(1)).Scalar()
		src.zero, _ = at.Value(d.Input(2)).Scalar()
	}
	if src.index != "" {
		if _, first, ok := s.Value(src.index).Counts(); ok {
			src.first = first
		}
	}
	d.tables = append(d.tables, &addition{scope: s, node: n, name: name, source: src})
}

// tableSite is an additive encoding: rows in the file, learned or computed by
// a formula, or a formula in the graph.
type tableSite struct {
	m        *Model
	uses     []*addition
	encoding position.Encoding
	sinusoid *fit.SinusoidResult
	held     int    // rows after Hold; 0: as they are
	heldGrid [2]int // the grid after Hold, of rows and columns that stand apart
}

// fromInput reports whether a value's numbers come from an input of the model,
// beyond the sizes of its axes.
func fromInput(s *eval.Scope, name string) bool {
	seen := map[sourceKey]bool{}
	queue := []sourceKey{{s, name}}
	for i := 0; i < len(queue); i++ {
		n, at := queue[i].scope.Find(queue[i].name)
		switch {
		case n == nil && (at == nil || at.Tensor(queue[i].name) == nil):
			return true // an input, or an outer name that is not followed
		case n == nil || n.Op == "Shape" || n.Op == "Constant":
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

// withoutQueries drops the tables that are added to a state of the model's own
// making: object queries (DETR) are learned rows too, and no positions.
func (d *detector) withoutQueries() {
	for _, a := range d.tables {
		if t := a.source.tensor; t != nil && a.source.indexed == nil && a.state != "" && !d.queries[t] && !fromInput(a.scope, a.state) {
			d.queries[t] = true
		}
	}
	d.tables = slices.DeleteFunc(d.tables, func(a *addition) bool { return a.source.tensor != nil && d.queries[a.source.tensor] })
}

// addTables makes a site of each table that is added.
func (m *Model) addTables(d *detector) {
	d.withoutQueries()
	byTensor := map[*onnx.Tensor]*tableSite{}
	var runtime *tableSite
	for _, a := range d.tables {
		if a.source.trig != nil {
			if runtime == nil {
				runtime = &tableSite{m: m}
				m.sites = append(m.sites, runtime)
			}
			runtime.uses = append(runtime.uses, a)
			continue
		}
		if t := byTensor[a.source.tensor]; t != nil {
			t.uses = append(t.uses, a)
			continue
		}
		if twin := m.equalTable(byTensor, a); twin != nil {
			twin.uses = append(twin.uses, a)
			byTensor[a.source.tensor] = twin
			continue
		}
		site := &tableSite{m: m, uses: []*addition{a}}
		byTensor[a.source.tensor] = site
		m.sites = append(m.sites, site)
	}
	for _, s := range m.sites {
		if t, ok := s.(*tableSite); ok {
			t.describe(d)
		}
	}
}

// equalTable finds a site whose table is a copy of this one: exporters write
// the same constant once per use.
func (m *Model) equalTable(known map[*onnx.Tensor]*tableSite, a *addition) *tableSite {
	for t, site := range known {
		if t.Type == a.source.tensor.Type && fmt.Sprint(t.Dims) == fmt.Sprint(a.source.tensor.Dims) && sameContent(t, a.source.tensor) {
			return site
		}
	}
	return nil
}

// sameContent compares two constants of one type and shape.
func sameContent(a, b *onnx.Tensor) bool {
	const step = 1 << 14
	for at, n := int64(0), a.Len(); at < n; at += step {
		x, err1 := a.Raw(at, min(step, n-at))
		y, err2 := b.Raw(at, min(step, n-at))
		if err1 != nil || err2 != nil || string(x) != string(y) {
			return false
		}
	}
	return true
}

func (t *tableSite) Encoding() position.Encoding { return t.encoding }

// tensors are the constants that hold the table: one, or equal copies.
func (t *tableSite) tensors() []*onnx.Tensor {
	var out []*onnx.Tensor
	seen := map[*onnx.Tensor]bool{}
	for _, u := range t.uses {
		if c := u.source.tensor; c != nil && !seen[c] {
			seen[c] = true
			out = append(out, c)
		}
	}
	return out
}

func (t *tableSite) rows() tableRows {
	src := t.uses[0].source
	axis := src.axis
	if t.uses[0].planar {
		return tableRows{tensor: src.tensor, axis: axis, planar: true, scale: src.scale, zero: src.zero}
	}
	if axis < 0 { // used whole: the axis that runs with positions
		for i, n := range src.tensor.Dims {
			if axis < 0 && int(n) == t.uses[0].value.Shape[t.uses[0].axis] && i < len(src.tensor.Dims)-1 {
				axis = i
			}
		}
	}
	if axis < 0 { // an image's patches without prefix
		h, w := t.m.patchGrid(t.m.probe)
		axis = slices.Index(src.tensor.Dims, int64(h*w))
		if side := sourceGrid(src.tensor, t.uses[0].value.Shape[len(t.uses[0].value.Shape)-1]); axis < 0 && side > 0 {
			axis = slices.Index(src.tensor.Dims, int64(side*side))
		}
		axis = max(axis, 0)
	}
	return tableRows{tensor: src.tensor, axis: axis, scale: src.scale, zero: src.zero}
}

func (t *tableSite) describe(d *detector) {
	use := t.uses[0]
	if use.source.trig != nil {
		t.describeRuntime(d)
		return
	}
	rows := t.rows()
	e := position.Encoding{Form: report.FormTable, Beyond: report.BeyondError, Dtype: use.source.tensor.Type.String()}
	if use.source.indexed == nil || use.source.index != "" && t.constantIndex() {
		e.Form = report.FormBaked // one length, whatever the input
	}
	offset := int(use.source.first)
	e.Capacity = rows.Len() - offset
	learned := schemes.Learned{Rows: rows.Len(), Dim: rows.Dim(), Offset: offset}
	for _, c := range t.tensors() {
		e.Where = append(e.Where, t.m.where(c))
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: t.usedHow()})
	e.Scheme = learned
	if m, err := rows.matrix(); err == nil {
		if r, ok := fit.AdditiveTable(m, t.precision()); ok {
			t.sinusoid = &r
			s := r.Sinusoid
			s.Rows, s.Offset = rows.Len(), offset
			e.Scheme = s
			e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "rows are " + s.String(), Residual: residual(r.Residual)})
		} else {
			e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "no formula explains the rows: trained"})
		}
	}
	g, prefix, total, ok := t.grid(d, rows.Len())
	if ok && t.Resampled() { // what the table holds counts, not the picture
		if side := sourceGrid(use.source.tensor, use.value.Shape[len(use.value.Shape)-1]); side > 0 && side*side != g[0]*g[1] {
			g, total = []int{side, side}, side*side+prefix
		}
	}
	if ok && t.sinusoid == nil {
		if s, fits := t.gridFormula(rows, g); fits {
			e.Scheme, e.Capacity = s.Sinusoid, g[0]*g[1]
			e.Evidence[len(e.Evidence)-1] = report.Evidence{Kind: "fit", Says: "rows are " + s.Sinusoid.String(), Residual: residual(s.Residual)}
			t.encoding = e
			return
		}
		learned.Grid, learned.Prefix, learned.Rows = g, prefix, total
		if use.value != nil {
			learned.Dim = use.value.Shape[len(use.value.Shape)-1]
		}
		e.Scheme, e.Capacity = learned, g[0]*g[1]
	}
	t.encoding = e
}

// gridFormula explains an image's rows by sines and cosines of rows and columns
// of the grid.
func (t *tableSite) gridFormula(rows tableRows, grid []int) (fit.SinusoidResult, bool) {
	m := rows.whole()
	if m == nil {
		return fit.SinusoidResult{}, false
	}
	r, ok := fit.GridTable(m, t.precision())
	return r, ok && slices.Equal(r.Sinusoid.Grid, grid)
}

func (t *tableSite) precision() fit.Precision { return t.rows().precision() }

func (t *tableSite) usedHow() string {
	src := t.uses[0].source
	if src.indexed == nil {
		return fmt.Sprintf("a constant of this length is added whole by %s", nodeName(t.uses[0].node))
	}
	return fmt.Sprintf("%s takes row p + %d for position p; %s adds it", nodeName(src.indexed), src.first, nodeName(t.uses[0].node))
}

func nodeName(n *onnx.Node) string {
	if n.Name == "" {
		return n.Op
	}
	return n.Op + " " + n.Name
}

func residual(x float64) *report.Number {
	if math.IsNaN(x) {
		return nil
	}
	n := report.Number(x)
	return &n
}

// where names a constant for reports.
func (m *Model) where(t *onnx.Tensor) report.Where {
	r := t.Range()
	w := report.Where{Tensor: m.tensorName(t), Range: &r, File: t.DataFile()}
	return w
}

// tensorName is the initializer's name, or that of the value that a Constant
// node gives.
func (m *Model) tensorName(t *onnx.Tensor) string {
	if t.Name != "" {
		return t.Name
	}
	name := ""
	m.file.Graphs(func(g *onnx.Graph) {
		for _, n := range g.Nodes {
			if a := n.Attribute("value"); a != nil && a.Tensor == t {
				name = n.Output(0)
			}
		}
	})
	return name
}

// maxPrefix is the most tokens that stand before an image's patches: a class
// token, a distillation token, registers. maxBeside are those before and
// behind, where the graph shows which: detection tokens (YOLOS has 100).
const (
	maxPrefix = 16
	maxBeside = 1 << 10
)

// grid reads an image's patch grid from the convolution that makes the
// patches: rows are prefix tokens and then one for each patch.
func (t *tableSite) grid(d *detector, rows int) (grid []int, prefix, total int, ok bool) {
	h, w := t.m.patchGrid(d.e)
	if h == 0 {
		return nil, 0, 0, false
	}
	if in := t.m.tokenInput(); in != nil && t.uses[0].source.indexed != nil && t.uses[0].source.index != "" && !t.constantIndex() {
		return nil, 0, 0, false
	}
	use := t.uses[0]
	if use.value != nil && use.source.indexed == nil && !use.planar {
		rows = use.value.Shape[use.axis] // prefix tokens may stand apart
	}
	p := rows - h*w
	switch {
	case h <= 1 || p < 0:
	case !use.planar && use.before >= 0 && use.before < p && p <= maxBeside:
		return []int{h, w}, use.before, rows, true // other tokens stand behind the patches
	case p <= maxPrefix:
		return []int{h, w}, p, rows, true
	}
	return nil, 0, 0, false
}

// constantIndex reports whether the table is gathered by a constant list.
func (t *tableSite) constantIndex() bool {
	src := t.uses[0].source
	return src.indexAt.Tensor(src.index) != nil
}

// describeRuntime judges a sinusoid that the graph computes: from its values
// at a longer length, where the formula can be told.
func (t *tableSite) describeRuntime(d *detector) {
	e := position.Encoding{Form: report.FormRuntime, Beyond: report.BeyondContinues, Dtype: ""}
	use := t.uses[0]
	e.Where = []report.Where{{Node: nodeName(use.source.trig)}}
	s := schemes.Sinusoid{Dim: use.value.Shape[len(use.value.Shape)-1]}
	if v := t.m.longer(use.scope, use.name, runtimeFitLength); v != nil && v.Known() {
		if axis := positionAxis(v); axis >= 0 {
			rows := matrix(rowsOf(v, axis))
			if r, ok := fit.AdditiveTable(rows, trigPrecision([]source{use.source})); ok {
				s = r.Sinusoid
				s.Rows = 0
				e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "computed rows are " + s.String(), Residual: residual(r.Residual)})
			}
		}
	}
	if s.Base == 0 {
		s.Base, s.Layout = wavesOf(use)
	}
	e.Scheme = s
	if s.Base == 0 { // sines of frequencies that nobody's formula gives
		e.Scheme = schemes.Other{Kind: report.SchemeUnknown, Dim: s.Dim}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "sines and cosines of positions are added, and no base explains their frequencies"})
	}
	t.encoding = e
}

// wavesOf reads base and layout off a sinusoid that is no table of one axis,
// such as DETR's of image rows and columns: the arguments of its sines fall by
// one ratio from column to column.
func wavesOf(u *addition) (base float64, layout string) {
	v := u.source.scope.Value(u.source.trig.Input(0))
	k := len(v.Shape)
	if !v.Known() || v.Floats == nil || k < 2 || v.Shape[k-1] < 2 {
		return 0, ""
	}
	n := v.Shape[k-1]
	last := v.Floats[len(v.Floats)-n:]
	frequencies := make([]float64, n)
	for i := range frequencies {
		frequencies[i] = last[i] / last[0]
	}
	p := trigPrecision([]source{u.source})
	if p == precision(onnx.Float) {
		ratio := last[0] / last[1]
		for i := 1; i < n; i++ {
			if r := last[i-1] / last[i]; math.Abs(r-ratio) > 1e-4*math.Abs(ratio) {
				return 0, ""
			}
		}
		base = math.Pow(ratio, float64(n))
		if rounded := math.Round(base); math.Abs(rounded-base) < 1e-3*base {
			base = rounded
		}
	} else {
		r := fit.InverseFrequencies(undouble(frequencies), p, fit.Options{})
		if !r.OK || r.Rotary.Scaling.Type != "" && r.Rotary.Scaling.Type != schemes.ScalingNone {
			return 0, ""
		}
		base = r.Rotary.Base
	}
	rows := rowsOf(u.value, u.axis)
	row := rows[len(rows)-1]
	layout = schemes.LayoutInterleaved
	for i := 0; i+1 < len(row); i += 2 {
		if math.Abs(math.Hypot(row[i], row[i+1])-1) > cosTolerance {
			layout = schemes.LayoutSinCos
		}
	}
	return base, layout
}

// runtimeFitLength is the length at which formulas computed by the graph are
// evaluated for a fit.
const runtimeFitLength = 64

// longer evaluates a value at another length; nil when the file fixes it.
func (m *Model) longer(s *eval.Scope, name string, length int) *eval.Value {
	if m.fixedLength() > 0 || m.sizes.length >= length {
		return s.Value(name)
	}
	size := m.sizes
	size.length = length
	e := m.at(size)
	i := s.Index()
	if i < 0 || i >= len(e.Scopes()) {
		return nil
	}
	return e.Scopes()[i].Value(name)
}

// Len is the number of rows of the table as the file has it.
func (t *tableSite) Len() int {
	if t.uses[0].source.tensor == nil {
		return 0
	}
	return t.rows().Len()
}

// Dim is the number of columns.
func (t *tableSite) Dim() int {
	if t.uses[0].source.tensor == nil {
		return 0
	}
	return t.rows().Dim()
}

// Row reads a row of the table as the file has it.
func (t *tableSite) Row(i int, dst []float64) error {
	if t.uses[0].source.tensor == nil {
		return fmt.Errorf("no table: the graph computes the rows")
	}
	return t.rows().Row(i, dst)
}

func (t *tableSite) overlay(into map[*onnx.Tensor]*eval.Value) {
	if t.held == 0 {
		return
	}
	rows := t.rows()
	for _, c := range t.tensors() {
		shape := make([]int, len(c.Dims))
		for i, n := range c.Dims {
			shape[i] = int(n)
		}
		shape[rows.axis] = t.held
		if rows.planar {
			shape[rows.axis], shape[rows.axis+1] = t.heldGrid[0], t.heldGrid[1]
		}
		v := eval.Shaped(c.Type, shape...)
		v.Origins = []*onnx.Tensor{c}
		into[c] = v
	}
}
