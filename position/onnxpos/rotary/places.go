package rotary

import (
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/schemes/fit"
)

// Override tells an evaluator of the main graph's cosines and sines that were resized: their new shapes.
func (r *Site) Override(into map[string]*eval.Value) {
	for name, v := range r.given {
		into[name] = v
	}
}

// ResizePlaces puts the cosines and sines of the places of another grid where the graph turns queries and keys, in
// constants: whatever gave those of the old one, folded tables, slices of tables of each axis or nodes that compute them, goes.
func (r *Site) ResizePlaces(to []int, squeezed bool) (says string, err error) {
	if r.turning {
		return "", refusePlaces("rows before the grid turn by angles of their own")
	}
	r.given = map[string]*eval.Value{}
	for _, u := range r.uses {
		if says, err = r.resizeUse(u, to, squeezed); err != nil {
			return "", err
		}
	}
	r.m.RemoveUnread(placesWhy)
	return says, nil
}

const placesWhy = "cosines and sines of another grid"

func refusePlaces(why string) error {
	return &position.Refusal{Why: why, Instead: "export the model for the wanted picture"}
}

// resizeUse is ResizePlaces for one place where the graph turns.
func (r *Site) resizeUse(u *rotation, to []int, squeezed bool) (says string, err error) {
	axis := trace.PositionAxis(u.cosValue)
	if u.scope != r.m.Eval.Main || axis < 0 || trace.PositionAxis(u.sinValue) != axis {
		return "", refusePlaces("its cosines and sines are not known for each place")
	}
	cos, sin := rows.Matrix(trace.RowsOf(u.cosValue, axis)), rows.Matrix(trace.RowsOf(u.sinValue, axis))
	if n := cos.Rows() * cos.Cols(); n != u.cosValue.Len() || n != u.sinValue.Len() || n == 0 {
		return "", refusePlaces("heads or pictures turn by angles of their own")
	}
	was, ok := fit.PlacesOf(cos, sin, rows.Precision(u.cosValue.Type), r.scheme.Grid)
	if !ok {
		return "", refusePlaces("its columns do not turn each along one axis of the grid, by one angle from place to place")
	}
	is, says, err := was.Resize(to, r.scheme.Base, squeezed)
	if err != nil {
		return "", refusePlaces(err.Error())
	}
	for i, of := range []struct {
		name string
		old  *eval.Value
		m    rows.Matrix
	}{{u.cos, u.cosValue, cos}, {u.sin, u.sinValue, sin}} {
		if r.given[of.name] != nil {
			continue
		}
		values := make([]float64, 0, (is.Prefix+is.Len())*cos.Cols())
		for _, row := range of.m[:is.Prefix] {
			values = append(values, row...)
		}
		for place := range is.Len() {
			for k := range cos.Cols() {
				c, s := is.At(place, k)
				values = append(values, []float64{c, s}[i])
			}
		}
		data, err := onnx.EncodeFloats(of.old.Type, values, nil)
		if err != nil {
			return "", refusePlaces(err.Error())
		}
		shape := slices.Clone(of.old.Shape)
		shape[axis] = is.Prefix + is.Len()
		made := eval.Shaped(of.old.Type, shape...)
		r.given[of.name] = made
		if err := r.m.Substitute(u.scope, of.name, made, patch.Bytes(data), "modelpatch/"+[]string{"cos", "sin"}[i], placesWhy); err != nil {
			return "", err
		}
	}
	return says, nil
}
