package eval

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
)

// Attended is what a fused operator of attention computed in a trial, in float64:
// rows by position, one head after the other.
type Attended struct {
	Batch, Heads, KVHeads int
	Queries, Keys         int // positions
	Past                  int // keys that were there before: their rows are as they were cached
	Dim, ValueDim         int // elements of a query or key, and of a value

	Query, Key []float64 // [batch, heads, position, element], turned where the operator turns them
	Value      []float64
	Scale      float64 // multiplies query·key
	Softcap    float64 // c of c·tanh(score/c), 0 for none
	// Bias is what is added to the scores, masks included: [batch, heads, query, key].
	Bias []float64
	// Sinks are a score for each head that takes a share of the weights and has no
	// value; nil for none.
	Sinks                   []float64
	Scores, Weights, Output []float64 // [batch, heads, query, key | element of the value]
}

// compute fills scores, weights and output from the rest: softmax(scale·q·kᵀ capped +
// bias)·v. A row that is masked whole has weights of zero.
func (a *Attended) compute() {
	group := max(a.Heads/max(a.KVHeads, 1), 1)
	a.Scores = make([]float64, a.Batch*a.Heads*a.Queries*a.Keys)
	a.Weights = make([]float64, len(a.Scores))
	a.Output = make([]float64, a.Batch*a.Heads*a.Queries*a.ValueDim)
	for bh := range a.Batch * a.Heads {
		kv := bh/a.Heads*a.KVHeads + bh%a.Heads/group
		for q := range a.Queries {
			row := (bh*a.Queries + q) * a.Keys
			query := a.Query[(bh*a.Queries+q)*a.Dim:][:a.Dim]
			for k := range a.Keys {
				key := a.Key[(kv*a.Keys+k)*a.Dim:][:a.Dim]
				sum := 0.0
				for i, x := range query {
					sum += x * key[i]
				}
				sum *= a.Scale
				if a.Softcap > 0 {
					sum = a.Softcap * math.Tanh(sum/a.Softcap)
				}
				a.Scores[row+k] = sum
			}
			for k, b := range a.Bias[row : row+a.Keys] {
				a.Scores[row+k] += b
			}
			var sink []float64
			if a.Sinks != nil {
				sink = a.Sinks[bh%a.Heads:][:1]
			}
			weigh(a.Weights[row:row+a.Keys], a.Scores[row:row+a.Keys], sink)
			out := a.Output[(bh*a.Queries+q)*a.ValueDim:][:a.ValueDim]
			for k, w := range a.Weights[row : row+a.Keys] {
				if w == 0 {
					continue
				}
				for i, v := range a.Value[(kv*a.Keys+k)*a.ValueDim:][:a.ValueDim] {
					out[i] += w * v
				}
			}
		}
	}
}

// weigh writes exp(x−max)/Σ of scores into weights; a sink takes a share of the sum.
// Of scores that are all −∞ the weights are zero.
func weigh(weights, scores, sink []float64) {
	highest := math.Inf(-1)
	for _, x := range scores {
		highest = math.Max(highest, x)
	}
	for _, x := range sink {
		highest = math.Max(highest, x)
	}
	if math.IsInf(highest, -1) {
		clear(weights)
		return
	}
	sum := 0.0
	for i, x := range scores {
		weights[i] = math.Exp(x - highest)
		sum += weights[i]
	}
	for _, x := range sink {
		sum += math.Exp(x - highest)
	}
	for i := range weights {
		weights[i] /= sum
	}
}

// heads reads a value of (batch, heads, positions, dim), or of (batch, positions,
// heads·dim), as rows of one head after the other; ok is false where it is neither.
func headRows(v *Value, heads int) (rows []float64, batch, count, positions, dim int, ok bool) {
	if v == nil || !v.Known() || v.Floats == nil && v.Len() > 0 {
		return nil, 0, 0, 0, 0, false
	}
	switch s := v.Shape; {
	case len(s) == 4:
		return v.Floats, s[0], s[1], s[2], s[3], true
	case len(s) == 3 && heads > 0 && s[2]%heads == 0:
		batch, positions, dim = s[0], s[1], s[2]/heads
		rows = make([]float64, len(v.Floats))
		for b := range batch {
			for p := range positions {
				for h := range heads {
					copy(rows[((b*heads+h)*positions+p)*dim:][:dim], v.Floats[((b*positions+p)*heads+h)*dim:])
				}
			}
		}
		return rows, batch, heads, positions, dim, true
	}
	return nil, 0, 0, 0, 0, false
}

// joinRows puts cached rows before new ones, head by head.
func joinRows(past []float64, pastPositions int, rows []float64, positions, heads, dim int) []float64 {
	if pastPositions == 0 {
		return rows
	}
	out := make([]float64, 0, len(past)+len(rows))
	for h := range heads {
		out = append(out, past[h*pastPositions*dim:(h+1)*pastPositions*dim]...)
		out = append(out, rows[h*positions*dim:(h+1)*positions*dim]...)
	}
	return out
}

// withPast puts cached keys and values (inputs of (batch, heads, past, dim)) before the
// new ones; false where their shapes do not fit.
func (a *Attended) withPast(key, value *Value) bool {
	if key == nil && value == nil || key != nil && len(key.Shape) == 4 && key.Shape[2] == 0 {
		return true // nothing cached
	}
	if key == nil || value == nil || !allKnown(key, value) || len(key.Shape) != 4 || len(value.Shape) != 4 ||
		!slices.Equal(key.Shape[:3], value.Shape[:3]) || key.Shape[0] != a.Batch || key.Shape[1] != a.KVHeads || key.Shape[3] != a.Dim || value.Shape[3] != a.ValueDim {
		return false
	}
	a.Past = key.Shape[2]
	a.Key = joinRows(key.Floats, a.Past, a.Key, a.Keys, a.Batch*a.KVHeads, a.Dim)
	a.Value = joinRows(value.Floats, a.Past, a.Value, a.Keys, a.Batch*a.KVHeads, a.ValueDim)
	a.Keys += a.Past
	return true
}

// read takes queries, keys and values apart; false where something is not known.
func (a *Attended) read(q, k, v *Value, heads, kv int) bool {
	var ok1, ok2, ok3 bool
	var batch, count, keys int
	a.Query, a.Batch, a.Heads, a.Queries, a.Dim, ok1 = headRows(q, heads)
	a.Key, batch, a.KVHeads, a.Keys, count, ok2 = headRows(k, kv)
	ok2 = ok2 && batch == a.Batch && count == a.Dim
	a.Value, batch, count, keys, a.ValueDim, ok3 = headRows(v, kv)
	return ok1 && ok2 && ok3 && batch == a.Batch && count == a.KVHeads && keys == a.Keys && a.KVHeads > 0 && a.Heads%a.KVHeads == 0
}

// allowed is whether query i of a batch may see key j.
func (a *Attended) mask(allowed func(batch, i, j int) bool) {
	for i := range a.Bias {
		k, q, b := i%a.Keys, i/a.Keys%a.Queries, i/(a.Keys*a.Queries*a.Heads)
		if !allowed(b, q, k) {
			a.Bias[i] = math.Inf(-1)
		}
	}
}

// add adds a bias that is broadcast to [batch, heads, query, key], or masks where truth
// values are false; false where it does not fit. Keys beyond its own are masked.
func (a *Attended) add(v *Value) bool {
	if v == nil {
		return true
	}
	if !v.Known() || len(v.Shape) == 0 || len(v.Shape) > 4 {
		return false
	}
	full := []int{a.Batch, a.Heads, a.Queries, a.Keys}
	shape := v.Shape
	own := shape[len(shape)-1]
	if own < a.Keys && own > 1 {
		full[3] = own
	}
	if s, err := broadcast(shape, full); err != nil || !slices.Equal(s, full) {
		return false
	}
	w := newWalker(shape, full)
	each(full, []walker{w}, func(i int, at []int) {
		i = i/full[3]*a.Keys + i%full[3]
		switch x := v.Number(at[0]); {
		case v.Type == onnx.Bool && x == 0:
			a.Bias[i] = math.Inf(-1)
		case v.Type != onnx.Bool:
			a.Bias[i] += x
		}
	})
	if full[3] < a.Keys {
		a.mask(func(_, _, j int) bool { return j < own })
	}
	return true
}

// keyMask masks keys by a mask_index of ONNX Runtime: (batch, keys) or (batch, 1 or
// queries, keys) of 0 and 1, or the number of keys for each batch.
func (a *Attended) keyMask(v *Value) bool {
	if v == nil {
		return true
	}
	if !v.Known() {
		return false
	}
	switch s := v.Shape; {
	case len(s) == 1 && s[0] == a.Batch:
		a.mask(func(b, _, j int) bool { return j < int(v.Number(b)) })
	case len(s) == 2 && s[0] == a.Batch && s[1] == a.Keys:
		a.mask(func(b, _, j int) bool { return v.Number(b*a.Keys+j) != 0 })
	case len(s) == 3 && s[0] == a.Batch && s[2] == a.Keys && (s[1] == 1 || s[1] == a.Queries):
		a.mask(func(b, i, j int) bool { return v.Number((b*s[1]+i%s[1])*a.Keys+j) != 0 })
	default:
		return false
	}
	return true
}

// rootMeanSquare normalises rows of as many elements as there are weights.
func rootMeanSquare(rows []float64, w *Value, epsilon float64) []float64 {
	out := make([]float64, len(rows))
	n := w.Len()
	for first := 0; first+n <= len(rows); first += n {
		sum := 0.0
		for _, x := range rows[first : first+n] {
			sum += x * x / float64(n)
		}
		for i, x := range rows[first : first+n] {
			out[first+i] = x / math.Sqrt(sum+epsilon) * w.Number(i)
		}
	}
	return out
}

// turned turns pairs of elements of rows by the cosines and sines of the row that at
// tells: of a table (positions, pairs), or of (batch, positions, pairs) where at is nil.
func turned(rows []float64, batch, heads, positions, dim int, cos, sin *Value, interleaved bool, at func(b, p int) int) ([]float64, bool) {
	if !allKnown(cos, sin) || !slices.Equal(cos.Shape, sin.Shape) || len(cos.Shape) < 2 {
		return nil, false
	}
	n := cos.Shape[len(cos.Shape)-1]
	if n == 0 || 2*n > dim {
		return nil, false
	}
	out := slices.Clone(rows)
	for b := range batch {
		for p := range positions {
			line := b%cos.Shape[0]*positions + p
			if at != nil {
				line = at(b, p)
			}
			if line < 0 || (line+1)*n > cos.Len() {
				return nil, false
			}
			for h := range heads {
				row := out[((b*heads+h)*positions+p)*dim:][:dim]
				for i := range n {
					x, y := i, i+n
					if interleaved {
						x, y = 2*i, 2*i+1
					}
					cs, sn := cos.Number(line*n+i), sin.Number(line*n+i)
					row[x], row[y] = row[x]*cs-row[y]*sn, row[y]*cs+row[x]*sn
				}
			}
		}
	}
	return out, true
}
