package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// fits reports whether the numbers of an attention stay within what is kept.
func (c *call) fits(a *Attended) bool {
	n := onnx.Size([]int{a.Batch, a.Heads, a.Queries, a.Keys})
	if n > c.most() || n > maxTrial/max(a.Dim+a.ValueDim, 1) {
		return false
	}
	c.works(n)
	a.Bias = make([]float64, n)
	return true
}

// scaled is the attribute scale, the usual one where it is absent or 0.
func (c *call) scaled(dim int) float64 {
	if s := c.node.Float("scale", 0); s != 0 {
		return s
	}
	return 1 / math.Sqrt(float64(dim))
}

// finish computes an attention, keeps it for Attended, and lays the output out as the
// operator does: like shape, in type t.
func (c *call) finish(a *Attended, t onnx.DataType, rank int) *Value {
	a.compute()
	if c.scope.eval.trial != nil {
		c.scope.eval.trial.attended[c.node] = a
	}
	out := FloatValue(t, []int{a.Batch, a.Heads, a.Queries, a.ValueDim}, a.Output)
	if rank == 3 {
		out = FloatValue(t, []int{a.Batch, a.Queries, a.Heads * a.ValueDim}, besideHeads(a.Output, a.Batch, a.Heads, a.Queries, a.ValueDim))
	}
	return out.rounded()
}

// besideHeads lays rows of (batch, heads, positions, dim) out as (batch, positions, heads·dim).
func besideHeads(rows []float64, batch, heads, positions, dim int) []float64 {
	out := make([]float64, len(rows))
	for b := range batch {
		for h := range heads {
			for p := range positions {
				copy(out[((b*positions+p)*heads+h)*dim:][:dim], rows[((b*heads+h)*positions+p)*dim:])
			}
		}
	}
	return out
}

// rounded brings content to the precision of its type.
func (v *Value) rounded() *Value {
	if v.Type != onnx.Double {
		v.Floats = slices.Clone(v.Floats)
		for i, x := range v.Floats {
			v.Floats[i] = round(v.Type, x)
		}
	}
	return v
}

// attentionContent computes ai.onnx Attention 23 to 25 (onnx.ai/onnx/operators); nil
// where something is not known.
func attentionContent(c *call, outputs []*Value) []*Value {
	q, k, v := c.need(0), c.need(1), c.need(2)
	t := wide(q.Type, q, k, v, c.input(3))
	a := &Attended{}
	if !a.read(q, k, v, int(c.node.Int("q_num_heads", 0)), int(c.node.Int("kv_num_heads", 0))) {
		return outputs
	}
	if !a.withPast(c.input(4), c.input(5)) || !c.fits(a) || !a.add(c.input(3)) {
		return outputs
	}
	a.Scale, a.Softcap = c.scaled(a.Dim), c.node.Float("softcap", 0)
	valid := c.input(6)
	if valid != nil && (!valid.Known() || valid.Len() != a.Batch) {
		return outputs
	}
	offset := func(b int) int {
		if valid != nil {
			return int(valid.Ints[b]) - a.Queries
		}
		return a.Past
	}
	left, right := int(c.node.Int("left_window_size", -1)), int(c.node.Int("right_window_size", -1))
	causal := c.node.Int("is_causal", 0) == 1
	a.mask(func(b, i, j int) bool {
		p := i + offset(b)
		return (!causal || j <= p) && (left < 0 || p-j <= left) && (right < 0 || j-p <= right) && (valid == nil || j < int(valid.Ints[b]))
	})
	out := c.finish(a, t, len(q.Shape))
	outputs[0] = out.from(c.in...)
	for i, rows := range [][]float64{a.Key, a.Value} {
		if len(outputs) > i+1 && outputs[i+1] != nil && len(outputs[i+1].Shape) == 4 && outputs[i+1].Len() == len(rows) {
			outputs[i+1] = FloatValue(t, outputs[i+1].Shape, rows).rounded()
		}
	}
	if len(c.node.Outputs) > 3 && c.node.Outputs[3] != "" {
		shape := []int{a.Batch, a.Heads, a.Queries, a.Keys}
		content := a.Weights
		switch c.node.Int("qk_matmul_output_mode", 0) {
		case 0, 1:
			raw := *a
			raw.Bias = make([]float64, len(a.Bias))
			if c.node.Int("qk_matmul_output_mode", 0) == 0 {
				raw.Softcap = 0
			}
			raw.compute()
			content = raw.Scores
		case 2:
			content = a.Scores
		}
		outputs = append(outputs[:3:3], FloatValue(t, shape, content).rounded())
	}
	return outputs
}

// packed cuts rows of (batch, positions, q·k·v) into three values of (batch,
// positions, width): the widths of queries, keys and values.
func packed(v *Value, widths ...int) []*Value {
	b, n, all := v.Shape[0], v.Shape[1], v.Shape[2]
	out := make([]*Value, len(widths))
	first := 0
	for i, w := range widths {
		out[i] = FloatValue(v.Type, []int{b, n, w}, make([]float64, b*n*w))
		for r := range b * n {
			copy(out[i].Floats[r*w:(r+1)*w], v.Floats[r*all+first:])
		}
		first += w
	}
	return out
}

// plusRow adds a vector to every row.
func plusRow(v *Value, bias *Value, first int) *Value {
	w := *v
	w.Floats = slices.Clone(v.Floats)
	n := v.Shape[len(v.Shape)-1]
	for i := range w.Floats {
		w.Floats[i] += bias.Number(first + i%n)
	}
	return &w
}

// fusedAttentionContent computes com.microsoft Attention: (x·W + b) taken apart into
// queries, keys and values (docs/ContribOperators.md).
func fusedAttentionContent(c *call) *Value {
	x, w, bias := c.need(0), c.need(1), c.input(2)
	heads := int(c.node.Int("num_heads", 0))
	if c.node.Op != "Attention" || c.node.Int("do_rotary", 0) == 1 || heads < 1 || len(w.Shape) != 2 || !allKnown(x, w) || bias != nil && !bias.Known() {
		return nil
	}
	all, err := product2(c, wide(x.Type, x), x, w)
	if err != nil || len(all) == 0 || !all[0].Known() || len(all[0].Shape) != 3 {
		return nil
	}
	y := all[0]
	width := y.Shape[2] / 3
	widths := []int{width, width, width}
	if s := c.node.Ints("qkv_hidden_sizes"); len(s) == 3 {
		widths = []int{int(s[0]), int(s[1]), int(s[2])}
	}
	if slices.Min(widths) < 1 || widths[0]+widths[1]+widths[2] != y.Shape[2] || bias != nil && bias.Len() != y.Shape[2] {
		return nil
	}
	if bias != nil {
		y = plusRow(y, bias, 0)
	}
	parts := packed(y, widths...)
	a := &Attended{}
	if !a.read(parts[0], parts[1], parts[2], heads, heads) {
		return nil
	}
	if past := c.input(4); past != nil {
		if !past.Known() || len(past.Shape) != 5 || past.Shape[0] != 2 {
			return nil
		}
		half := onnx.Size(past.Shape[1:])
		if len(past.Floats) != 2*half || !a.withPast(FloatValue(past.Type, past.Shape[1:], past.Floats[:half]), FloatValue(past.Type, past.Shape[1:], past.Floats[half:])) {
			return nil
		}
	}
	if !c.fits(a) || !a.add(c.input(5)) || !a.keyMask(c.input(3)) {
		return nil
	}
	a.Scale = c.scaled(a.Dim)
	if c.node.Int("unidirectional", 0) == 1 {
		a.mask(func(_, i, j int) bool { return j <= i+a.Past })
	}
	return c.finish(a, wide(x.Type, x), 3)
}

// headAttentionContent computes MultiHeadAttention and GroupQueryAttention of
// com.microsoft; nil where something is not known or not modelled.
func headAttentionContent(c *call) []*Value {
	q, k, v := c.need(0), c.input(1), c.input(2)
	heads := int(c.node.Int("num_heads", 0))
	kv := int(c.node.Int("kv_num_heads", int64(heads)))
	if heads < 1 || kv < 1 || !q.Known() || len(q.Shape) != 3 {
		return nil
	}
	if k == nil && v == nil && c.node.Op == "GroupQueryAttention" && q.Shape[2]%(heads+2*kv) == 0 {
		d := q.Shape[2] / (heads + 2*kv)
		parts := packed(q, heads*d, kv*d, kv*d)
		q, k, v = parts[0], parts[1], parts[2]
	}
	if k == nil || v == nil || !allKnown(k, v) {
		return nil
	}
	a := &Attended{}
	t := wide(q.Type, q, k, v)
	switch c.node.Op {
	case "MultiHeadAttention":
		if bias := c.input(3); bias != nil {
			n := q.Shape[2]
			if !bias.Known() || len(k.Shape) != 3 || len(v.Shape) != 3 || bias.Len() != n+k.Shape[2]+v.Shape[2] {
				return nil
			}
			q, k, v = plusRow(q, bias, 0), plusRow(k, bias, n), plusRow(v, bias, n+k.Shape[2])
		}
		if !a.read(q, k, v, heads, heads) || !a.withPast(c.input(6), c.input(7)) || !c.fits(a) || !a.add(c.input(5)) || !a.keyMask(c.input(4)) || c.input(9) != nil {
			return nil
		}
		if c.node.Int("unidirectional", 0) == 1 {
			a.mask(func(_, i, j int) bool { return j <= i+a.Keys-a.Queries })
		}
	case "GroupQueryAttention":
		if !a.read(q, k, v, heads, kv) || !c.grouped(a) {
			return nil
		}
	default:
		return nil
	}
	a.Scale, a.Softcap = c.scaled(a.Dim), math.Max(c.node.Float("softcap", 0), 0)
	out := []*Value{c.finish(a, t, 3).from(c.in...)}
	if len(c.node.Outputs) > 2 {
		shape := []int{a.Batch, a.KVHeads, a.Keys, a.Dim}
		out = append(out, FloatValue(t, shape, a.Key).rounded())
		shape = []int{a.Batch, a.KVHeads, a.Keys, a.ValueDim}
		out = append(out, FloatValue(t, shape, a.Value).rounded())
	}
	return out
}

// grouped reads what GroupQueryAttention has beside queries, keys and values: norms,
// rotation, the cache, masks, sinks. False where something is not known.
func (c *call) grouped(a *Attended) bool {
	past := 0
	if p := c.input(3); p != nil && len(p.Shape) == 4 {
		past = p.Shape[2]
	}
	lengths := c.input(5)
	if lengths == nil || !lengths.Known() || lengths.Len() != a.Batch || c.input(12) != nil || c.input(13) != nil {
		return false
	}
	total := make([]int, a.Batch) // keys of each sequence
	for b := range total {
		total[b] = int(lengths.Number(b)) + 1
	}
	for i, rows := range []*[]float64{&a.Query, &a.Key} {
		if w := c.input(14 + i); w != nil {
			if !w.Known() || w.Len() != a.Dim {
				return false
			}
			*rows = rootMeanSquare(*rows, w, c.node.Float("qk_norm_epsilon", 1e-6))
		}
	}
	before := make([]int, a.Batch) // cached keys of each sequence
	for b := range before {
		before[b] = max(total[b]-a.Queries, 0)
		if before[b] > past {
			return false
		}
	}
	if c.node.Int("do_rotary", 0) == 1 {
		cos, sin := c.need(7), c.need(8)
		at := func(b, p int) int { return before[b] + p }
		if ids := c.input(9); ids != nil {
			if !ids.Known() || ids.Len() != a.Batch*a.Queries {
				return false
			}
			at = func(b, p int) int { return int(ids.Number(b*a.Queries + p)) }
		}
		interleaved := c.node.Int("rotary_interleaved", 0) == 1
		var ok1, ok2 bool
		a.Query, ok1 = turned(a.Query, a.Batch, a.Heads, a.Queries, a.Dim, cos, sin, interleaved, at)
		a.Key, ok2 = turned(a.Key, a.Batch, a.KVHeads, a.Keys, a.Dim, cos, sin, interleaved, at)
		if !ok1 || !ok2 {
			return false
		}
	}
	// The new rows stand behind the cached ones of their sequence; a cache of more rows
	// is shared by longer sequences.
	for b := range before {
		if before[b] != past {
			return false
		}
	}
	if !a.withPast(c.input(3), c.input(4)) || !c.fits(a) || !a.add(c.input(10)) {
		return false
	}
	window := int(c.node.Int("local_window_size", -1))
	a.mask(func(b, i, j int) bool {
		p := total[b] - a.Queries + i
		return j <= p && (window < 0 || p-j < window)
	})
	if c.node.Int("smooth_softmax", 0) == 1 {
		a.Sinks = make([]float64, a.Heads)
	}
	if s := c.input(11); s != nil {
		if !s.Known() || s.Len() != a.Heads {
			return false
		}
		a.Sinks = make([]float64, a.Heads)
		for i := range a.Sinks {
			a.Sinks[i] = s.Number(i)
		}
	}
	return true
}

// rotaryEmbedding turns queries or keys: ai.onnx RotaryEmbedding (x, cos, sin,
// positions) and that of com.microsoft (x, positions, cos, sin).
func rotaryEmbedding(c *call) ([]*Value, error) {
	x := c.need(0)
	same := x.unknown()
	cos, sin, ids := c.need(1), c.need(2), c.input(3)
	if c.node.Domain == "com.microsoft" {
		cos, sin, ids = c.need(2), c.need(3), c.input(1)
	}
	outputs := one(same)
	if c.node.Domain == "com.microsoft" {
		outputs = []*Value{same, nil, nil, nil}
	}
	if !x.Known() || x.Floats == nil || !allKnown(cos, sin) || ids != nil && !ids.Known() || len(cos.Shape) < 2 || c.node.Int("is_packed_batching", 0) == 1 {
		return outputs, nil
	}
	heads := int(c.node.Int("num_heads", 0))
	if heads == 0 && len(x.Shape) == 3 { // ONNX Runtime: a head is twice the columns of the cache
		heads = max(x.Shape[2]/max(2*cos.Shape[len(cos.Shape)-1], 1), 1)
	}
	rows, batch, count, positions, dim, ok := headRows(x, heads)
	if !ok || x.Len() > c.most() {
		return outputs, nil
	}
	c.works(x.Len())
	var at func(b, p int) int
	switch {
	case c.node.Op == "MRotaryEmbedding": // places have several coordinates, which are the same in text
		n := batch * positions
		if ids == nil || n == 0 || ids.Len()%n != 0 {
			return outputs, nil
		}
		for i := range ids.Len() {
			if ids.Number(i) != ids.Number(i%n) {
				return outputs, nil
			}
		}
		at = func(b, p int) int { return int(ids.Number(b*positions + p)) }
	case ids == nil && len(cos.Shape) == 3:
	case ids == nil:
		return outputs, nil
	case ids.Len() == 1 && len(ids.Shape) < 2:
		at = func(_, p int) int { return int(ids.Number(0)) + p }
	case ids.Len() == batch*positions:
		at = func(b, p int) int { return int(ids.Number(b*positions + p)) }
	case ids.Len() == positions && positions > 0:
		at = func(_, p int) int { return int(ids.Number(p)) }
	default:
		return outputs, nil
	}
	out, ok := turned(rows, batch, count, positions, dim, cos, sin, c.node.Int("interleaved", 0) == 1, at)
	if !ok {
		return outputs, nil
	}
	scale := c.node.Float("scale", 1)
	for i := range out {
		out[i] *= scale
	}
	t := wide(x.Type, x, cos, sin)
	if len(x.Shape) == 3 {
		out = besideHeads(out, batch, count, positions, dim)
	}
	outputs[0] = FloatValue(t, x.Shape, out).rounded().from(c.in...)
	return outputs, nil
}
