package attention

import (
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/trial"
	"github.com/modelpatch/modelpatch/schemes"
)

// layer is one attention as llama.cpp computes it from a file's weights
// (src/llama-graph.cpp and src/models of build 11434): what run needs.
type layer struct {
	m               *hparams.Model
	prefix          string // of its tensors
	heads, kvHeads  int
	dim, valueDim   int
	query, key, val *projection // nil: latent
	latent          *latent
	queryNorm       norm
	keyNorm         norm
	valueNorm       norm
	keysOf          string  // the prefix of the layer whose keys and values it takes; "": its own
	clamp           float64 // of queries, keys and values; 0: none
	scale           float64
	softcap         float64
	sinks           *gguf.Tensor
	temperature     schemes.Temperature
	tables          []added // to the state before
}

// norm is what queries or keys are divided by before they are turned.
type norm struct {
	weight, bias *gguf.Tensor // nil: plain
	centred      bool         // less the mean
	bare         bool         // without weights
	epsilon      float64
	amplitude    float64 // of the rotation after which it is taken; 0: before
}

// maxRunElements bounds the numbers of the states, queries and keys of a run.
const maxRunElements = 1 << 24

// run computes queries, keys and values of heads (nil: all) for seeded states.
func (l *layer) run(positions int, heads []int) (*trial.Trial, error) {
	width := 0
	if l.latent != nil {
		width = l.latent.width()
	} else {
		width = l.query.In()
		if l.key.In() != width || l.val.In() != width {
			return nil, fmt.Errorf("queries, keys and values are made of states of %d, %d and %d elements", width, l.key.In(), l.val.In())
		}
	}
	if heads == nil {
		for h := range l.heads {
			heads = append(heads, h)
		}
	}
	n := max(width, l.dim, l.valueDim)
	if positions < 1 || n < 1 || n > maxRunElements/positions/max(len(heads), 1) {
		return nil, fmt.Errorf("%d positions of %d heads of %d elements are too many to be run at once", positions, len(heads), n)
	}
	x, err := l.states(positions, width)
	if err != nil {
		return nil, err
	}
	out := &trial.Trial{Queries: positions, Keys: positions, Entered: "the states before the projections"}
	var sinks []float64
	if l.sinks != nil {
		if sinks, err = readAll(l.m.File, l.sinks, l.heads); err != nil {
			return nil, err
		}
	}
	rows, err := l.project(x, heads)
	if err != nil {
		return nil, err
	}
	for i, h := range heads {
		head := trial.Head{Head: h, Query: rows[i].query, Key: rows[i].key, Value: rows[i].value, Scale: l.scale, Softcap: l.softcap}
		for p, row := range head.Query {
			if t := l.temperature.At(p); t != 1 {
				for c := range row {
					row[c] *= t
				}
			}
		}
		if sinks != nil {
			head.Sink = sinks[h : h+1]
		}
		out.Heads = append(out.Heads, head)
	}
	return out, nil
}

// states are seeded normal numbers with the rows of added tables: what an embedding
// could be.
func (l *layer) states(positions, width int) ([][]float64, error) {
	flat := trial.Normal(0, []int{positions, width})
	x := make([][]float64, positions)
	row := make([]float64, width)
	for p := range x {
		x[p] = flat[p*width : (p+1)*width]
		for _, t := range l.tables {
			if t.rows.Dim() != width {
				continue
			}
			if p+t.offset >= t.rows.Len() {
				return nil, fmt.Errorf("position %d is beyond the table's %d rows", p, t.rows.Len())
			}
			if err := t.rows.Row(p+t.offset, row); err != nil {
				return nil, err
			}
			for i, v := range row {
				x[p][i] += v
			}
		}
	}
	return x, nil
}

// added is a table of rows that are added to the states; offset are those before the
// row of position 0.
type added struct {
	rows   position.Rows
	offset int
}

// tablesOf are the tables of a text model.
func tablesOf(sites []position.Site) (out []added) {
	for _, s := range sites {
		rows, ok := s.(position.Rows)
		if !ok || rows.Len() == 0 || s.Encoding().IsGrid() {
			continue
		}
		t := added{rows: rows}
		switch e := s.Encoding().Scheme.(type) {
		case schemes.Learned:
			t.offset = e.Offset
		case schemes.Sinusoid:
			t.offset = e.Offset
		}
		out = append(out, t)
	}
	return out
}

// headRows are queries, keys and values of a head.
type headRows struct{ query, key, value [][]float64 }

func (l *layer) project(x [][]float64, heads []int) ([]headRows, error) {
	if l.latent != nil {
		return l.latent.project(l, x, heads)
	}
	queries, err := l.part(l.query, x, l.queryNorm, l.heads, heads)
	if err != nil {
		return nil, err
	}
	group := l.heads / l.kvHeads
	var kv []int
	for _, h := range heads {
		if !slices.Contains(kv, h/group) {
			kv = append(kv, h/group)
		}
	}
	keys, err := l.part(l.key, x, l.keyNorm, l.kvHeads, kv)
	if err != nil {
		return nil, err
	}
	values, err := l.part(l.val, x, l.valueNorm, l.kvHeads, kv)
	if err != nil {
		return nil, err
	}
	out := make([]headRows, len(heads))
	for i, h := range heads {
		j := slices.Index(kv, h/group)
		out[i] = headRows{clone(queries[i]), keys[j], values[j]}
	}
	return out, nil
}

func clone(rows [][]float64) [][]float64 {
	out := make([][]float64, len(rows))
	for i := range rows {
		out[i] = slices.Clone(rows[i])
	}
	return out
}

// part projects states to some of so many heads, clamps and normalises them.
func (l *layer) part(p *projection, x [][]float64, n norm, of int, heads []int) ([][][]float64, error) {
	asked := heads
	whole := n.weight != nil && n.weight.Width() == int64(of*p.dim) && of > 1
	if whole { // one norm over all heads
		heads = nil
		for h := range of {
			heads = append(heads, h)
		}
	}
	out := make([][][]float64, len(heads))
	for i, h := range heads {
		w, bias, err := p.head(h)
		if err != nil {
			return nil, err
		}
		out[i] = multiplied(x, w, bias, p.dim)
		if l.clamp > 0 {
			for _, row := range out[i] {
				for c := range row {
					row[c] = math.Min(math.Max(row[c], -l.clamp), l.clamp)
				}
			}
		}
	}
	if err := l.normalise(out, heads, n, p.dim, of, whole); err != nil {
		return nil, err
	}
	if !whole {
		return out, nil
	}
	chosen := make([][][]float64, len(asked))
	for i, h := range asked {
		chosen[i] = out[h]
	}
	return chosen, nil
}

// normalise normalises each head by itself, or all of a position together.
func (l *layer) normalise(rows [][][]float64, heads []int, n norm, dim, of int, whole bool) error {
	if n.weight == nil && !n.bare {
		return nil
	}
	var w, b []float64
	var err error
	if n.weight != nil {
		elements := int(n.weight.Width()) * int(min(n.weight.Rows(), math.MaxInt32))
		perHead := n.amplitude > 0 && n.weight.Width() == 1 // one number a head
		if elements != dim && elements != of*dim && !(perHead && elements == of) || n.amplitude > 0 && !perHead {
			return fmt.Errorf("tensor %s has %d elements for %d heads of %d", n.weight.Name, elements, of, dim)
		}
		if w, err = readAll(l.m.File, n.weight, elements); err != nil {
			return err
		}
		if n.bias != nil {
			if b, err = readAll(l.m.File, n.bias, elements); err != nil {
				return err
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	for p := range rows[0] {
		if whole {
			var all []float64
			for i := range rows {
				all = append(all, rows[i][p]...)
			}
			n.apply(all, w, b)
			for i := range rows {
				copy(rows[i][p], all[i*dim:])
			}
			continue
		}
		for i, h := range heads {
			hw, hb := w, b
			if n.amplitude > 0 && w != nil {
				hw = slices.Repeat(w[h:h+1], dim)
			} else if len(w) > dim {
				hw = w[h*dim : (h+1)*dim]
				if b != nil {
					hb = b[h*dim : (h+1)*dim]
				}
			}
			n.apply(rows[i][p], hw, hb)
		}
	}
	return nil
}

// apply normalises a row in place.
func (n norm) apply(x, w, b []float64) {
	mean, square := 0.0, 0.0
	if n.centred {
		for _, v := range x {
			mean += v / float64(len(x))
		}
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(len(x))
	}
	if n.amplitude > 0 {
		square *= n.amplitude * n.amplitude
	}
	for i := range x {
		x[i] = (x[i] - mean) / math.Sqrt(square+n.epsilon)
		if w != nil {
			x[i] *= w[i]
		}
		if b != nil {
			x[i] += b[i]
		}
	}
}

// readAll reads a tensor of so many elements.
func readAll(f *gguf.File, t *gguf.Tensor, n int) ([]float64, error) {
	if n > maxRunElements || t.Width() < 1 || int64(n) != t.Width()*t.Rows() {
		return nil, fmt.Errorf("tensor %s has %d rows of %d elements, not %d in all", t.Name, t.Rows(), t.Width(), n)
	}
	out := make([]float64, n)
	return out, f.ReadRows(t, 0, t.Rows(), out)
}

// epsilonOf is the epsilon of a model's norms.
func epsilonOf(m *hparams.Model, centred bool) float64 {
	if centred {
		return m.RealOr("attention.layer_norm_epsilon", 0)
	}
	return m.RealOr("attention.layer_norm_rms_epsilon", 0)
}

// centredNorms are the architectures whose norms of queries and keys take the mean away.
var centredNorms = []string{"stablelm", "command-r", "chameleon", "mpt"}

// normOf reads the norm of queries or keys: "attn_q_norm" or "attn_k_norm".
func normOf(m *hparams.Model, prefix, name string) norm {
	centred := slices.Contains(centredNorms, m.Family())
	return norm{weight: m.File.Tensor(prefix + name + ".weight"), bias: m.File.Tensor(prefix + name + ".bias"), centred: centred, epsilon: epsilonOf(m, centred)}
}

// bareNorms are the architectures that normalise turned queries and keys without
// weights. A rotation keeps norms, so that it makes no difference when.
func bareNorm(m *hparams.Model, turned bool) norm {
	if m.Family() != "llama4" || !turned {
		return norm{}
	}
	if experts, _ := m.Count("expert_count"); experts == 128 {
		return norm{}
	}
	return norm{bare: true, epsilon: epsilonOf(m, false)}
}

// cappedScores are the architectures that cap scores, and the cap without a key.
var cappedScores = map[string]float64{"gemma2": 50, "grok": 30}

// softcapOf is the cap of scores, 0 for none.
func softcapOf(m *hparams.Model) float64 {
	cap, capped := cappedScores[m.Family()]
	if !capped {
		return 0
	}
	return m.RealOr("attn_logit_softcapping", cap)
}

// scaleOf is what query·key is multiplied with.
func scaleOf(m *hparams.Model, dim int) float64 {
	if v, ok := m.Real("attention.scale"); ok && v != 0 && ownKeys(m) < 0 && m.Family() != "grok" {
		return v
	}
	blocks, _ := m.Count(arch.KeyBlocks)
	width, _ := m.Count(arch.KeyEmbedding)
	switch {
	case m.Family() == "grok": // src/models/grok.cpp
		return m.RealOr("attention.output_scale", 0.08838834764831845)
	case m.Arch.Scheme == "t5-bias", m.Family() == "gemma3n", m.Family() == "gemma4":
		return 1
	case (m.Family() == "gemma2" && blocks == 46 || m.Family() == "gemma3" && blocks == 62) && m.Heads() > 0 && width > 0: // their 27B
		return 1 / math.Sqrt(float64(width)/float64(m.Heads()))
	case m.Family() == "bailingmoe" || m.Family() == "gpt-oss":
		if n, ok := m.Count(arch.KeyDims); ok && n > 0 {
			return 1 / math.Sqrt(float64(n))
		}
	}
	return 1 / math.Sqrt(float64(dim))
}

// magnitude is what the scale is multiplied with where an architecture puts YaRN's amplitude into
// it (llama_model_deepseek2::graph): the square of that of cos and sin, or what YaRN's would be, times 1 + 0.1·m·ln s.
func magnitude(m *hparams.Model) float64 {
	if !arch.ScalesAttention(m.Family()) {
		return 1
	}
	factor := m.RealOr(arch.KeyFactor, m.RealOr(arch.KeyScaleLinear, 1))
	kind, _ := m.Text(arch.KeyType)
	if factor <= 0 || kind == arch.TypeNone {
		factor = 1
	}
	a := m.RealOr(arch.KeyAttnFactor, 1) * (1 + 0.1*math.Log(factor))
	if kind == arch.TypeYaRN {
		a = m.RealOr(arch.KeyAttnFactor, 1) * m.YaRNAmplitude(factor)
	}
	if m.Arch.Uses(arch.KeyLogMul) {
		a *= 1 + m.RealOr(arch.KeyLogMul, 0)*math.Log(factor) // stored as 0.1·m
	}
	return a * a
}

// sees is whether a query sees a key through the window of a sliding layer; nil for one
// that sees all. Chunks and symmetric windows: facts/gguf-archs.json.
func sees(m *hparams.Model, window int) func(query, key int) bool {
	if window < 1 {
		return nil
	}
	switch chunk := m.Arch.Window.Chunk; {
	case chunk > 0:
		return func(q, k int) bool { return k >= q/chunk*chunk }
	case m.Symmetric():
		return func(q, k int) bool { return q-k <= window/2 && k-q <= window/2 }
	}
	return func(q, k int) bool { return q-k < window }
}
