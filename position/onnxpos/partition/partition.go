// Package partition finds the attentions of an ONNX graph between the places of windows that a picture is cut into
// (window_partition of Liu et al. 2021, "Swin Transformer", §3.2), and makes the masks of shifted windows.
package partition

import (
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
)

// Partition is an attention between the places of the windows that a picture is cut into (Liu et al.
// 2021, §3.2): a Reshape and a Transpose cut it, another pair puts it together again.
type Partition struct {
	Split, Swap   *onnx.Node   // the picture cut into windows; the windows side by side
	Place, Unswap *onnx.Node   // windows by rows and columns; the picture again; nil where it stays cut
	Rows          int          // the axis of Split's output that counts windows by rows; window rows, columns of windows, window columns follow
	Placed        int          // the axis of Place's output that counts windows by rows; columns of windows and the window follow
	Grid          [2]int       // the picture that is cut, in places
	Side          [2]int       // of a window, in places
	Shift         [2]int       // how far the picture is rolled before it is cut
	Pad           *onnx.Node   // fills the picture up to whole windows; nil where none does
	PadLast       bool         // it does so behind the roll
	Merge         *onnx.Node   // a Reshape that joins rows and columns of windows to those of the picture; nil where none does
	RollBack      *onnx.Node   // the last Concat that rolls it back; nil where none does
	Cut           *onnx.Node   // the last Slice that cuts off what was filled up; nil where none does
	Softmax       *onnx.Node   // of the scores; nil where none was found
	Added         []Added      // known numbers that are added to the scores and differ between windows
	Rolls         []*onnx.Node // the Concats that roll it there and back
	Known         bool         // numbers of the graph's own are cut, for the mask of shifted windows
	Tied          bool         // numbers stand in the file for windows of this side
	Stays         string       // why it cannot have another side; "": nothing that was found
	Now           [2]int       // the side that windows are to have
	Single        bool         // several that are shifted become a single one, which is not
}

// Added is an input of a node that differs between windows along an axis.
type Added struct {
	Node  *onnx.Node
	Input int
	Axis  int
	To    *onnx.Node // what adds it to the scores
}

// Count is how many windows a picture is cut into, by rows and columns.
func (w *Partition) Count(grid [2]int) [2]int {
	return [2]int{grid[0] / w.Side[0], grid[1] / w.Side[1]}
}

// Counted is how many windows the new picture is cut into.
func (w *Partition) Counted(grid [2]int) [2]int {
	return [2]int{grid[0] / w.Now[0], grid[1] / w.Now[1]}
}

// Tie notes whether numbers stand in the file for the windows' side: biases or masks between their places, a roll or a filling;
// sides are those of sites. asked is the side that windows are to have, zeros where that was not said.
func (w *Partition) Tie(s *eval.Scope, sides map[int]bool, asked [2]int) {
	w.Now = w.Side
	w.Tied = w.Known || w.Shift != [2]int{} || w.Pad != nil || len(w.Added) > 0 || sides[w.Side[0]]
	if w.Softmax != nil {
		for _, n := range s.Graph.Nodes {
			if n.Index() > w.Swap.Index() && n.Index() < w.Softmax.Index() && eval.Is(n, eval.Product) && slices.ContainsFunc(n.Inputs, func(in string) bool {
				v := s.Value(in)
				return len(v.Shape) == 3 && v.Shape[0] == v.Shape[1] && slices.Contains(w.Side[:], v.Shape[0]) && v.Known()
			}) {
				w.Tied, w.Stays = true, n.Title()+" takes vectors by distance along their sides"
			}
		}
		eachAdded(s, w.Softmax, func(_ *onnx.Node, _ int, v *eval.Value) {
			k := len(v.Shape)
			w.Tied = w.Tied || k > 1 && v.Shape[k-1] == w.Places()
		})
	}
	for axis, by := range w.Shift {
		if by != w.Side[axis]/2 && w.Shift != [2]int{} {
			w.Stays = fmt.Sprintf("they are shifted by %d of %d places: how far those of another side are to be is not in the file", by, w.Side[axis])
		}
	}
	if w.Shift != [2]int{} && len(w.Rolls) != 4 {
		w.Stays = "they are shifted, and what shifts them back is not found"
	}
	if asked != [2]int{} && w.Stays == "" && (w.Shift != [2]int{} || w.Pad != nil) { // which are met before the picture is cut
		w.Now = asked
	}
}

// ShiftNow is how far the picture is to be rolled before it is cut: by half a window (Liu et al. 2021, §3.2) of another side than before.
func (w *Partition) ShiftNow() [2]int {
	switch {
	case w.Single:
		return [2]int{}
	case w.Now == w.Side || w.Shift == [2]int{}:
		return w.Shift
	}
	return [2]int{w.Now[0] / 2, w.Now[1] / 2}
}

// Places is the number of places of one window.
func (w *Partition) Places() int { return w.Side[0] * w.Side[1] }

// Find finds the attentions within windows of the main graph, in file order.
func Find(s *eval.Scope) []*Partition {
	var out []*Partition
	var open *Partition
	for _, n := range s.Graph.Nodes {
		switch n.Op {
		case "Softmax":
			if open == nil || open.Softmax != nil {
				continue
			}
			if shape := s.Input(n, 0).Shape; len(shape) > 2 && slices.Equal(shape[len(shape)-2:], []int{open.Places(), open.Places()}) {
				open.Softmax = n
				open.Added = addedByWindow(s, n, open)
			}
		case "Transpose":
			shape, axis := s.Input(n, 0).Shape, middleSwapped(n)
			if axis < 1 || axis+4 > len(shape) { // behind a batch: heads are swapped with positions in the same way
				continue
			}
			made, at := s.Find(n.Input(0))
			if made == nil || at != s || made.Op != "Reshape" {
				continue
			}
			d := [4]int(shape[axis : axis+4])
			if open != nil && open.Count(open.Grid) == [2]int{d[0], d[1]} && open.Side == [2]int{d[2], d[3]} {
				open.Place, open.Unswap, open.Placed = made, n, axis
				open.merged(s)
				open.Cut = open.cutOff(s, n.Output(0))
				open = nil
				continue
			}
			w := &Partition{Split: made, Swap: n, Rows: axis, Grid: [2]int{d[0] * d[1], d[2] * d[3]}, Side: [2]int{d[1], d[3]}}
			picture := s.Input(made, 0)
			from := picture.Shape
			if w.Side[0] < 2 || w.Side[1] < 2 || !(len(from) > axis+1 && from[axis] == w.Grid[0] && from[axis+1] == w.Grid[1] || len(from) > axis && from[axis] == w.Grid[0]*w.Grid[1]) {
				continue
			}
			if w.Known = picture.Known(); w.Known {
				out = append(out, w)
				continue
			}
			w.rolled(s)
			open, out = w, append(out, w)
		}
	}
	return out
}

// middleSwapped is the first of four axes of which a Transpose swaps the middle two and moves nothing
// else, −1 for others.
func middleSwapped(n *onnx.Node) int {
	perm := n.Ints("perm")
	first := -1
	for i := 0; i < len(perm); i++ {
		switch {
		case perm[i] == int64(i):
		case first < 0 && i > 0 && i+2 < len(perm) && perm[i] == int64(i+1) && perm[i+1] == int64(i):
			first = i - 1
			i++
		default:
			return -1
		}
	}
	return first
}

// maxRolls bounds the nodes between a picture and where it is cut.
const maxRolls = 6

// rolled finds how far rows and columns are rolled before the picture is cut, the last part of each axis after the
// first joined before it, and where it is filled up.
func (w *Partition) rolled(s *eval.Scope) {
	at := 1 // columns are rolled last
	name := w.Split.Input(0)
	for range maxRolls {
		n, scope := s.Find(name)
		switch {
		case n == nil || scope != s:
			return
		case n.Op == "Concat" && len(n.Inputs) == 2 && at >= 0:
			start, from := trace.RollStart(s, n)
			if shape := s.Value(from).Shape; start == 0 || at+w.Rows >= len(shape) || 2*start > shape[at+w.Rows] {
				return
			}
			w.Shift[at], name, w.Rolls = start, from, append(w.Rolls, n)
			at--
		case n.Op == "Pad":
			if w.Pad != nil {
				return
			}
			w.Pad, w.PadLast, name = n, at == 1, n.Input(0)
		case n.Op == "Identity", n.Op == "Slice":
			name = n.Input(0)
		default:
			return
		}
	}
}

// cutOff is the last Slice behind a value that ends rows or columns where they end, or where what was filled up begins.
func (w *Partition) cutOff(s *eval.Scope, name string) (last *onnx.Node) {
	whole := w.Grid
	if w.Pad != nil {
		if from := s.Input(w.Pad, 0).Shape; len(from) > w.Rows+1 {
			whole = [2]int(from[w.Rows:])
		}
	}
	ends := func(n *onnx.Node) bool {
		starts, ends, axes, shape := trace.ListOf(s, n, "starts", 1), trace.ListOf(s, n, "ends", 2), trace.ListOf(s, n, "axes", 3), s.Input(n, 0).Shape
		if len(starts) != 1 || len(ends) != 1 || len(axes) != 1 || starts[0] != 0 || axes[0] < 0 || int(axes[0]) >= len(shape) {
			return false
		}
		if reader := trace.Only(s, n.Output(0)); reader != nil && reader.Op == "Concat" {
			if start, _ := trace.RollStart(s, reader); start > 0 {
				return false
			}
		}
		size := shape[axes[0]]
		return slices.Contains(w.Grid[:], size) && (ends[0] == int64(size) || size == w.Grid[0] && ends[0] == int64(whole[0]) || size == w.Grid[1] && ends[0] == int64(whole[1]))
	}
	queue := []string{name}
	for i := 0; i < len(queue) && i < maxRolls; i++ {
		for _, n := range s.Consumers(queue[i]) {
			switch {
			case n.Op == "Slice":
				if ends(n) {
					last = n
				}
				queue = append(queue, n.Output(0))
			case last == nil && eval.Is(n, eval.Layout|eval.Joining):
				queue = append(queue, n.Output(0))
			}
		}
	}
	return last
}

// merged finds where the picture is put together and rolled back.
func (w *Partition) merged(s *eval.Scope) {
	merge := trace.Only(s, w.Unswap.Output(0))
	if merge == nil || merge.Op != "Reshape" {
		return
	}
	w.Merge = merge
	name := merge.Output(0)
	for range maxRolls { // what was filled up is cut off, or nothing is
		cut := trace.Only(s, name)
		if cut == nil || cut.Op != "Slice" && cut.Op != "Identity" {
			break
		}
		name = cut.Output(0)
	}
	for range 2 { // rows and columns
		parts := trace.Readers(s, name)
		if len(parts) != 2 && !(len(parts) == 1 && parts[0].Op == "Split") {
			return
		}
		joined := trace.Only(s, parts[0].Output(0))
		if joined == nil || joined.Op != "Concat" {
			return
		}
		if start, from := trace.RollStart(s, joined); start == 0 || from != name {
			return
		}
		name, w.RollBack, w.Rolls = joined.Output(0), joined, append(w.Rolls, joined)
	}
}

// maxAdded is how many numbers are added to scores one after another.
const maxAdded = 6

// addedByWindow are the known numbers added to scores that differ from window to window: the masks of
// shifted windows, alone or with biases.
func addedByWindow(s *eval.Scope, softmax *onnx.Node, w *Partition) (out []Added) {
	count, scores := w.Count(w.Grid), s.Input(softmax, 0).Shape
	apart := len(scores) > 3 && onnx.Size(scores[:len(scores)-3])%(count[0]*count[1]) == 0 // windows stand ahead of the heads, which may be as many
	byWindow := func(v *eval.Value) int {
		for axis := range max(len(v.Shape)-2, 0) {
			if k := len(v.Shape); v.Shape[axis] == count[0]*count[1] && v.Shape[axis] > 1 && v.Shape[k-1] == w.Places() && v.Shape[k-2] == w.Places() && v.Varies(axis) {
				return axis
			}
		}
		return -1
	}
	eachAdded(s, softmax, func(to *onnx.Node, input int, v *eval.Value) {
		axis := byWindow(v)
		if axis < 0 || axis == len(v.Shape)-3 && apart {
			return
		}
		at := Added{to, input, axis, to}
		for range maxAdded { // to the mask alone, of one picture
			n, in := s.Find(at.Node.Input(at.Input))
			if n == nil || in != s || n.Index() < w.Split.Index() || !eval.Is(n, eval.Addition|eval.Layout|eval.Repetition) {
				break
			}
			next, part := 0, byWindow(s.Enlarge(n.Input(0)))
			if eval.Is(n, eval.Addition) {
				if part < 0 {
					next, part = 1, byWindow(s.Enlarge(n.Input(1)))
				}
				if other := s.Enlarge(n.Input(1 - next)); !other.Known() || byWindow(other) >= 0 {
					break
				}
			}
			if part < 0 {
				break
			}
			at.Node, at.Input, at.Axis = n, next, part
		}
		out = append(out, at)
	})
	return out
}

// eachAdded visits the known numbers that are added to scores before a Softmax.
func eachAdded(s *eval.Scope, softmax *onnx.Node, visit func(n *onnx.Node, input int, v *eval.Value)) {
	name := softmax.Input(0)
	for range maxAdded {
		n, at := s.Find(name)
		if n == nil || at != s || !eval.Is(n, eval.Addition|eval.Layout) {
			return
		}
		name = n.Input(0)
		if !eval.Is(n, eval.Addition) {
			continue
		}
		for i, in := range n.Inputs {
			if v := s.Enlarge(in); v.Known() {
				visit(n, i, v)
			} else {
				name = in
			}
		}
	}
}
