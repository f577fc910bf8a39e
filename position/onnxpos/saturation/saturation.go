// Package saturation finds where numbers that grow with the length of a text are cut off as they are quantised.
package saturation

import (
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// End is a node that quantises numbers which grow with the length and not with content, and where they reach its end.
type End struct {
	Node   *onnx.Node
	Step   float64 // between the numbers that it tells apart
	Most   float64 // the number at which it ends
	Length int     // how many positions are told apart
	Scaled bool    // they are not the positions themselves, but some multiple of them
}

// hidden is a masked score at the most: what hides a place does so when it is cut off, too.
const hidden = -100

// Cut is a node that cuts numbers off, and at what.
type Cut struct {
	Node *onnx.Node
	End  float64
}

// CutOff are the nodes of the main graph that cut known numbers off by more than they round.
func CutOff(e *eval.Evaluator) (out []Cut) {
	for _, n := range e.Main.Graph.Nodes {
		least, most, step, ok := e.Main.Reach(n)
		v := e.Main.Input(n, 0)
		if !ok || v.Floats == nil || v.Data || v.IsMask(hidden) {
			continue
		}
		e.Budget.Spend(v.Len() / 8)
		switch {
		case slices.ContainsFunc(v.Floats, func(x float64) bool { return x > most+step }):
			out = append(out, Cut{n, most})
		case slices.ContainsFunc(v.Floats, func(x float64) bool { return x < least-step }):
			out = append(out, Cut{n, least})
		}
	}
	return out
}

// Bounds of the lengths at which saturations are looked for, and of their number: each is an evaluation.
const (
	maxSaturation  = 1 << 12
	maxSaturations = 8
)

// Ends finds nodes that quantise positions, or what is proportional to them, in the main graph of a text of any length.
func Ends(p *probe.Probe) (out []End) {
	if p.TokenInput() == nil || p.FixedLength() > 0 || p.CallsOf(p.Eval) != nil || !slices.ContainsFunc(p.File.Graph.Nodes, func(n *onnx.Node) bool { return n.Op == "QuantizeLinear" }) {
		return nil
	}
	length, tried := p.Sizes.Length, map[int]bool{}
	e := p.At(length + 1)
	for _, n := range p.File.Graph.Nodes {
		_, most, step, ok := p.Eval.Main.Reach(n)
		first, second := p.Eval.Main.Input(n, 0), e.Main.Input(n, 0)
		if !ok || len(first.Floats) == 0 || len(second.Floats) <= len(first.Floats) || first.Data {
			continue
		}
		at, slope := slices.Max(first.Floats), slices.Max(second.Floats)-slices.Max(first.Floats)
		if slope <= 0 || at > most {
			continue
		}
		ends := length + int(math.Floor((most+step/2-at)/slope))
		if ends < length || ends > maxSaturation || len(tried) == maxSaturations && !tried[ends] {
			continue
		}
		tried[ends] = true
		after := p.At(ends+1).Main.Input(n, 0)
		if after.Floats != nil && math.Abs(slices.Max(after.Floats)-(at+slope*float64(ends+1-length))) < step { // else they do not grow as positions do
			out = append(out, End{n, step, most, ends, slices.ContainsFunc(first.Floats, func(x float64) bool { return x != math.Round(x) })})
		}
	}
	return out
}

// Counted is how many positions the angles of sines and cosines tell apart, of a text of any length: those from there on are told as the last one
// (clamps), or as others (wrong numbers: a remainder). It is 0 where angles grow on as far as is looked.
func Counted(p *probe.Probe, isOf func(*onnx.Node) bool) (positions int, clamps bool) {
	if p.TokenInput() == nil || p.FixedLength() > 0 || p.CallsOf(p.Eval) != nil || len(p.Eval.Scopes()) > 1 {
		return 0, false
	}
	for _, n := range p.File.Graph.Nodes {
		if n.Op != "Sin" && n.Op != "Cos" || !isOf(n) {
			continue
		}
		if at, stays := ends(p.At(maxSaturation).Main.Input(n, 0)); at > 0 && (positions == 0 || at < positions) {
			positions, clamps = at, stays
		}
	}
	return positions, clamps
}

// ends is the first place at which angles do not go on as from the first place to the second, and whether all behind it are the one before; 0 where
// they do. The first of the numbers of each place speaks for all. Rounding moves an angle by less than a step.
func ends(v *eval.Value) (at int, stays bool) {
	axis := slices.Index(v.Shape, maxSaturation)
	if axis < 0 || !v.Known() || v.Floats == nil {
		return 0, false
	}
	stride := onnx.Size(v.Shape[axis+1:])
	angle := func(r int) float64 { return v.Number(r * stride) }
	step := angle(1) - angle(0)
	off := func(r int) float64 { return math.Abs(angle(r)-angle(0)-float64(r)*step) / math.Abs(step) }
	beyond := 0
	for beyond < maxSaturation && !(off(beyond) > mostRounded) {
		beyond++
	}
	if step == 0 || beyond == maxSaturation {
		return 0, false
	}
	for at = beyond; at > 1 && off(at-1) > 0.5; {
		at--
	}
	for r := at; r < maxSaturation; r++ {
		if angle(r) != angle(at-1) {
			return at, false
		}
	}
	return at, true
}

// mostRounded is by how many steps the place of a text may be off, in 16 bits, as far as is looked.
const mostRounded = 1.5
