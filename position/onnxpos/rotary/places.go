package rotary

import (
	"errors"
	"fmt"
	"slices"

	"github.com/modelpatch/modelpatch/onnx"
	"github.com/modelpatch/modelpatch/onnx/eval"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/onnxpos/rows"
	"github.com/modelpatch/modelpatch/position/onnxpos/trace"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
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

// alongOneAxis reads cosines and sines that turn places of a grid by one of their coordinates alone, as those do that are
// for a part of each head (V-JEPA 2).
func (r *Site) alongOneAxis(e *position.Encoding) {
	u, grid := r.uses[0], r.grid()
	axis := trace.PositionAxis(u.cosValue)
	if r.m.ImageInput() == nil || grid == nil || axis < 0 || trace.PositionAxis(u.sinValue) != axis {
		return
	}
	if along, _ := r.m.FrameGrid(); along > 1 && len(grid) == 2 {
		grid = append([]int{along}, grid...)
	}
	cos, sin := rows.Matrix(trace.RowsOf(u.cosValue, axis)), rows.Matrix(trace.RowsOf(u.sinValue, axis))
	places, ok := fit.PlacesOf(cos, sin, rows.Precision(u.cosValue.Type), grid)
	if !ok || !places.Turn() {
		return
	}
	r.scheme.Grid, r.places, r.amplitude = grid, [2]fit.Matrix{cos, sin}, places.Amplitude
	e.Evidence = append(e.Evidence, report.Evidence{Kind: "fit", Says: fmt.Sprintf("each column turns along one axis of %s places, by one angle from place to place", schemes.Sizes(grid))})
}

// PlacesFollow reports whether the graph, as it is, turns the places of another grid as they go on or are squeezed: it may
// count them by numbers that stand for the old one. True where it turns no places of a grid.
func (r *Site) PlacesFollow(to schemes.Grid) bool {
	if r.scheme.Grid == nil || len(r.caches) > 0 {
		return true
	}
	e := r.m.WithPatches(to)
	if e == nil {
		return false
	}
	for _, u := range r.uses {
		was, ok := r.placesOf(u.scope, u)
		is, followed := r.placesIn(e.Main, u, to.Axes(len(r.scheme.Grid)))
		if !ok || !followed || u.scope != r.m.Eval.Main {
			return false
		}
		on, _, err := was.Resize(is.Grid, r.scheme.Base, false)
		squeezed, _, other := was.Resize(is.Grid, r.scheme.Base, true)
		if (err != nil || !on.Same(is)) && (other != nil || !squeezed.Same(is)) {
			return false
		}
	}
	return true
}

// placesOf reads the cosines and sines of the places of the grid, where the graph turns.
func (r *Site) placesOf(s *eval.Scope, u *rotation) (fit.Places, bool) {
	return r.placesIn(s, u, r.scheme.Grid)
}

// placesIn is placesOf in another evaluation, of another grid.
func (r *Site) placesIn(s *eval.Scope, u *rotation, grid []int) (fit.Places, bool) {
	cos, sin := s.Value(u.cos), s.Value(u.sin)
	axis := trace.PositionAxis(cos)
	if axis < 0 || trace.PositionAxis(sin) != axis {
		return fit.Places{}, false
	}
	return fit.PlacesOf(rows.Matrix(trace.RowsOf(cos, axis)), rows.Matrix(trace.RowsOf(sin, axis)), rows.Precision(cos.Type), grid)
}

const placesWhy = "cosines and sines of another grid"

func refusePlaces(why string) *position.Refusal {
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
		refusal := refusePlaces(err.Error())
		if errors.Is(err, schemes.ErrStep) {
			refusal.Remedies = []report.Remedy{report.Do("extend", "squeezes them into the span that they had", "method", schemes.PlacesSqueezed)}
		}
		return "", refusal
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
