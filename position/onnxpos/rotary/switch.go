package rotary

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

// storeSwitch stores frequencies in a graph that chooses between two lists by the
// length of the input, as LongRoPE does: the two lists of another LongRoPE, or one
// list twice, which chooses nothing.
func (r *Site) storeSwitch(scheme schemes.Rotary) error {
	was := r.scheme.Scaling
	short, long := scheme.InverseFrequencies(), scheme.InverseFrequencies()
	if scheme.Scaling.ByLength() {
		if scheme.Base != r.scheme.Base && slices.Equal(scheme.Scaling.LongFactor, was.LongFactor) {
			return &position.Refusal{Why: "the graph switches between a short and a long list of frequencies, which hold base and factors in one",
				Remedies: []report.Remedy{report.Do("", "replaces both lists", "base", "B", "scaling", schemes.ScalingLongRoPE, "factors", "FILE")}}
		}
		if scheme.Scaling.OriginalLength != was.OriginalLength {
			return &position.Refusal{Why: fmt.Sprintf("the graph switches its frequencies after %d positions, not after %d", was.OriginalLength, scheme.Scaling.OriginalLength),
				Instead: "keep the original length, or export the model again"}
		}
		long = scheme.InverseFrequenciesAt(was.OriginalLength + 1)
	}
	done := map[*onnx.Tensor]bool{}
	for _, t := range r.trig {
		n, s := trace.Upstream(t.Scope, t.Trig.Input(0), "Where")
		if n == nil {
			return &position.Refusal{Why: fmt.Sprintf("which of the two lists of frequencies %s takes is chosen by no Where", t.Trig.Title()), Instead: "export the model again with the wanted scaling"}
		}
		tensors, lists := listsOf(s, n, len(short))
		if len(tensors) != 2 {
			return &position.Refusal{Why: "no constants of the graph hold the two lists of frequencies", Instead: "export the model again with the wanted scaling"}
		}
		for i, c := range tensors {
			values := long
			if maxOff(lists[i], was.Frequencies) < maxOff(lists[i], was.LongFrequencies) {
				values = short
			}
			if done[c] {
				continue
			}
			done[c] = true
			if err := r.m.ReplaceFloats(c, c.Dims, values, "frequencies of "+scheme.String()); err != nil {
				return err
			}
		}
	}
	return r.setAmplitude(scheme.Amplitude())
}

// product is a node that multiplies positions with frequencies.
type product struct {
	scope     *eval.Scope
	node      *onnx.Node
	list      *onnx.Tensor // the frequencies, read there as they are
	at        int          // as which input
	positions string       // the other input
}

// addSwitch makes a graph choose between two lists of frequencies: where the greatest
// position of an input is beyond the original length, all positions turn by the long
// list (transformers, _longrope_frequency_update).
func (r *Site) addSwitch(scheme schemes.Rotary) error {
	scaling := scheme.Scaling
	old, _ := r.frequencies(r.uses[0])
	short, long := scheme.InverseFrequenciesAt(scaling.OriginalLength), scheme.InverseFrequenciesAt(scaling.OriginalLength+1)
	products, ok := r.products(old)
	if len(old) != len(short) || !ok {
		return &position.Refusal{Why: "the graph has no one place where positions are multiplied with a list of frequencies: LongRoPE's choice between two cannot be put there",
			Instead: "export the model again with the wanted scaling"}
	}
	why := "frequencies of " + scheme.String()
	e := r.m.Editor
	for _, p := range products {
		list := p.list
		values := func(f []float64) ([]byte, error) {
			out := make([]float64, list.Len())
			for i := range out {
				out[i] = f[frequencyAt(list, old, i)]
			}
			return onnx.EncodeFloats(list.Type, out, nil)
		}
		a, err := values(short)
		if err != nil {
			return err
		}
		b, err := values(long)
		if err != nil {
			return err
		}
		// Positions that are numbers of float32 are exact up to 2^24.
		original, err := onnx.EncodeFloats(list.Type, []float64{float64(scaling.OriginalLength)}, nil)
		if err != nil {
			return err
		}
		one, err := onnx.EncodeFloats(list.Type, []float64{1}, nil)
		if err != nil {
			return err
		}
		g := p.node.Graph.Outermost()
		shortName := e.AddInitializer(g, "modelpatch/short_frequencies", list.Type, list.Dims, a, why)
		longName := e.AddInitializer(g, "modelpatch/long_frequencies", list.Type, list.Dims, b, why)
		originalName := e.AddInitializer(g, "modelpatch/original_length", list.Type, nil, original, why)
		oneName := e.AddInitializer(g, "modelpatch/one", list.Type, nil, one, why)
		greatest, length := e.FreshName("modelpatch/greatest_position"), e.FreshName("modelpatch/length")
		beyond, chosen := e.FreshName("modelpatch/beyond_original"), e.FreshName("modelpatch/frequencies")
		e.InsertNodes(p.node, []onnx.NewNode{
			{Op: "ReduceMax", Inputs: []string{p.positions}, Outputs: []string{greatest}, Attributes: []onnx.NewAttribute{{Name: "keepdims", Value: int64(0)}}},
			{Op: "Add", Inputs: []string{greatest, oneName}, Outputs: []string{length}},
			{Op: "Greater", Inputs: []string{length, originalName}, Outputs: []string{beyond}},
			{Op: "Where", Inputs: []string{beyond, longName, shortName}, Outputs: []string{chosen}},
		}, why)
		e.RenameInput(p.node, p.at, chosen, why)
	}
	return r.setAmplitude(scheme.Amplitude())
}

// products are the nodes that multiply positions with the list of frequencies, one for
// each Cos and Sin node; false where there are none, or others as well.
func (r *Site) products(f []float64) ([]product, bool) {
	tensors := r.frequencyTensors(f)
	var out []product
	for _, t := range r.trig {
		p, ok := productBehind(t.Scope, t.Trig.Input(0), tensors)
		if !ok {
			return nil, false
		}
		if !slices.ContainsFunc(out, func(o product) bool { return o.node == p.node }) {
			out = append(out, p)
		}
	}
	return out, len(out) > 0
}

// maxBehind bounds the nodes between a product and its Cos or Sin.
const maxBehind = 16

// productBehind goes back from the argument of Cos or Sin over nodes that move or
// repeat elements to the one that multiplies with a list.
func productBehind(s *eval.Scope, name string, lists []*onnx.Tensor) (product, bool) {
	for range maxBehind {
		n, at := s.Find(name)
		if n == nil || at != s {
			return product{}, false
		}
		if n.Op == "Mul" || n.Op == "MatMul" {
			for i := range 2 {
				if c := s.Tensor(n.Input(i)); c != nil && slices.Contains(lists, c) && c.Type == onnx.Float {
					return product{s, n, c, i, n.Input(1 - i)}, true
				}
			}
			return product{}, false
		}
		if eval.Is(n, eval.Joining) { // the list doubled
			for _, in := range n.Inputs {
				if in != n.Input(0) {
					return product{}, false
				}
			}
		} else if !eval.Is(n, eval.Layout|eval.Repetition) {
			return product{}, false
		}
		name = n.Input(0)
	}
	return product{}, false
}
