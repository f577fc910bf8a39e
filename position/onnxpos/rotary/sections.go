package rotary

import (
	"cmp"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes"
)

// sections finds which pairs of a multi-axis rotation (M-RoPE) follow which of
// the three rows of positions: each row in turn is disturbed, and the columns
// of the cosines that change are its own. Text tokens have equal positions on
// all rows, so values alone do not show it (facts/NUMERICS §5).
func (r *Site) sections() (counts []int, interleaved bool) {
	u := r.uses[0]
	if u.scope != r.m.Eval.Main {
		return nil, false
	}
	name := r.threeRows(u.scope, u.cos)
	if name == "" {
		return nil, false
	}
	plain := u.scope.Value(u.cos)
	columns := r.scheme.Pairs()
	owner := make([]int, columns)
	for row := 1; row < 3; row++ {
		e := r.m.Evaluator(probe.Inputs(r.m.File, r.m.Sizes))
		e.Override = map[string]*eval.Value{name: disturbed(u.scope.Value(name), row)}
		v := e.Main.Value(u.cos)
		if !v.Known() || v.Len() != plain.Len() || len(v.Shape) == 0 {
			return nil, false
		}
		width := trace.Columns(v, max(trace.PositionAxis(v), 0))
		if width < columns {
			return nil, false
		}
		for i := range v.Floats {
			pair := i % width % columns
			if u.layout == schemes.LayoutInterleaved && !u.packed {
				pair = i % width / 2
			}
			if pair < columns && v.Floats[i] != plain.Floats[i] {
				owner[pair] = row
			}
		}
	}
	counts = make([]int, 3)
	for c, o := range owner {
		counts[o]++
		interleaved = interleaved || c > 0 && owner[c] < owner[c-1]
	}
	if counts[1] == 0 && counts[2] == 0 {
		return nil, false
	}
	return counts, interleaved
}

// partsOfHead is how many parts of each head turn in one way, each by a position of its own (the row and the column of a patch, as inputs say
// them), and are put beside each other again.
func (r *Site) partsOfHead() int {
	u := r.uses[0]
	for _, join := range u.scope.Consumers(u.node.Output(0)) {
		var by []string
		for _, o := range r.uses {
			if join.Op == "Concat" && o.scope == u.scope && slices.Contains(join.Inputs, o.node.Output(0)) && !slices.Contains(by, o.cos) {
				by = append(by, o.cos)
			}
		}
		if len(by) > 1 && len(by)*r.scheme.Dim <= r.headDim() {
			return len(by)
		}
	}
	return 1
}

// ownSections are those that a fused operator says itself (MRotaryEmbedding); nil where it says none, or
// others than pairs are there.
func ownSections(u *rotation) (out []int) {
	axis := trace.PositionAxis(u.cosValue)
	if !u.fused || axis < 0 {
		return nil
	}
	total := int64(0)
	for _, n := range u.node.Ints("mrope_section") {
		if n < 0 || n > math.MaxInt32 {
			return nil
		}
		total += n
		out = append(out, int(n))
	}
	if total != int64(u.cosValue.Shape[len(u.cosValue.Shape)-1]) {
		return nil
	}
	return out
}

// threeRows finds, behind a value, the earliest one that has three equal rows of
// positions times frequencies; else of positions, which may be multiplied with frequencies
// of their row alone.
func (r *Site) threeRows(s *eval.Scope, name string) string {
	found, positions := "", ""
	seen := map[string]bool{}
	queue := []string{name}
	for i := 0; i < len(queue) && i < trace.MaxSteps; i++ {
		if seen[queue[i]] || queue[i] == "" {
			continue
		}
		seen[queue[i]] = true
		n, at := s.Find(queue[i])
		if n == nil || at != s {
			continue
		}
		v := s.Value(queue[i])
		k := len(v.Shape)
		if v.Known() && v.Floats != nil && v.Constant() == nil && k >= 3 && v.Shape[0] == 3 && !v.Varies(0) {
			switch {
			case v.Shape[k-1] > 1 && v.Varies(k-1) && trace.PositionAxis(v) > 0:
				found = queue[i]
			case slices.Contains(v.Shape[1:], r.m.Sizes.Length):
				positions = queue[i]
			}
		}
		queue = append(queue, trace.DataInputs(n)...)
	}
	return cmp.Or(found, positions)
}

// disturbed is a value whose first axis was changed at one place, by so much that the cosines of
// slow pairs change, and no number of 16 bits overflows.
func disturbed(v *eval.Value, row int) *eval.Value {
	out := *v
	out.Floats = slices.Clone(v.Floats)
	part := len(out.Floats) / v.Shape[0]
	for i := row * part; i < (row+1)*part; i++ {
		out.Floats[i] = out.Floats[i]*1.37 + 20000.11
	}
	return &out
}
