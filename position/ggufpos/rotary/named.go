package rotary

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/site"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Names of stored frequencies of RoPE: the buffer of transformers' LlamaRotaryEmbedding and its like (rotary_emb.inv_freq), and
// Llama's own rope.freqs. Transformer-XL's pos_emb.inv_freq is of sinusoids. The layer stands before.
var (
	frequencyList = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[._/])(rot|rope)[a-z_]*[._/](inv_freqs?|freqs)$`)
	})
	layerNumber = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(^|[._/])(layers?|blocks?|blk|h)[._/]([0-9]+)[._/]`)
	})
)

// Bounds of what is read of them: more frequencies than any head has, and more lists than any model has kinds of layers.
const (
	maxFrequencies = hparams.MaxDims >> 4
	maxLists       = 8
)

// frequencies are those of RoPE that a program stored, and the layers that have them.
type frequencies struct {
	values []float64
	of     []*gguf.Tensor
}

// Named are the rotations of a file of a program that is not llama.cpp whose frequencies are in it (inv_freq of
// transformers' modeling_rope_utils.py), one a list of numbers: layers that turn alike have copies.
func Named(m *hparams.Model) (sites []position.Site) {
	var lists []*frequencies
	for _, p := range m.File.Parts {
		for i := range p.Tensors {
			t := &p.Tensors[i]
			if t.Rows() != 1 || t.Width() < 2 || t.Width() > maxFrequencies || !t.Readable() || !frequencyList().MatchString(t.Name) {
				continue
			}
			values := make([]float64, t.Width())
			if m.File.ReadRows(t, 0, 1, values) != nil {
				continue
			}
			same := slices.IndexFunc(lists, func(l *frequencies) bool { return slices.Equal(l.values, values) })
			if same < 0 && len(lists) == maxLists {
				return nil
			}
			if same < 0 {
				same, lists = len(lists), append(lists, &frequencies{values: values})
			}
			lists[same].of = append(lists[same].of, t)
		}
	}
	for _, l := range lists { // of one, nothing says that other layers do not turn
		if e, ok := turning(m, l); ok {
			if len(lists) > 1 {
				e.Layers = layersIn(l.of)
			}
			sites = append(sites, site.NewPlain(e))
		}
	}
	return sites
}

// turning is the rotation by a list of frequencies; false where they are none.
func turning(m *hparams.Model, l *frequencies) (position.Encoding, bool) {
	found := fit.Rounded(l.values, fit.Float32, fit.Options{})
	if !found.OK {
		return position.Encoding{}, false
	}
	e := position.Encoding{Scheme: found.Rotary, Form: report.FormRuntime, Beyond: report.BeyondUnknown, Dtype: l.of[0].Type.Dtype(), Evidence: []report.Evidence{
		{Kind: "structure", Says: "by their name: no architecture that is known here says how the program turns by these frequencies"},
		{Kind: "fit", Says: fmt.Sprintf("frequencies are %s: %s", found.Rotary, found.Why), Residual: report.Pointer(report.Number(found.Residual))},
	}}
	for _, also := range found.Also {
		e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: also.String() + " fits as well"})
	}
	for _, t := range l.of {
		e.Where = append(e.Where, m.WhereTensor(t))
	}
	return e, true
}

// layersIn are the layers in whose names tensors lie, ascending; nil where a name has none.
func layersIn(tensors []*gguf.Tensor) (layers []int) {
	for _, t := range tensors {
		number := layerNumber().FindStringSubmatch(t.Name)
		if number == nil {
			return nil
		}
		n, err := strconv.Atoi(number[3])
		if err != nil || n >= hparams.MaxLayers {
			return nil
		}
		layers = append(layers, n)
	}
	slices.Sort(layers)
	return slices.Compact(layers)
}
