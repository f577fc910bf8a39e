// Package ranks gives inputs that declare no shape the rank at which a graph runs. ONNX lets an input
// have none (onnx.proto, TypeProto.Tensor: "shape"), and ONNX Runtime then takes what it is fed; tools
// that strip shapes leave such files.
package ranks

import (
	"cmp"
	"math"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/probe"
)

// Bounds of the search: a graph is evaluated for each rank that is tried of each kind of input.
const (
	maxInputs = 1 << 10
	maxTrials = 16
	maxRank   = 8
)

// usual are the ranks that are tried where no node tells one, of whole numbers (tokens, one text, codebooks) and of others
// (states of a sequence, heads or pictures, rows, one row).
var usual = [2][]int{{2, 1, 3}, {3, 4, 2, 1}}

// kind are inputs that one answer is tried for: of one type, and taken by one kind of node.
type kind struct {
	dtype  onnx.DataType
	reader string
}

// Assume gives the inputs of a graph that have no shape one, with free axes but where weights tell a size, such that the graph runs; it
// leaves all as they are where none of those that are tried does. What is assumed is not written: these are no declarations. It returns the
// inputs that have a rank now.
func Assume(f *onnx.File, budget *eval.Budget) (given []Given) {
	var without []*onnx.ValueInfo
	for _, in := range f.Graph.Inputs {
		if !in.Ranked && (in.Type.IsFloat() || in.Type.IsInteger()) && f.Graph.Initializer(in.Name) == nil {
			without = append(without, in)
		}
	}
	if len(without) == 0 || len(without) > maxInputs {
		return nil
	}
	for _, in := range without {
		declare(f.Graph, in, ranksOf(in)[0])
	}
	settled := joined(f, without, budget)
	var kinds []kind
	of := map[kind][]*onnx.ValueInfo{}
	for _, in := range without {
		if settled[in] {
			continue
		}
		k := kindOf(f.Graph, in)
		if of[k] == nil {
			kinds = append(kinds, k)
		}
		of[k] = append(of[k], in)
	}
	furthest := reach(f, budget)
	for tried, i := 0, 0; furthest < math.MaxInt64 && i < len(kinds); i++ {
		best := 0
		for r, rank := range ranksOf(of[kinds[i]][0]) {
			if r == 0 || tried == maxTrials {
				continue
			}
			tried++
			for _, in := range of[kinds[i]] {
				declare(f.Graph, in, rank)
			}
			if at := reach(f, budget); at > furthest {
				furthest, best = at, r
			}
		}
		for _, in := range of[kinds[i]] {
			declare(f.Graph, in, ranksOf(in)[best])
		}
	}
	for _, in := range without {
		if furthest < math.MaxInt64 {
			in.Ranked, in.Dims = false, nil
			continue
		}
		rank := len(in.Dims)
		given = append(given, Given{Input: in, Told: settled[in] || told(f.Graph, in) == rank})
	}
	return given
}

// Given is an input that declares no shape, with the axes that it was given.
type Given struct {
	Input *onnx.ValueInfo
	Told  bool // a node tells how many axes it has, else that the graph runs is all that is known
}

// told is the rank that the nodes which take an input tell; 0 where none does.
func told(g *onnx.Graph, in *onnx.ValueInfo) int {
	rank, _ := read(g, in)
	return rank
}

// joined gives inputs that are put ahead of what the graph computes, as keys and values of earlier tokens are, the sizes of that. It returns the
// inputs that have them now.
func joined(f *onnx.File, without []*onnx.ValueInfo, budget *eval.Budget) map[*onnx.ValueInfo]bool {
	joins, w := map[*onnx.ValueInfo]*onnx.Node{}, f.Graph.Wiring()
	for _, in := range without {
		at, used := w.Number(in.Name)
		if !used {
			continue
		}
		for _, n := range w.Readers(at) {
			if first, _ := w.Input(n, 0); in.Type.IsFloat() && n.Op == "Concat" && first == at && len(n.Inputs) == 2 && constant(w, n, 1) == nil {
				joins[in] = n
				declare(f.Graph, in, cacheRank)
			}
		}
	}
	settled := map[*onnx.ValueInfo]bool{}
	for again, i := len(joins) > 0, 0; again && len(settled) < len(joins) && i < maxTrials; i++ {
		p := probe.New(f, budget)
		p.Run()
		again = false
		for _, in := range without {
			n := joins[in]
			if n == nil || settled[in] {
				continue
			}
			own := p.Eval.Main.Input(n, 1)
			axis := n.Axis(0, len(own.Shape))
			if !own.Ranked || len(own.Shape) > cacheRank || axis < 1 || axis >= len(own.Shape) {
				continue
			}
			again, settled[in] = true, true
			for _, other := range without { // of the layers behind it the shapes show when they are right here
				if m := joins[other]; m != nil && !settled[other] && m.Axis(0, cacheRank) == axis || other == in {
					aheadOf(other, own.Shape, axis)
				}
			}
		}
	}
	for _, in := range without {
		if joins[in] != nil && !settled[in] {
			declare(f.Graph, in, ranksOf(in)[0])
		}
	}
	return settled
}

// cacheRank is the rank of keys and values, by sequences, heads, tokens and columns.
const cacheRank = 4

// aheadOf declares an input that is put ahead of a value along an axis.
func aheadOf(in *onnx.ValueInfo, shape []int, axis int) {
	in.Dims = make([]onnx.Dim, len(shape))
	for i, n := range shape {
		in.Dims[i].Value = int64(n)
		if i < 1 || i == axis || len(shape) < cacheRank && i < len(shape)-1 {
			in.Dims[i].Value = -1
		}
	}
}

// kindOf is the kind of an input, by the first node that takes it.
func kindOf(g *onnx.Graph, in *onnx.ValueInfo) kind {
	k := kind{dtype: in.Type}
	if n := reader(g, in); n != nil {
		k.reader = n.Op
	}
	return k
}

func reader(g *onnx.Graph, in *onnx.ValueInfo) *onnx.Node {
	w := g.Wiring()
	if at, ok := w.Number(in.Name); ok && len(w.Readers(at)) > 0 {
		return w.Readers(at)[0]
	}
	return nil
}

func ranksOf(in *onnx.ValueInfo) []int {
	if in.Type.IsFloat() {
		return usual[1]
	}
	return usual[0]
}

// declare gives an input free axes, of a rank unless a node that takes it tells another, and the sizes that weights tell.
func declare(g *onnx.Graph, in *onnx.ValueInfo, rank int) {
	told, sizes := read(g, in)
	rank = cmp.Or(told, rank)
	in.Ranked, in.Dims = true, make([]onnx.Dim, rank)
	for i := range in.Dims {
		in.Dims[i].Value = -1
		if n := max(sizes[i], sizes[i-rank]); n > 0 {
			in.Dims[i].Value = n
		}
	}
}

// read is what nodes that take an input tell of its shape: how many axes, 0 where that is not told, and the sizes of some, counted from the end
// where below zero.
func read(g *onnx.Graph, in *onnx.ValueInfo) (rank int, sizes map[int]int64) {
	w := g.Wiring()
	sizes = map[int]int64{}
	var order []int // which axis of the input each axis is, where they were exchanged
	at, used := w.Number(in.Name)
	if !used {
		return 0, sizes
	}
	queue := []int{at}
	for i := 0; i < len(queue) && i < maxFollowed; i++ {
		for _, n := range w.Readers(queue[i]) {
			first, _ := w.Input(n, 0)
			out, ok := w.Output(n, 0)
			weights, size, axis := constant(w, n, 1), 0, -1
			switch perm := n.Ints("perm"); {
			case first != queue[i] || !ok:
				continue
			case n.Op == "Transpose" && perm != nil && len(perm) <= maxRank && order == nil && len(queue) == 1:
				rank, queue = len(perm), append(queue, out)
				for _, p := range perm {
					order = append(order, int(min(max(p, 0), int64(rank-1))))
				}
				continue
			case n.IsConvolution() && n.Filter() == 1 && len(weights) > 2 && len(weights) <= maxRank && (order == nil || len(order) == len(weights)):
				rank = len(weights)
				size = n.FilterShape(weights)[1] * int(n.Int("group", 1))
				if !n.ChannelsLast() {
					axis = 1
				}
			case eval.Is(n, 1<<eval.AxesProduct) && len(weights) == 2, eval.Is(n, eval.Normalization) && len(weights) == 1:
				size = weights[0]
			case n.Op == "Cast" || n.Op == "Identity" || eval.Is(n, eval.Padding):
				queue = append(queue, out)
				continue
			default:
				continue
			}
			if order != nil && i > 0 {
				axis = order[(axis+len(order))%len(order)]
			}
			sizes[axis] = int64(size)
		}
	}
	return rank, sizes
}

// maxFollowed bounds the values that an input is followed to.
const maxFollowed = 8

// constant are the dimensions of a constant input of a node; nil where it is none.
func constant(w *onnx.Wiring, n *onnx.Node, i int) []int {
	at, ok := w.Input(n, i)
	if !ok || w.Constant(at) == nil {
		return nil
	}
	var out []int
	for _, d := range w.Constant(at).Dims {
		out = append(out, int(min(d, math.MaxInt32)))
	}
	return out
}

// reach is where the first node stands that fails; beyond all of them where none does.
func reach(f *onnx.File, budget *eval.Budget) int {
	p := probe.New(f, budget)
	p.Run()
	first := math.MaxInt
	for _, failure := range p.Eval.Failures {
		first = min(first, failure.Place())
	}
	return first
}
