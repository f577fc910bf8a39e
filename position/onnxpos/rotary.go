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

// rotarySite is a rotary encoding: cos and sin caches in the file, constants
// of one length, or a computation from frequencies.
type rotarySite struct {
	m         *Model
	uses      []*rotation
	encoding  position.Encoding
	scheme    schemes.Rotary
	amplitude float64
	// caches are the tables, where the form is cache or baked: one entry for
	// each pair of tables that hold the same or, with LongRoPE, other rows.
	caches []*cache
	short  *cache                   // of LongRoPE's two, the one that ends at the original length
	trig   []source                 // Cos and Sin nodes, where the form is runtime
	turns  map[trigKey]bool         // trig as a set
	pairs  map[[2]*onnx.Tensor]bool // caches as a set
	heads  int                      // the head size of the uses, 0 while none tells
	held   int
	known  []float64 // frequencies of the graph, once read
	looked bool      // window is known
	window int
}

// addRotations groups rotations that turn by the same numbers into sites.
func (m *Model) addRotations(d *detector) {
	byKey := map[string][]*rotarySite{}
	for _, r := range d.rotations {
		key := m.rotationKey(r)
		if key == "" {
			continue
		}
		i := slices.IndexFunc(byKey[key], func(s *rotarySite) bool { return s.headDim() == r.headDim || s.headDim() == 0 || r.headDim == 0 })
		if i < 0 {
			site := &rotarySite{m: m}
			m.sites = append(m.sites, site)
			byKey[key] = append(byKey[key], site)
			i = len(byKey[key]) - 1
		}
		byKey[key][i].uses = append(byKey[key][i].uses, r)
		if site := byKey[key][i]; site.heads == 0 {
			site.heads = max(r.headDim, 0)
		}
	}
	for _, s := range m.sites {
		if r, ok := s.(*rotarySite); ok {
			r.describe()
		}
	}
}

// headDim is the head size of the uses, 0 when none tells.
func (r *rotarySite) headDim() int { return r.heads }

// trigKey is a Cos or Sin node of a scope.
type trigKey struct {
	scope *eval.Scope
	node  *onnx.Node
}

// rotationKey tells encodings apart: by the sines of one position and the
// layout; by the tables where the values are not known.
func (m *Model) rotationKey(r *rotation) string {
	v := r.sinValue
	if v.Known() && v.Floats != nil && positionAxis(v) >= 0 {
		half := !r.packed && r.layout == schemes.LayoutHalf
		return r.layout + " " + eval.Ask(v, fmt.Sprintf("second row, half: %v", half), func() string {
			row := rowsOf(v, positionAxis(v))[1]
			if half {
				row = row[:len(row)/2]
			}
			var key strings.Builder
			for _, x := range row {
				fmt.Fprintf(&key, "%.4g ", x)
			}
			return key.String()
		})
	}
	for _, src := range sources(r.scope, r.cos) {
		if src.tensor != nil {
			return fmt.Sprintf("%s %p", r.layout, src.tensor)
		}
	}
	return ""
}

// Encoding is what inspect tells of the site.
func (r *rotarySite) Encoding() position.Encoding { return r.encoding }

func (r *rotarySite) describe() {
	r.find()
	e := position.Encoding{Beyond: report.BeyondContinues, Form: report.FormRuntime}
	switch {
	case len(r.caches) > 0:
		r.describeCaches(&e)
	default:
		r.describeRuntime(&e)
	}
	use := r.uses[0]
	r.scheme.Layout, r.scheme.HeadDim = use.layout, r.headDim()
	if r.scheme.HeadDim == 0 {
		r.scheme.HeadDim = r.scheme.Dim
	}
	if s := &r.scheme.Scaling; s.AttentionFactor == 1 && s.Kind().Amplitude == nil {
		s.AttentionFactor = 0 // what these types have anyway
	}
	if r.scheme.Dim > 0 && e.Form == report.FormRuntime {
		r.scheme.Sections, r.scheme.InterleavedSections = r.sections()
	}
	e.Scheme = r.scheme
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "structure", Says: fmt.Sprintf("%s turns queries or keys (%d places)", nodeName(use.node), len(r.uses))})
	r.encoding = e
}

// find collects the tables or the trigonometric nodes behind all uses.
func (r *rotarySite) find() {
	for _, u := range r.uses {
		cos, sin := sources(u.scope, u.cos), sources(u.scope, u.sin)
		for _, src := range append(slices.Clone(cos), sin...) {
			if key := (trigKey{src.scope, src.trig}); src.trig != nil && !r.turns[key] {
				if r.turns == nil {
					r.turns = map[trigKey]bool{}
				}
				r.turns[key] = true
				r.trig = append(r.trig, src)
				src.scope.Enlarge(src.trig.Input(0)) // of a long fixed length
			}
		}
		r.addCaches(u, r.tablesOf(cos, u), r.tablesOf(sin, u))
	}
	if len(r.trig) > 0 {
		r.caches = nil
	}
}

// tablesOf keeps the sources that are tables of rows: selected by position,
// given whole to a fused operator that selects itself, or of this length.
func (r *rotarySite) tablesOf(found []source, u *rotation) []tableRows {
	var out []tableRows
	for _, src := range found {
		if src.tensor == nil || len(src.tensor.Dims) < 2 || !src.tensor.Type.IsFloat() && src.scale == 0 {
			continue
		}
		axis := src.axis
		if src.indexed == nil {
			axis = r.wholeAxis(src.tensor, u)
		}
		if axis < 0 || axis == len(src.tensor.Dims)-1 {
			continue
		}
		out = append(out, tableRows{tensor: src.tensor, axis: axis, scale: src.scale, zero: src.zero})
	}
	return out
}

// wholeAxis is the axis of positions of a table that is used whole: that of as
// many positions as are turned, else the one before the columns that is not 1. Of a
// picture it is the one axis of as many places as there are patches: others may be
// heads that turn each in its way.
func (r *rotarySite) wholeAxis(t *onnx.Tensor, u *rotation) int {
	if h, w := r.m.patchGrid(r.m.probe); h > 0 {
		places := int64(h * w)
		axis := slices.Index(t.Dims[:len(t.Dims)-1], places)
		if axis >= 0 && !slices.Contains(t.Dims[axis+1:len(t.Dims)-1], places) {
			return axis
		}
	}
	if v := u.cosValue; v.Known() && v.Floats != nil {
		if at := positionAxis(v); at >= 0 {
			if axis := slices.Index(t.Dims[:len(t.Dims)-1], int64(v.Shape[at])); axis >= 0 {
				return axis
			}
		}
	}
	for axis := len(t.Dims) - 2; axis >= 0; axis-- {
		if t.Dims[axis] > 1 {
			return axis
		}
	}
	return -1
}

func (r *rotarySite) addCaches(u *rotation, cos, sin []tableRows) {
	for i, c := range cos {
		s := c // packed: sines and cosines in one row
		if i < len(sin) {
			s = sin[i]
		}
		key := [2]*onnx.Tensor{c.tensor, s.tensor}
		if r.pairs[key] {
			continue
		}
		if r.pairs == nil {
			r.pairs = map[[2]*onnx.Tensor]bool{}
		}
		r.pairs[key] = true
		r.caches = append(r.caches, &cache{cos: c, sin: s})
	}
}

func (r *rotarySite) describeCaches(e *position.Encoding) {
	e.Form, e.Beyond = report.FormCache, report.BeyondError
	if !r.selected() {
		e.Form = report.FormBaked
	}
	var longest *cache
	for _, c := range r.caches {
		c.fit(r.m)
		if longest == nil || c.cos.Len() > longest.cos.Len() {
			longest = c
		}
		e.Where = append(e.Where, r.m.where(c.cos.tensor))
		if c.sin.tensor != c.cos.tensor {
			e.Where = append(e.Where, r.m.where(c.sin.tensor))
		}
	}
	r.scheme = longest.result.Rotary
	r.mergeLongRoPE(longest)
	e.Rows = longest.cos.Len()
	e.Capacity = r.least(longest)
	if e.Capacity == r.m.fixedLength() {
		e.Form = report.FormBaked
	}
	e.Dtype = longest.cos.tensor.Type.String()
	if s := &r.scheme.Scaling; s.LongFactor != nil && s.ShortFactor == nil && e.Form == report.FormBaked {
		s.ShortFactor, s.LongFactor = s.LongFactor, nil // one list is left of what the graph chose from
	}
	r.amplitude = longest.result.Amplitude
	if !longest.fitted && (r.describeGrid(e, longest.cos.whole(), longest.sin.whole(), longest.cos.precision()) || r.gridInUse(e, longest.cos.precision())) {
		return
	}
	if !longest.fitted {
		r.scheme = schemes.Rotary{Dim: r.columns(longest), Scaling: schemes.Scaling{Type: schemes.ScalingCustom}}
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "the tables are no cosines and sines of one formula"})
		return
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: "tables are " + longest.result.Rotary.String(), Residual: residual(longest.result.Residual)})
}

// least is how far all caches reach that have to: LongRoPE's short one is left
// where it ends.
func (r *rotarySite) least(longest *cache) int {
	n := longest.positions()
	for _, c := range r.caches {
		if c != r.short {
			n = min(n, c.positions())
		}
	}
	return n
}

// describeGrid reads cosines and sines of an image's patches, which turn by their
// rows and columns.
func (r *rotarySite) describeGrid(e *position.Encoding, cos, sin fit.Matrix, p fit.Precision) bool {
	h, w := r.m.patchGrid(r.m.probe)
	if h == 0 || cos == nil || sin == nil {
		return false
	}
	found, ok := fit.AxialRotaryCache(cos, sin, p, h, w)
	if !ok {
		return false
	}
	r.scheme, r.amplitude = found.Rotary, found.Amplitude
	if e.Capacity > 0 {
		e.Capacity = h * w
	}
	says := fmt.Sprintf("columns turn by the row or the column of one of %d×%d patches, at most %.4g radians from one to the next", h, w, found.Turn)
	switch {
	case found.Turning:
		says += fmt.Sprintf("; %d rows before them turn by angles of their own", found.Prefix)
	case found.Prefix > 0:
		says += fmt.Sprintf("; %d rows before them do not turn", found.Prefix)
	}
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: says, Residual: residual(found.Residual)})
	return true
}

// selected reports whether the tables are indexed by position, by a node or
// inside a fused operator.
func (r *rotarySite) selected() bool {
	for _, u := range r.uses {
		if u.fused && (u.node.Op != "RotaryEmbedding" || u.position != "" || u.node.Domain == "com.microsoft") {
			return true
		}
		for _, src := range sources(u.scope, u.cos) {
			if src.indexed != nil {
				return true
			}
		}
	}
	return false
}

func (r *rotarySite) columns(c *cache) int {
	n := c.cos.inner()                                                    // what stands before are heads
	if head := r.headDim(); c.cos.tensor == c.sin.tensor && n == 2*head { // sines and cosines of every element
		return head
	}
	if c.cos.tensor != c.sin.tensor && r.uses[0].packed {
		return 2 * n
	}
	return n
}

// mergeLongRoPE reads two pairs of tables with other frequencies as LongRoPE's
// short and long lists, relative to the default base.
func (r *rotarySite) mergeLongRoPE(long *cache) {
	if long.ahead > 0 {
		r.longRoPE(long.short, long, long.ahead)
		return
	}
	for _, short := range r.caches {
		if short == long || !short.fitted || !long.fitted || short.cos.Len() >= long.cos.Len() {
			continue
		}
		if a, b := short.result.Rotary.InverseFrequencies(), long.result.Rotary.InverseFrequencies(); len(a) == 0 || len(a) != len(b) || sameFrequencies(a, b) {
			continue
		}
		r.short = short
		r.longRoPE(short.result.Rotary, long, short.cos.Len())
		return
	}
}

// longRoPE sets the scheme to the short list up to a length, and the long one.
func (r *rotarySite) longRoPE(short schemes.Rotary, long *cache, original int) {
	base := defaultBase
	if short.Scaling.IsNone() && short.Base > 0 {
		base = short.Base // all short factors are 1
	}
	a, b := short.InverseFrequencies(), long.result.Rotary.InverseFrequencies()
	r.scheme.Base = base
	r.scheme.Scaling = schemes.Scaling{Type: schemes.ScalingLongRoPE, OriginalLength: original, AttentionFactor: long.result.Amplitude,
		ShortFactor: factors(a, base), LongFactor: factors(b, base), Frequencies: a, LongFrequencies: b}
}

// defaultBase is the base of rotary encodings where nothing tells another
// (Su et al. 2021).
const defaultBase = 10000.0

// sameFrequencies reports whether two lists of frequencies differ by rounding alone.
func sameFrequencies(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= sameFrequency*math.Abs(y) })
}

// sameFrequency is the relative deviation of a frequency that was recovered from
// a table in half precision.
const sameFrequency = 1e-3

// factors are the divisors that bring plain frequencies to the given ones.
func factors(f []float64, base float64) []float64 {
	out := make([]float64, len(f))
	for i := range f {
		out[i] = math.Pow(base, -float64(i)/float64(len(f))) / f[i]
	}
	return out
}

func (r *rotarySite) overlay(into map[*onnx.Tensor]*eval.Value) {
	if r.held == 0 {
		return
	}
	tables := r.angles()
	ahead := map[*onnx.Tensor]int{}
	for _, c := range r.caches {
		if c != r.short {
			tables = append(tables, c.cos, c.sin)
			ahead[c.cos.tensor], ahead[c.sin.tensor] = c.ahead, c.ahead
		}
	}
	for _, t := range tables {
		shape := make([]int, len(t.tensor.Dims))
		for i, n := range t.tensor.Dims {
			shape[i] = int(n)
		}
		shape[t.axis] = max(r.held+ahead[t.tensor], t.Len())
		v := eval.Shaped(t.tensor.Type, shape...)
		v.Origins = []*onnx.Tensor{t.tensor}
		into[t.tensor] = v
	}
}
