package trace

import (
	"cmp"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// onTheWay are what a positional convolution's output may go through before
// it is added: activations, norms, further convolutions over the sequence.
const onTheWay = eval.ByElement | eval.Quantized | eval.Selection | eval.Average | eval.Normalization

// maxOnTheWay bounds that way: five convolutions, each with a norm and an
// activation in single operators, all of them quantised and back (data2vec).
const maxOnTheWay = 240

// pooled reports whether a value is another one, averaged over neighbours as a convolution with strides has it (SEW).
func pooled(s *eval.Scope, name, of string) bool {
	averaged := false
	for range 20 {
		n, at := s.Find(name)
		if averaged && LaidOut(s, name) == of {
			return true
		}
		if n == nil || at != s || !eval.Is(n, eval.Layout|eval.Elements|eval.Pooling|eval.Padding|eval.Selection) {
			return false
		}
		averaged = averaged || eval.Is(n, eval.Pooling)
		name = n.Input(0)
	}
	return false
}

// maxLayouts bounds how often a value is laid out anew one after another.
const maxLayouts = 16

// LaidOut is the value that another one is in an order and shape of its own.
func LaidOut(s *eval.Scope, name string) string {
	for range maxLayouts {
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Layout) {
			break
		}
		name = n.Input(0)
	}
	return name
}

// attended reports whether a value is what places saw of another one by their scores, alone or added to the state.
func attended(s *eval.Scope, name, of string) bool {
	n, at := s.Find(LaidOut(s, name))
	if n != nil && at == s && eval.Is(n, eval.Addition) {
		return slices.ContainsFunc(n.Inputs, func(in string) bool {
			n, at := s.Find(LaidOut(s, in))
			return n != nil && at == s && !eval.Is(n, eval.Addition) && attended(s, in, of)
		})
	}
	return n != nil && at == s && eval.Is(n, eval.Product|eval.Attention) && slices.ContainsFunc(n.Inputs, func(in string) bool { return in != "" && LaidOut(s, in) == of })
}

// summand is what a convolution adds itself (com.microsoft.FusedConv); "" where it adds nothing.
func summand(n *onnx.Node) string {
	if row := eval.Lookup(n.Domain, n.Op); row != nil && row.In(eval.Convolution) && row.Bias > 0 {
		return n.Input(row.Bias)
	}
	return ""
}

// maxAhead bounds what stands between a convolution and what it reads: zeros by a node of their own, as tf2onnx has them, and a scale for each
// channel (HuBERT's conv_pos_batch_norm).
const maxAhead = 2

// masks is the value of which a node leaves out what padding has, by zeros and ones or a choice; "" of others.
func masks(s *eval.Scope, n *onnx.Node) string {
	if !eval.Is(n, eval.Choice) && n.Op != "Mul" {
		return ""
	}
	state, others := "", 0
	for _, in := range n.Inputs {
		if v := s.Value(in); v.Known() && v.IsMask(0) {
			others++
		} else {
			state = in
		}
	}
	if others != len(n.Inputs)-1 {
		return ""
	}
	return state
}

// Residual follows a convolution's output to an Add of what the convolution
// read, or of what attention made of it; nil where there is none.
func Residual(s *eval.Scope, n *onnx.Node) *onnx.Node {
	reads := []string{LaidOut(s, n.Input(0))}
	for range maxAhead {
		ahead, at := s.Find(reads[0])
		if ahead == nil || at != s {
			break
		}
		masked := masks(s, ahead)
		if masked == "" && !eval.Is(ahead, eval.Padding|eval.ByChannel) {
			break
		}
		reads = slices.Insert(reads, 0, LaidOut(s, cmp.Or(masked, ahead.Input(0))))
	}
	line := len(s.Value(n.Output(0)).Shape) == 3
	isRead := func(in string) bool {
		return slices.ContainsFunc(reads, func(read string) bool {
			return LaidOut(s, in) == read || line && pooled(s, in, read) || attended(s, in, read)
		})
	}
	if isRead(summand(n)) {
		return n
	}
	seen := map[string]bool{}
	var walk func(name string, depth int) *onnx.Node
	walk = func(name string, depth int) *onnx.Node {
		if depth > maxOnTheWay || len(seen) > MaxValues || seen[name] {
			return nil
		}
		seen[name] = true
		for _, c := range s.Consumers(name) {
			switch {
			case c.Op == "Add" || eval.Is(c, eval.Addition&(eval.Normalization|eval.Quantized)):
				if slices.ContainsFunc(c.Inputs, func(in string) bool { return in != name && isRead(in) }) {
					return c
				}
				if eval.Is(c, eval.Normalization) {
					continue
				}
			case summand(c) != "":
				if in := summand(c); in != name && isRead(in) {
					return c
				}
			case c.IsConvolution() && c.Int("group", 1) > 1:
			case !eval.Is(c, eval.Layout|onTheWay) && masks(s, c) == "":
				continue
			}
			if found := walk(c.Output(0), depth+1); found != nil {
				return found
			}
		}
		return nil
	}
	return walk(n.Output(0), 0)
}
