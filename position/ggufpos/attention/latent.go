package attention

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
)

// latent is attention whose keys and values are made of a short vector, with a part of
// the key that all heads share and that alone is turned (DeepSeek-AI 2024, §2.1; MLA).
type latent struct {
	queryDown, queryUp, query *gguf.Tensor // two steps with a norm between, or one
	queryNorm, keyNorm        *gguf.Tensor
	down                      *gguf.Tensor // rows of the latent vector, then of the shared key
	keyUp, valueUp            *gguf.Tensor // [heads, latent, element] and [heads, element, latent]
	up                        *gguf.Tensor // or both: [heads, key and value, latent]
	rank, turned              int          // elements of the latent vector, and of the shared key
	epsilon                   float64
}

// latentOf reads the tensors of a layer with latent attention; why says what does not
// fit.
func latentOf(m *hparams.Model, prefix string, heads, dim, valueDim int) (l *latent, why string) {
	t := func(name string) *gguf.Tensor { return m.File.Tensor(prefix + name + ".weight") }
	l = &latent{queryDown: t("attn_q_a"), queryUp: t("attn_q_b"), query: t("attn_q"), queryNorm: t("attn_q_a_norm"), keyNorm: t("attn_kv_a_norm"),
		down: t("attn_kv_a_mqa"), keyUp: t("attn_k_b"), valueUp: t("attn_v_b"), up: t("attn_kv_b"), epsilon: epsilonOf(m, false)}
	l.rank, _ = m.Count("attention.kv_lora_rank")
	l.turned, _ = m.Count(arch.KeyDims)
	nope := dim - l.turned
	if l.down == nil {
		return nil, "attn_kv_a_mqa is missing"
	}
	fits := l.down.Rows() == int64(l.rank+l.turned) && l.rank > 0 && l.turned > 0 && nope > 0 && valueDim > 0
	switch {
	case l.queryUp != nil && l.queryDown != nil:
		fits = fits && l.queryUp.Rows() == int64(heads*dim) && l.queryUp.Width() == l.queryDown.Rows() && l.queryDown.Width() == l.down.Width()
	case l.query != nil:
		fits = fits && l.query.Rows() == int64(heads*dim) && l.query.Width() == l.down.Width()
	default:
		return nil, "it has no projection of queries"
	}
	switch {
	case l.up != nil:
		fits = fits && l.up.Rows() == int64(heads*(nope+valueDim)) && l.up.Width() == int64(l.rank)
	case l.keyUp != nil && l.valueUp != nil:
		fits = fits && l.keyUp.Width() == int64(nope) && l.keyUp.Rows() == int64(l.rank*heads) && l.valueUp.Width() == int64(l.rank) && l.valueUp.Rows() == int64(heads*valueDim)
	default:
		return nil, "it has no projection of keys and values"
	}
	if !fits {
		return nil, "the shapes of its latent projections do not fit its keys"
	}
	for _, t := range []*gguf.Tensor{l.queryDown, l.queryUp, l.query, l.down, l.keyUp, l.valueUp, l.up} {
		if t != nil && !t.Readable() {
			return nil, fmt.Sprintf("its weights have storage type %s", t.Type)
		}
	}
	return l, ""
}

func (l *latent) width() int { return int(l.down.Width()) }

// project makes queries, keys and values; the part that is turned stands first in both.
func (l *latent) project(a *layer, x [][]float64, heads []int) ([]headRows, error) {
	f := a.m.File
	dim, nope := a.dim, a.dim-l.turned
	shared, err := rowsOf(f, l.down, 0, l.rank+l.turned)
	if err != nil {
		return nil, err
	}
	both := multiplied(x, shared, nil, l.rank+l.turned)
	vectors, keys := make([][]float64, len(x)), make([][]float64, len(x))
	for p := range both {
		vectors[p], keys[p] = both[p][:l.rank:l.rank], both[p][l.rank:]
	}
	if err := l.normed(f, vectors, l.keyNorm); err != nil {
		return nil, err
	}
	states, from := x, l.query
	if l.queryUp != nil {
		w, err := rowsOf(f, l.queryDown, 0, int(l.queryDown.Rows()))
		if err != nil {
			return nil, err
		}
		states, from = multiplied(x, w, nil, int(l.queryDown.Rows())), l.queryUp
		if err := l.normed(f, states, l.queryNorm); err != nil {
			return nil, err
		}
	}
	out := make([]headRows, len(heads))
	for i, h := range heads {
		w, err := rowsOf(f, from, h*dim, dim)
		if err != nil {
			return nil, err
		}
		query := multiplied(states, w, nil, dim)
		for p, row := range query { // the turned part to the front
			query[p] = append(append(make([]float64, 0, dim), row[nope:]...), row[:nope]...)
		}
		plain, value, err := l.unfolded(f, h, nope, a.valueDim, vectors)
		if err != nil {
			return nil, err
		}
		key := make([][]float64, len(x))
		for p := range key {
			key[p] = append(append(make([]float64, 0, dim), keys[p]...), plain[p]...)
		}
		out[i] = headRows{query, key, value}
	}
	return out, nil
}

// normed normalises rows by the root of their mean square where there is a weight.
func (l *latent) normed(f *gguf.File, rows [][]float64, weight *gguf.Tensor) error {
	if weight == nil || len(rows) == 0 {
		return nil
	}
	w, err := readAll(f, weight, len(rows[0]))
	if err != nil {
		return err
	}
	for _, row := range rows {
		norm{epsilon: l.epsilon}.apply(row, w, nil)
	}
	return nil
}

// unfolded are a head's keys, but for the shared part, and values from the latent
// vectors.
func (l *latent) unfolded(f *gguf.File, h, nope, valueDim int, vectors [][]float64) (key, value [][]float64, err error) {
	if l.up != nil {
		w, err := rowsOf(f, l.up, h*(nope+valueDim), nope+valueDim)
		if err != nil {
			return nil, nil, err
		}
		return multiplied(vectors, w[:nope*l.rank], nil, nope), multiplied(vectors, w[nope*l.rank:], nil, valueDim), nil
	}
	k, err := rowsOf(f, l.keyUp, h*l.rank, l.rank) // row r, element i: from r to i
	if err != nil {
		return nil, nil, err
	}
	turned := make([]float64, len(k))
	for r := range l.rank {
		for i := range nope {
			turned[i*l.rank+r] = k[r*nope+i]
		}
	}
	v, err := rowsOf(f, l.valueUp, h*valueDim, valueDim)
	if err != nil {
		return nil, nil, err
	}
	return multiplied(vectors, turned, nil, nope), multiplied(vectors, v, nil, valueDim), nil
}

// rowsOf reads n rows of a matrix.
func rowsOf(f *gguf.File, t *gguf.Tensor, first, n int) ([]float64, error) {
	if t.Width() < 1 || int64(n) > maxRunElements/t.Width() {
		return nil, fmt.Errorf("tensor %s has too many elements to be read at once", t.Name)
	}
	out := make([]float64, n*int(t.Width()))
	return out, f.ReadRows(t, int64(first), int64(n), out)
}
