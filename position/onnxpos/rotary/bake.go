package rotary

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/position/onnxpos/waves"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// Bake makes cosines and sines that the graph computes tables.
func (r *Site) Bake(positions int) error { return r.BakeAs(positions, "") }

// BakeAs is Bake with tables of another type, where the graph rounds to that at once.
func (r *Site) BakeAs(positions int, dtype string) error {
	switch {
	case r.scheme.Given:
		return refuseGiven()
	case r.scheme.Grid != nil, r.scheme.OwnFrequencies:
		return &position.Refusal{Why: "cosines and sines turn an image's patches by their rows and columns, which no table by position holds"}
	case r.factor() > 0:
		return refuseFactor()
	case r.Untold() != "":
		return &position.Refusal{Why: r.Untold(), Instead: "leave them as they are"}
	case r.scheme.Scaling.LongFrequencies != nil:
		return &position.Refusal{Why: "the graph chooses between two lists of frequencies by the length of the input: one table cannot hold both", Remedies: []report.Remedy{report.Do("rope", "first takes the choice out of the graph", "scaling", "none")}}
	}
	return waves.Bake(r.m, r.trig, positions, dtype)
}

// refuseGiven is the answer where nothing in the file can be changed.
func refuseGiven() error {
	return &position.Refusal{Why: "the caller gives cosines and sines: the file has none", Instead: "give the model those of the wanted places and frequencies"}
}

// refuseFactor is the answer where a factor stands behind the products with cosines and sines: it is told as a part of those that the graph
// computes, and of tables as none.
func refuseFactor() error {
	return &position.Refusal{Why: "queries and keys are multiplied with one more number behind their cosines and sines", Instead: "export the model with the factor in its cosines and sines"}
}

// Unbake makes the graph compute cosines and sines that it has in caches.
func (r *Site) Unbake() (schemes.Scheme, error) {
	if r.scheme.Grid != nil || r.scheme.Scaling.IsCustom() || r.scheme.Scaling.LongFrequencies != nil {
		return nil, &position.Refusal{Why: fmt.Sprintf("no one formula gives the cache of cosines and sines in %q", r.m.TensorName(r.caches[0].Cos.Tensor)), Instead: "leave the cache in place"}
	}
	if r.factor() > 0 {
		return nil, refuseFactor()
	}
	var uses []trace.Source
	for _, u := range r.uses {
		if u.fused && eval.Is(u.node, eval.Attention) {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s takes its cosines and sines from caches: there is no form of it that computes them", u.node.Title()), Instead: "leave the caches in place"}
		}
		if u.fused && u.position != "" {
			return nil, &position.Refusal{Why: fmt.Sprintf("%s looks its cosines and sines up itself, by position", u.node.Title()), Instead: "take it apart first: rope --to-ops plain"}
		}
		uses = append(append(uses, trace.Sources(u.scope, u.cos)...), trace.Sources(u.scope, u.sin)...)
	}
	var tables []waves.Table
	for _, c := range r.caches {
		if !c.Fitted || c.Unread() > 0 {
			return nil, &position.Refusal{Why: fmt.Sprintf("no formula explains the cache of cosines and sines in %q", r.m.TensorName(c.Cos.Tensor)), Instead: "leave the cache in place"}
		}
		for _, sine := range []bool{false, true} {
			t := c.Cos
			if sine {
				t = c.Sin
			}
			if slices.ContainsFunc(tables, func(o waves.Table) bool { return o.Tensor == t.Tensor }) {
				continue
			}
			columns, err := columnsOfCache(c, t, sine, r.scheme.InverseFrequencies(), r.currentAmplitude())
			if err != nil {
				return nil, err
			}
			tables = append(tables, waves.Table{Table: t, Columns: columns})
		}
	}
	return r.scheme, waves.Unbake(r.m, uses, tables)
}

// columnsOfCache is what the columns of one of a cache's two tables hold.
func columnsOfCache(c *rows.Cache, t rows.Table, sine bool, frequencies []float64, amplitude float64) ([]waves.Column, error) {
	n := len(frequencies)
	cos, sin, dst := make([]float64, n), make([]float64, n), make([]float64, t.Dim())
	for i := range n { // a number for each pair, of another sign for sines
		cos[i], sin[i] = float64(i+1), -float64(i+1)
	}
	if t.Dim() != n && t.Dim() != 2*n {
		return nil, &position.Refusal{Why: fmt.Sprintf("a table of %d columns for %d frequencies", t.Dim(), n), Instead: "leave the cache in place"}
	}
	c.Spread(cos, sin, sine, dst)
	out := make([]waves.Column, len(dst))
	for i, x := range dst {
		k := waves.Column{Cosine: x > 0, Amplitude: amplitude}
		if !k.Cosine {
			x = -x
		}
		if k.Frequency = frequencies[int(x)-1]; !k.Cosine && c.Negated(i, len(dst)) {
			k.Amplitude = -amplitude
		}
		out[i] = k
	}
	return out, nil
}
