package probe

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
)

// placesBesideContent are the places that columns of an input of numbers hold, beside the content of each element (row and column of a
// patch ahead of its pixels: Pix2Struct, arXiv:2210.03347 §2.2), as inputs of their own: two columns or more are made whole numbers and
// take rows of tables of as many rows. Categories have tables of different sizes.
func placesBesideContent(f *onnx.File, in *onnx.ValueInfo) (out []*onnx.ValueInfo) {
	k := len(in.Dims)
	if !in.Type.IsFloat() || k < 2 || in.Dims[k-1].Value <= maxCoordinates {
		return nil
	}
	w := f.Graph.Wiring()
	column, whole := map[int]bool{}, map[int]*onnx.ValueInfo{} // values of one column, and those that are whole numbers
	rows, alike := int64(0), true
	read(f, in, func(n *onnx.Node, of int, _ bool) (on, turns bool) {
		made, ok := w.Output(n, 0)
		switch {
		case !ok:
			return false, false
		case !column[of] && whole[of] == nil:
			column[made] = picksColumn(w, n, of, k-1)
			return column[made], false
		case column[of] && n.Op == "Cast" && onnx.DataType(n.Int("to", 0)).IsInteger():
			whole[made] = &onnx.ValueInfo{Name: w.Name(made), Type: onnx.DataType(n.Int("to", 0)), Ranked: true, Dims: in.Dims[:k-1]}
			return true, false
		case column[of] && eval.Is(n, eval.Elements):
			column[made] = true
			return true, false
		}
		if kinds := kindsTaken(w, n, of); kinds > fewKinds && whole[of] != nil {
			alike = alike && (rows == 0 || rows == kinds)
			rows = kinds
			if !slices.Contains(out, whole[of]) {
				out = append(out, whole[of])
			}
		} else if whole[of] != nil && eval.Is(n, eval.Layout) {
			whole[made] = whole[of]
			return true, false
		}
		return false, false
	})
	if len(out) < 2 || !alike {
		return nil
	}
	return out
}

// picksColumn reports whether a node takes one place of an axis, which goes.
func picksColumn(w *onnx.Wiring, n *onnx.Node, of, axis int) bool {
	data, _ := w.Input(n, 0)
	index, ok := w.Input(n, 1)
	if n.Op != "Gather" || data != of || !ok {
		return false
	}
	t, at := constantOf(w, index), int(n.Int("axis", 0))
	return t != nil && len(t.Dims) == 0 && (at == axis || at == -1)
}

// kindsTaken is of how many rows a node takes some by an index, or how many numbers it tells apart; 0 where it does neither.
func kindsTaken(w *onnx.Wiring, n *onnx.Node, index int) int64 {
	if first, _ := w.Input(n, 0); n.Op == "OneHot" && first == index {
		if depth, ok := w.Input(n, 1); ok && constantOf(w, depth) != nil {
			if x, err := constantOf(w, depth).Ints(0, 1); err == nil {
				return x[0]
			}
		}
		return 0
	}
	table, at, ok := picksRows(w, n)
	if t := w.Constant(table); ok && at == index && t != nil && t.Type.IsFloat() && len(t.Dims) == 2 {
		return t.Dims[0]
	}
	return 0
}

// isPlaceBesideContent reports whether an input is a column of another one.
func isPlaceBesideContent(f *onnx.File, in *onnx.ValueInfo) bool {
	return !slices.Contains(f.Graph.Inputs, in) && slices.ContainsFunc(f.Graph.Inputs, func(of *onnx.ValueInfo) bool {
		return slices.ContainsFunc(placesBesideContent(f, of), func(other *onnx.ValueInfo) bool { return other.Name == in.Name })
	})
}
